"""Makes the bill of materials from what cargo resolves for this machine, and validates it before it is written."""

import hashlib
import json
import re
import subprocess
import sys
import uuid
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

PROGRAM = "server"


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], check=True, capture_output=True, text=True).stdout


def linked(nodes, root):
    """The ids of all packages that end up in the program: normal dependencies, and those of these."""
    found, left = set(), [root]
    while left:
        current = left.pop()
        if current in found:
            continue
        found.add(current)
        for dependency in nodes[current]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                left.append(dependency["pkg"])
    return found


def checksums():
    """The SHA-256 of each archive, by name and version, from the lock file."""
    text = Path("Cargo.lock").read_text()
    pattern = r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"'
    return {(name, version): checksum for name, version, checksum in re.findall(pattern, text)}


def main():
    host = re.search(r"^host: (.+)$", subprocess.check_output(["rustc", "-vV"], text=True), re.MULTILINE)[1]
    metadata = json.loads(cargo("metadata", "--locked", "--format-version=1", f"--filter-platform={host}"))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    [root] = [package["id"] for package in packages.values() if package["name"] == PROGRAM and not package["source"]]
    parts, sums, licenses = linked(nodes, root), checksums(), LicenseFactory()

    def component(package, kind):
        name, version, text = package["name"], package["version"], package["license"]
        checksum = sums.get((name, version))
        return Component(
            name=name,
            version=version,
            type=kind,
            bom_ref=f"{name}@{version}",
            purl=PackageURL("cargo", name=name, version=version),
            licenses=[licenses.make_from_string(text.replace("/", " OR "))] if text else [],
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else [],
        )

    components = {
        part: component(packages[part], ComponentType.APPLICATION if part == root else ComponentType.LIBRARY)
        for part in sorted(parts)
    }
    # The same contents have the same serial number and no time, so that two runs can be compared.
    digest = hashlib.sha256("".join(sorted(parts)).encode()).digest()
    bom = Bom(serial_number=uuid.UUID(bytes=digest[:16], version=4))
    bom.metadata.timestamp = None
    bom.metadata.component = components.pop(root)
    bom.components.update(components.values())
    everything = components | {root: bom.metadata.component}
    for part in parts:
        needed = [everything[other["pkg"]] for other in nodes[part]["deps"] if other["pkg"] in parts]
        bom.register_dependency(everything[part], needed)

    text = JsonV1Dot6(bom).output_as_string(indent=2)
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if fault is not None:
        sys.exit(f"The bill of materials does not conform to its schema: {fault}")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text + "\n")
        print(f"{sys.argv[1]}: {len(parts)} components")
    else:
        print(text)


if __name__ == "__main__":
    main()
