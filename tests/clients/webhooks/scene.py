"""A server that may send to this machine, an agent with a webhook, and the receiver of docs/webhooks.md."""

import queue
import re
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
from harness import wait_for

ROOT = Path(__file__).parents[3]


def documented_receiver():
    """The program of docs/webhooks.md, as a reader saves it."""
    text = (ROOT / "docs/webhooks.md").read_text()
    return re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)


def replaced(text, old, new):
    """Replaces a part of the program, which must contain it once."""
    assert text.count(old) == 1, old
    return text.replace(old, new)


def run(process):
    """Starts a receiver, also one that was killed, and waits until it listens."""
    before = process.log_text().count("Uvicorn running")
    process.spawn()

    def listens():
        process.assert_running()
        return process.log_text().count("Uvicorn running") > before

    wait_for("the receiver listens", listens)


class Scene:
    """An agent in a room with a person."""

    def __init__(self, world):
        settings = {"WEBHOOKS_ALLOW_PRIVATE": "127.0.0.1", "WORK_STUCK_AFTER_MS": "3000", "RATE_LIMITS": "false"}
        world.server.restart_with(**{f"PARLANCE_{name}": value for name, value in settings.items()})
        self.world, self.human = world, world.human
        self.agent = self.human.register_agent("Echo")
        self.room = self.human.open_room(self.agent.agent_id)
        self.path = f"/agents/{self.agent.agent_id}/webhook"
        self.secret = None

    def hook(self, url):
        answer = self.human.http.put(self.path, json={"url": url})
        assert answer.status_code == 201, answer.text
        self.secret = answer.json()["data"]["secret"]

    def say(self, text):
        body = {"message": {"content": text, "mentions": [{"id": self.agent.agent_id}]}}
        return self.human.post(f"/chats/{self.room.id}/messages", body)["id"]

    def get(self, path):
        answer = self.human.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def texts(self):
        rows = self.get(f"/chats/{self.room.id}/messages")
        return [row["content"] for row in rows if row["sender_id"] == self.agent.agent_id]

    def delivery(self, message):
        rows = self.get(f"{self.path}/deliveries")
        return next((row for row in rows if row["message_id"] == message), None)

    def wait_until(self, message, status, within=60.0):
        def so():
            found = self.delivery(message)
            return found if found and found["status"] == status else None

        last_seen = lambda: self.delivery(message)
        return wait_for(f"the delivery is {status}", so, within, last_seen=last_seen)

    def state(self, message):
        """The state of a message as its agent reads it."""
        answer = httpx.get(
            f"{self.world.server.url}/api/v1/agent/chats/{self.room.id}/messages",
            params={"status": "all", "limit": 100},
            headers={"X-API-Key": self.agent.api_key},
            trust_env=False,
        )
        record = next(row for row in answer.json()["data"] if row["id"] == message)
        return record["metadata"]["delivery_status"][self.agent.agent_id]

    def wait_until_settled(self, rooms, within=90.0):
        """Waits until every message in the rooms is processed and its delivery has ended; what became of them."""

        def settled():
            ended = all(row["status"] == "delivered" for row in self.get(f"{self.path}/deliveries?limit=100"))
            outcomes = [room.outcome() for room in rooms]
            return outcomes if ended and not any(outcome.open() for outcome in outcomes) else None

        seen = lambda: [room.outcome().open() for room in rooms]
        return wait_for("every message is answered and delivered", settled, within, every=0.5, last_seen=seen)


class Gate:
    """Holds programs at named moments, until a test lets them go on. A program connects, and goes on when it is closed."""

    # What a program calls.
    CLIENT = '''
import asyncio

async def pass_gate(moment):
    reader, writer = await asyncio.open_connection("127.0.0.1", {port})
    writer.write(moment.encode() + b"\\n")
    await reader.read()
    writer.close()
'''

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.held = None
        self.waiting = queue.Queue()
        self.passed = []
        threading.Thread(target=self._run, daemon=True).start()

    def client(self):
        return self.CLIENT.format(port=self.port)

    def _run(self):
        while True:
            try:
                program, _ = self.listener.accept()
            except OSError:
                return
            moment = program.makefile().readline().strip()
            if moment == self.held:
                self.waiting.put(program)
            else:
                self.passed.append(moment)
                program.close()

    def reached(self, within=60.0):
        """The next program that has come to the moment at which they are held; closing it lets it go on."""
        return self.waiting.get(timeout=within)

    def open(self):
        """Lets everything go on."""
        self.held = None
        while not self.waiting.empty():
            self.waiting.get().close()

    def close(self):
        self.open()
        self.listener.close()


@contextmanager
def web_server(answer):
    """A web server for POST requests: `answer` gets the headers and the body, and returns the status."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            status = answer({name.lower(): value for name, value in self.headers.items()}, body)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
