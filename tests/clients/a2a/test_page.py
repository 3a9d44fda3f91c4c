"""The page docs/a2a.md, followed word for word: its commands in order, in one shell."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from harness import Credentials, free_port, wait_for
from scene import Agent

ROOT = Path(__file__).parents[3]


def json_in(path):
    """What is in a file, if it is written."""
    text = path.read_text() if path.exists() else ""
    return json.loads(text) if text.endswith("}\n") else None


def test_the_page_can_be_followed(scene, tmp_path):
    """Every command of the page succeeds, and shows what the page says."""
    page = (ROOT / "docs/a2a.md").read_text().replace("127.0.0.1:4000", scene.world.server.address)
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    port = str(free_port())
    page = page.replace("8090", port)
    blocks = [block.replace("8090", port) for block in blocks]
    for name, program in zip(["ask.py", "receiver.py"], re.findall(r"```python\n(.*?)```", page, re.DOTALL), strict=True):
        (tmp_path / name).write_text(program)
    # The test plays the agent, and this environment has the client.
    started = "agent-env/bin/python examples/agent.py > agent.log 2>&1 &\n"
    created, *calls, asked, served, received, configured = blocks
    # The server of the test has this setting, and the test reads what the receiver has written.
    assert served == "parlance serve --webhooks-allow-private 127.0.0.1\n"
    told = "until [ $(grep -c COMPLETED receiver.log) = 2 ]; do sleep 0.1; done; kill $receiver"
    received = received.replace("receiver.log &\n", "receiver.log & receiver=$!\n")
    assert created.count(started) == 1 and created.count("agent-env/bin/pip") == 1 and asked.count("a2a-env/bin/pip") == 1
    created = "\n".join(line for line in created.replace(started, "").splitlines() if "agent-env" not in line)
    asked = "\n".join(line for line in asked.splitlines() if "pip install" not in line)
    asked = asked.replace("a2a-env/bin/python", sys.executable)
    server = scene.world.server
    (tmp_path / "parlance").symlink_to(server.binary)
    environment = server.environment | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "NO_PROXY": "127.0.0.1"}
    script = "\n".join(["set -euo pipefail", created, "read", *(f"echo ==\n{call}" for call in [*calls, asked, received, configured, told])])
    run = ["bash", "-c", script]
    child = subprocess.Popen(
        run, cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    made = wait_for("the agent is created", lambda: json_in(tmp_path / "helper.json"))
    # The agent of the page reads, and repeats, to whom a message is addressed.
    with Agent(server.url, Credentials(made["agent"]["id"], made["api_key"])).working("@admin/helper "):
        out, _ = child.communicate("\n", timeout=120)
    assert child.returncode == 0, out
    _, card, _, rest, rpc, stream, task, canceled, told, _, config, _ = out.split("==\n")
    assert json.loads(card)["name"] == "Helper"
    sent = json.loads(rest)["task"]
    assert sent["artifacts"][0]["parts"] == [{"text": "You said: @admin/helper Hello"}]
    assert '"parts": [{"text": "You said: @admin/helper Hello"}]' in page
    assert sent["status"]["state"] == "TASK_STATE_COMPLETED" and sent["metadata"]["sequence"] == 2
    assert json.loads(rpc)["result"]["task"]["artifacts"][0]["parts"] == [{"text": "You said: @admin/helper Hello again"}]
    assert "You said: @admin/helper Hello once more" in stream and stream.startswith("id: ")
    assert json.loads(task)["history"][0]["parts"] == [{"text": "Hello once more"}]
    assert canceled.count("TASK_STATE_CANCELED") == 2, canceled
    expected = re.search(r"```\n(TASK_STATE.*?)```", page, re.DOTALL).group(1).splitlines()
    # An agent this fast may have answered before the stream looks, or before it has told that the agent works.
    shown = told.splitlines()
    assert shown[-1] == expected[-1] and sorted(shown) in (sorted(expected), sorted(expected[1:]))
    assert json.loads(config)["id"] == "mine"
    (lines,) = re.findall(r"```\n(task TASK_STATE.*?)```", page, re.DOTALL)
    expected = {line.strip() for line in lines.splitlines()} | {"task TASK_STATE_WORKING", "task TASK_STATE_COMPLETED"}
    log = [line.strip() for line in (tmp_path / "receiver.log").read_text().splitlines()]
    assert set(log) <= expected and log[0].startswith("task ") and "task TASK_STATE_COMPLETED" in log, log
