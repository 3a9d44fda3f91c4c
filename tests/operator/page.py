"""Turns pages into one script for bash, which does what a reader does who follows them word for word.

    page.py script COMMAND PAGE[#SECTION]…   prints the script; COMMAND starts the server, and is the first one
    page.py compare EXPECTED < OUTPUT        fails unless the output is as a page shows it

Blocks in `sh` are commands, and a block without a language behind one is what it prints. A text that ends with "Save this
as `NAME`:" introduces a file, of less than 40 lines. Nothing else is allowed, so that no block goes untested.
"""

import re
import shlex
import sys
from pathlib import Path

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
BLOCK = re.compile(r"(?P<before>.*?)^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
SAVE = re.compile(r"Save this(?: program| script)? as `([\w.-]+)`[^`]*:\s*\Z")


def blocks(page):
    """The blocks of a page or of one of its sections: file to save or None, language, and text."""
    path, _, section = page.partition("#")
    text = Path(path).read_text()
    if section:
        text = re.search(rf"^## {re.escape(section)}$(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)[1]
    for block in BLOCK.finditer(text):
        saved = SAVE.search(block["before"])
        yield saved and saved[1], block["language"], block["text"]


def script(start, pages):
    first, *rest = [block for page in pages for block in blocks(page)]
    assert first == (None, "sh", f"{start}\n"), f"the first block is not '{start}': {first}"
    lines, commands = ["set -euo pipefail"], None
    for name, language, text in rest:
        if commands is not None and (name, language) == (None, ""):
            lines.append(f"{{\n{commands}}} > .printed\ncat .printed")
            lines.append(f"{shlex.join([sys.executable, str(Path(__file__).resolve()), 'compare', text])} < .printed")
            commands = None
            continue
        if commands is not None:
            lines.append(commands)
            commands = None
        if name:
            assert text.count("\n") < 40, f"{name} is too long to copy"
            lines.append(f"cat > {name} << 'END OF {name}'\n{text}END OF {name}")
        else:
            assert language == "sh", f"not a command, its output, or a file to save:\n{text}"
            commands = text
    if commands is not None:
        lines.append(commands)
    return "\n".join(lines)


def is_as_shown(expected, output):
    """Ids differ with each run, and … stands for anything on a line."""
    pattern = re.escape(re.sub(UUID, "…", expected)).replace("…", ".+")
    return re.fullmatch(pattern, output) is not None


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what == "script":
        print(script(arguments[0], arguments[1:]))
    elif not is_as_shown(arguments[0], output := sys.stdin.read()):
        sys.exit(f"the page shows:\n{arguments[0]}but this was printed:\n{output}")
