"""Push notifications: the clients say where they want them, and a small web server takes them."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from a2a.types import a2a_pb2
from callers import Refused
from google.protobuf.json_format import ParseDict
from harness import wait_for

TOKEN, CREDENTIALS = "the-token-of-the-receiver", "the-credentials-of-the-receiver"


class Receiver:
    """Keeps what it is told, with the headers."""

    def __init__(self):
        told = self.told = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                told.append((dict(self.headers.items()), body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/in"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def events(self):
        """What it was told, as the library reads it."""
        events = [ParseDict(body, a2a_pb2.StreamResponse()) for _, body in self.told]
        return [news(event) for event in events]


def news(event):
    kind = event.WhichOneof("payload")
    if kind == "artifact_update":
        return event.artifact_update.artifact.parts[0].text
    status = event.task.status if kind == "task" else event.status_update.status
    state = a2a_pb2.TaskState.Name(status.state).removeprefix("TASK_STATE_")
    return f"task {state}" if kind == "task" else state


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()


def test_a_receiver_is_told_what_happens(scene, client, receiver):
    """A message names a receiver, which is told the task and each change, and recognizes the server."""
    caller = client()
    authentication = {"scheme": "Bearer", "credentials": CREDENTIALS}
    config = {"url": receiver.url, "token": TOKEN, "authentication": authentication}
    task = caller.send("Hello", returnImmediately=True, taskPushNotificationConfig=config)
    wait_for("the task is told", lambda: receiver.events() == ["task SUBMITTED"])
    work = scene.agent.take()
    wait_for("the work is told", lambda: receiver.events()[1:] == ["WORKING"])
    work.answer("One")
    work.step("processed")
    expected = ["task SUBMITTED", "WORKING", "One", "COMPLETED"]
    wait_for("the end is told", lambda: len(receiver.events()) == len(expected))
    assert receiver.events() == expected
    for headers, body in receiver.told:
        headers = {name.lower(): value for name, value in headers.items()}
        assert headers["x-a2a-notification-token"] == TOKEN
        assert headers["authorization"] == f"Bearer {CREDENTIALS}"
        (event,) = body.values()
        assert event.get("taskId", event.get("id")) == task["id"]


def test_configurations_are_managed(scene, client, receiver):
    """A configuration of a task is created, read, listed, and removed; afterwards nothing is told."""
    caller = client()
    task = caller.send("Hello", returnImmediately=True)["id"]
    config = {"taskId": task, "id": "mine", "url": receiver.url, "token": TOKEN}
    for _ in range(2):
        assert caller.one("createTaskPushNotificationConfig", config) == config
    assert caller.one("getTaskPushNotificationConfig", {"taskId": task, "id": "mine"}) == config
    assert caller.one("listTaskPushNotificationConfig", {"taskId": task})["configs"] == [config]
    wait_for("the task is told", lambda: receiver.events() == ["task SUBMITTED"])
    caller.one("deleteTaskPushNotificationConfig", {"taskId": task, "id": "mine"})
    with pytest.raises(Refused) as refused:
        caller.one("getTaskPushNotificationConfig", {"taskId": task, "id": "mine"})
    assert refused.value.kind == "TaskNotFoundError"
    assert not caller.one("listTaskPushNotificationConfig", {"taskId": task}).get("configs")
    other = Receiver()
    caller.one("createTaskPushNotificationConfig", {**config, "url": other.url})
    scene.agent.take().step("processed")
    wait_for("the end is told", lambda: other.events()[-1:] in (["COMPLETED"], ["task COMPLETED"]))
    other.server.shutdown()
    assert receiver.events() == ["task SUBMITTED"]


def test_a_receiver_is_told_after_a_kill(scene, client, receiver):
    """What happens after `kill -9` of the server is told too, and nothing twice."""
    caller = client()
    caller.send("Hello", returnImmediately=True, taskPushNotificationConfig={"url": receiver.url})
    work = scene.agent.take()
    wait_for("the work is told", lambda: receiver.events()[-1:] in (["WORKING"], ["task WORKING"]))
    before = len(receiver.events())
    scene.world.server.kill()
    scene.world.server.start()
    work.answer("One")
    work.step("processed")
    wait_for("the end is told", lambda: len(receiver.events()) == before + 2)
    assert receiver.events()[before:] == ["One", "COMPLETED"]
