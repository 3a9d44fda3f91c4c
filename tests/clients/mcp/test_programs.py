"""The MCP server of Parlance, checked by the conformance suite of the protocol, and used with its inspector."""

import http.client
import json
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
TIME_LIMIT = 60

# What the suite can check without tools of its own. It has no scenarios for the revision 2026-07-28.
CHECKED = ["server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"]

# The others expect a server with the tools, resources, and prompts of the suite, or parts of the protocol that are optional.
TEST_TOOLS = "calls a tool that only the example server of the suite has"
TEST_RESOURCES = "reads a resource that only the example server of the suite has"
NO_PROMPTS = "needs prompts, which are optional: Parlance has none"
NO_STREAMS = "needs streams that can be resumed: Parlance answers every request with JSON"
NOT_APPLICABLE = {
    "logging-set-level": "needs log messages to clients, which are optional: Parlance sends none",
    "completion-complete": "needs completion of arguments, which is optional",
    "tools-call-simple-text": TEST_TOOLS,
    "tools-call-image": TEST_TOOLS,
    "tools-call-audio": TEST_TOOLS,
    "tools-call-embedded-resource": TEST_TOOLS,
    "tools-call-mixed-content": TEST_TOOLS,
    "tools-call-with-logging": TEST_TOOLS,
    "tools-call-error": TEST_TOOLS,
    "tools-call-with-progress": TEST_TOOLS,
    "tools-call-sampling": TEST_TOOLS,
    "tools-call-elicitation": TEST_TOOLS,
    "json-schema-2020-12": TEST_TOOLS,
    "elicitation-sep1034-defaults": TEST_TOOLS,
    "elicitation-sep1330-enums": TEST_TOOLS,
    "server-sse-polling": NO_STREAMS,
    "server-sse-multiple-streams": NO_STREAMS,
    "resources-read-text": TEST_RESOURCES,
    "resources-read-binary": TEST_RESOURCES,
    "resources-templates-read": TEST_RESOURCES,
    "resources-subscribe": "needs subscriptions to resources, which are optional",
    "resources-unsubscribe": "needs subscriptions to resources, which are optional",
    "prompts-list": NO_PROMPTS,
    "prompts-get-simple": NO_PROMPTS,
    "prompts-get-with-args": NO_PROMPTS,
    "prompts-get-embedded-resource": NO_PROMPTS,
    "prompts-get-with-image": NO_PROMPTS,
}


def node(*arguments, **options):
    command = ["node", *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, cwd=HERE, **options)


def suite(*arguments):
    program = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
    return node("--import", "./node20.mjs", program, *arguments)


@contextmanager
def with_key(address, key):
    """A proxy that adds the key, since the suite sends no credential; its address."""

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            onward = http.client.HTTPConnection(address, timeout=TIME_LIMIT)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            onward.request(self.command, self.path, body, headers | {"X-API-Key": key})
            answer = onward.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "content-length", "date"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            onward.close()

        do_GET = do_POST = do_DELETE = forward

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"localhost:{server.server_port}"
        finally:
            server.shutdown()


def test_every_scenario_is_checked_or_does_not_apply():
    listed = suite("list", "--server").stdout
    known = [line.split()[1] for line in listed.splitlines() if line.startswith("  - ")]
    assert sorted(known) == sorted([*CHECKED, *NOT_APPLICABLE])


@pytest.mark.parametrize("scenario", CHECKED)
def test_the_server_conforms(world, tmp_path, scenario):
    key = world.human.http.headers["X-API-Key"]
    address = world.server.url.removeprefix("http://")
    with with_key(address, key) as proxy:
        run = suite("server", "--url", f"http://{proxy}/mcp", "--scenario", scenario, "-o", tmp_path / "results")
    results = [json.loads(file.read_text()) for file in (tmp_path / "results").glob("*/checks.json")]
    checks = [check for result in results for check in result]
    passed = [check for check in checks if check["status"] == "SUCCESS"]
    failed = [check for check in checks if check["status"] not in ("SUCCESS", "INFO")]
    assert passed and not failed, (failed, run.stdout, run.stderr)


def test_the_inspector_lists_and_calls_tools(world):
    agent = world.human.register_agent("Scribe")
    room = world.human.open_room(agent.agent_id).id
    program = MODULES / ".bin/mcp-inspector"
    target = ["--cli", world.server.url + "/mcp", "--transport", "http", "--header", f"X-API-Key: {agent.api_key}"]

    def inspect(*arguments):
        run = node(program, *target, *arguments)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    tools = inspect("--method", "tools/list")["tools"]
    assert [tool["name"] for tool in tools][:2] == ["inbox_next", "reply"]
    called = inspect("--method", "tools/call", "--tool-name", "read_room", "--tool-arg", f"room={room}")
    assert json.loads(called["content"][0]["text"])["room"] == room
    resource = inspect("--method", "resources/read", "--uri", f"parlance://room/{room}")
    assert json.loads(resource["contents"][0]["text"])["room"] == room
