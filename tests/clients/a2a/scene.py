"""A server with an agent that is listed for A2A, and what the agent does over the REST API."""

import json
import subprocess
import threading
from contextlib import contextmanager

import httpx
from harness import wait_for


class Agent:
    """An agent, played by the test over the REST API."""

    def __init__(self, url, credentials):
        self.id, self.key = credentials.agent_id, credentials.api_key
        self.http = httpx.Client(
            base_url=f"{url}/api/v1/agent", headers={"X-API-Key": self.key}, timeout=20, trust_env=False
        )

    def post(self, path, body=None):
        answer = self.http.post(path, json=body)
        assert answer.is_success, f"POST {path}: {answer.status_code} {answer.text}"
        return answer.json()["data"]

    def next(self):
        """The oldest message that it has not processed, in any room; None if there is none."""
        rooms = self.http.get("/chats", params={"page_size": 100})
        assert rooms.status_code == 200, rooms.text
        for room in rooms.json()["data"]:
            answer = self.http.get(f"/chats/{room['id']}/messages/next")
            if answer.status_code == 200:
                return Work(self, room["id"], answer.json()["data"])
        return None

    def take(self):
        """Waits for a message, and begins it."""
        work = wait_for("a message for the agent", self.next)
        work.step("processing")
        return work

    @contextmanager
    def working(self, before=""):
        """Answers every message with its words, from a thread of its own, also while the server comes and goes."""
        enough = threading.Event()

        def work():
            while not enough.wait(0.05):
                try:
                    if found := self.next():
                        found.step("processing")
                        found.answer(f"You said: {before}{found.text}")
                        found.step("processed")
                except httpx.TransportError:
                    continue

        worker = threading.Thread(target=work)
        worker.start()
        try:
            yield
        finally:
            enough.set()
            worker.join(timeout=30)


class Work:
    """A message that an agent works on."""

    def __init__(self, agent, room, message):
        self.agent, self.room, self.message = agent, room, message["id"]
        self.sender = message["sender_id"]
        # Without the mention at its start.
        self.text = message["content"].rpartition("]] ")[2]

    def step(self, name, **body):
        self.agent.post(f"/chats/{self.room}/messages/{self.message}/{name}", body)

    def answer(self, text):
        mentions = [{"id": self.sender}]
        body = {"content": text, "mentions": mentions, "in_reply_to": self.message}
        return self.agent.post(f"/chats/{self.room}/messages", {"message": body})["id"]

    def ask(self, text):
        """Asks the person in the room."""
        metadata = {"kind": "question", "blocking": True}
        body = {"content": text, "message_type": "attention", "metadata": metadata, "in_reply_to": self.message}
        self.agent.post(f"/chats/{self.room}/events", {"event": body})


class Scene:
    """A person, and an agent of theirs that is listed."""

    def __init__(self, world):
        world.server.restart_with(PARLANCE_RATE_LIMITS="false", PARLANCE_WEBHOOKS_ALLOW_PRIVATE="127.0.0.1")
        self.world, self.human = world, world.human
        self.key = self.human.http.headers["X-API-Key"]
        self.agent = self.register("Echo")
        self.list(self.agent)
        self.url = self.address(self.agent)

    def register(self, name):
        return Agent(self.world.server.url, self.human.register_agent(name))

    def list(self, agent, listed=True):
        changed = self.human.http.patch(f"/agents/{agent.id}", json={"agent": {"a2a": listed}})
        assert changed.status_code == 200, changed.text

    def address(self, agent):
        return f"{self.world.server.url}/a2a/{agent.id}"

    def texts(self, room):
        """The texts of a room, oldest first, without mentions."""
        answer = self.human.http.get(f"/chats/{room}/messages", params={"limit": 100})
        assert answer.status_code == 200, answer.text
        rows = [row for row in answer.json()["data"] if row["message_type"] == "text"]
        return [row["content"].rpartition("]] ")[2] for row in sorted(rows, key=lambda row: row["sequence"])]

    def new_key(self, **limits):
        """A limited key of the person."""
        return self.human.post("/api-keys", {"api_key": {"name": "limited", **limits}})["credentials"]["api_key"]

    def stranger(self):
        """The key of a person who does not know the agent."""
        server = self.world.server
        command = [server.binary, "user", "create", "--handle", "eve", "--email", "eve@example.org"]
        command += ["--name", "Eve", "--json"]
        made = subprocess.run(command, env=server.environment, capture_output=True, text=True, timeout=30)
        assert made.returncode == 0, made.stderr
        return json.loads(made.stdout)["api_key"]
