"""The scene of each test, and the receivers that it starts."""

import os
import sys

import pytest
from harness import Process, free_port
from scene import Gate, Scene, documented_receiver, run, web_server


@pytest.fixture
def scene(world):
    return Scene(world)


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.close()


@pytest.fixture
def receiver(scene, tmp_path):
    """Starts the documented program, or a changed one; several get their requests from elsewhere."""
    started = []

    def start(change=lambda text: text):
        port, number = free_port(), len(started)
        if scene.secret is None:
            scene.hook(f"http://127.0.0.1:{port}/")
        place = tmp_path / f"receiver-{number}"
        place.mkdir()
        text = change(documented_receiver()).replace("127.0.0.1:4000", scene.world.server.address)
        (place / "receiver.py").write_text(text)
        environment = os.environ | {
            "AGENT_ID": scene.agent.agent_id,
            "AGENT_KEY": scene.agent.api_key,
            "WEBHOOK_SECRET": scene.secret,
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": str(place),
        }
        command = [sys.executable, "-m", "uvicorn", "receiver:app", "--port", str(port)]
        process = Process("receiver", command, environment, place / "receiver.log")
        started.append(process)
        scene.world.agents.append(process)
        process.url = f"http://127.0.0.1:{port}/"
        run(process)
        return process

    yield start
    for process in started:
        process.end()


@pytest.fixture
def requests():
    """A web server that keeps what it gets: the headers and the body of each request."""
    kept = []

    def keep(headers, body):
        kept.append((headers, body))
        return 204

    with web_server(keep) as url:
        yield url, kept
