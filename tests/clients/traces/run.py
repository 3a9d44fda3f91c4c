"""Shows that Arize Phoenix, as it is published, receives the spans of conversations and groups them by session.

Two rooms with the same agents, in which a human asks the first agent, which asks the second. Phoenix is asked for its
sessions over its own interfaces. It needs no account, and reaches no other machine.
"""

import os
import sys
import tempfile
from pathlib import Path

import httpx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from harness import Process, World, free_port, wait_for  # noqa: E402

SPANS = ["accept", "accept", "attempt", "attempt", "deliver", "deliver"]
SESSIONS = """{ projects { edges { node { name sessions(first: 100) { edges { node {
    sessionId numTraces
    traces(first: 100) { edges { node { traceId rootSpan { name statusCode } spans(first: 100) { edges { node {
        name spanId parentId spanKind statusCode attributes
    } } } } } }
} } } } } } }"""


class Phoenix(Process):
    def __init__(self, directory):
        self.url = f"http://127.0.0.1:{free_port()}"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "PHOENIX_WORKING_DIR": str(directory / "phoenix"),
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": self.url.rpartition(":")[2],
            "PHOENIX_GRPC_PORT": str(free_port()),
            "PHOENIX_TELEMETRY_ENABLED": "false",
        }
        program = str(Path(sys.executable).parent / "phoenix")
        super().__init__("phoenix", [program, "serve"], environment, directory / "phoenix.log")
        self.http = httpx.Client(base_url=self.url, timeout=10, trust_env=False)

    def start(self):
        self.spawn()

        def healthy():
            self.assert_running()
            try:
                return self.http.get("/healthz").status_code == 200
            except httpx.TransportError:
                return False

        wait_for("Phoenix is healthy", healthy, within=120, last_seen=self.log_text)

    def sessions(self):
        """The sessions of all projects by their id."""
        answer = self.http.post("/graphql", json={"query": SESSIONS}).json()
        assert "errors" not in answer, answer["errors"]
        found = {}
        for project in nodes(answer["data"]["projects"]):
            for session in nodes(project["sessions"]):
                found[session["sessionId"]] = session
        return found


def nodes(connection):
    return [edge["node"] for edge in connection["edges"]]


class Agent:
    """An agent that knows nothing of traces, over plain HTTP."""

    def __init__(self, url, credentials):
        self.id = credentials.agent_id
        headers = {"X-API-Key": credentials.api_key}
        self.http = httpx.Client(
            base_url=f"{url}/api/v1/agent", headers=headers, timeout=20, trust_env=False
        )

    def post(self, path, body=None):
        answer = self.http.post(path, json=body) if body else self.http.post(path)
        assert answer.status_code in (200, 201), f"POST {path}: {answer.status_code} {answer.text}"

    def take_next(self, room):
        message = self.http.get(f"/chats/{room}/messages/next").json()["data"]["id"]
        self.post(f"/chats/{room}/messages/{message}/processing")
        return message


def talk(human, room, first, second):
    for agent in (first, second):
        human.post(f"/chats/{room}/participants", {"participant": {"participant_id": agent.id}})
    asks = lambda agent: {"message": {"content": "a secret", "mentions": [{"id": agent.id}]}}  # noqa: E731
    human.post(f"/chats/{room}/messages", asks(first))
    message = first.take_next(room)
    first.post(f"/chats/{room}/messages", asks(second))
    usage = {"band_usage": {"input_tokens": 120, "output_tokens": 30}}
    event = {"message_type": "task", "content": "usage", "metadata": usage}
    first.post(f"/chats/{room}/events", {"event": event})
    first.post(f"/chats/{room}/messages/{message}/processed")
    message = second.take_next(room)
    second.post(f"/chats/{room}/messages/{message}/failed", {"error": "a secret, too"})


def judge(session, first, second):
    (trace,) = nodes(session["traces"])
    spans = nodes(trace["spans"])
    assert sorted(span["name"] for span in spans) == SPANS, spans
    assert session["numTraces"] == 1 and trace["rootSpan"]["name"] == "accept", session
    known = {span["spanId"] for span in spans}
    assert [span["parentId"] in known for span in spans].count(False) == 1, "only the root has no parent"
    attempts = [span for span in spans if span["name"] == "attempt"]
    assert {span["spanKind"] for span in attempts} == {"agent"}, attempts
    assert {span["statusCode"] for span in attempts} == {"OK", "ERROR"}, attempts
    for agent in (first, second):
        assert sum(agent.id in span["attributes"] for span in attempts) == 1, attempts
    assert sum('"prompt": 120' in span["attributes"] for span in spans) == 1, spans
    assert "secret" not in str(spans), spans


def main():
    binary = Path(os.environ["PARLANCE_BIN"])
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        phoenix, world = Phoenix(directory), World(binary, directory)
        try:
            phoenix.start()
            world.start()
            world.server.restart_with(PARLANCE_OTLP_ENDPOINT=phoenix.url, PARLANCE_OTLP_GEN_AI="true")
            human = world.human
            agents = [Agent(world.server.url, human.register_agent(name)) for name in ("First", "Second")]
            rooms = [human.post("/chats", {"chat": {}})["id"] for _ in range(2)]
            for room in rooms:
                talk(human, room, *agents)

            def shown():
                sessions = phoenix.sessions()
                traces = [trace for session in sessions.values() for trace in nodes(session["traces"])]
                count = sum(len(nodes(trace["spans"])) for trace in traces)
                return sessions if count >= len(SPANS) * len(rooms) else None

            sessions = wait_for("all spans are in Phoenix", shown, within=60, last_seen=phoenix.sessions)
            assert set(sessions) == set(rooms), sessions
            for session in sessions.values():
                judge(session, *agents)
            print(f"{len(sessions)} rooms are {len(sessions)} sessions of {len(SPANS)} spans each")
        except BaseException:
            for log in (phoenix.log, *world.logs()):
                if log.exists():
                    print(f"-- {log}\n{log.read_text(errors='replace')[-8000:]}")
            raise
        finally:
            world.end()
            phoenix.end()
            phoenix.http.close()


if __name__ == "__main__":
    main()
