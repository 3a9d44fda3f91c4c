"""Kills of the server and of the receiver, and workers that race: every message is answered, and answered once.

The agent is the documented receiver, with the published invoker of the SDK. A gate holds it at a moment of its work, so that
each kill comes at a known one.
"""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from scene import replaced, run, web_server

# A request has come; the agent has begun and not answered; it has answered, and the response is not sent.
MOMENTS = ["received", "turn", "answered"]


def gated(gate):
    """The documented receiver, which can be held at each moment."""

    def change(text):
        for moment, line in zip(
            MOMENTS, ["    result = await invoker", "        await tools.send_message(", "    is_over ="]
        ):
            indent = line[: len(line) - len(line.lstrip())]
            text = replaced(text, line, f'{indent}await pass_gate("{moment}")\n{line}')
        return gate.client() + text

    return change


def say_in(rooms, gate, moment):
    """Sends a message in each room, whose turns are held at the moment; they go on when what is returned is closed."""
    gate.held = moment
    for room in rooms:
        room.say()
    held = [gate.reached() for _ in rooms]
    gate.held = None
    return held


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("victim", ["server", "receiver"])
def test_a_kill_loses_and_doubles_nothing(scene, receiver, gate, victim, moment):
    """`kill -9` while several rooms are worked on: each message is answered once, and so are the next ones."""
    process = receiver(gated(gate))
    rooms = [scene.room, *(scene.human.open_room(scene.agent.agent_id) for _ in range(2))]
    held = say_in(rooms, gate, moment)
    if victim == "server":
        scene.world.server.kill()
        scene.world.server.start()
    else:
        process.kill()
        run(process)
    for program in held:
        program.close()
    scene.wait_until_settled(rooms)
    for room in rooms:
        room.say()
    for outcome in scene.wait_until_settled(rooms):
        outcome.assert_each_answered_once()
        assert len(outcome.statuses) == 2


def test_racing_workers_answer_once(scene, receiver, gate):
    """Two workers get each request at the same time; with exclusive claims, one of them answers."""
    changed = scene.human.http.patch(f"/agents/{scene.agent.agent_id}", json={"agent": {"claims": "exclusive"}})
    assert changed.status_code == 200, changed.text
    workers, responses = [], []

    def forward(headers, body):
        kept = {name: text for name, text in headers.items() if name.startswith("webhook-")}

        def status(worker):
            return httpx.post(worker.url, content=body, headers=kept, timeout=60, trust_env=False).status_code

        with ThreadPoolExecutor() as pool:
            statuses = sorted(pool.map(status, workers))
        responses.append(statuses)
        return statuses[-1]

    with web_server(forward) as url:
        scene.hook(url)
        workers += [receiver(gated(gate)), receiver(gated(gate))]
        rounds = 3
        for _ in range(rounds):
            gate.held = "received"
            scene.room.say()
            both = [gate.reached(), gate.reached()]
            gate.held = None
            for worker in both:
                worker.close()
            [outcome] = scene.wait_until_settled([scene.room])
            outcome.assert_each_answered_once()
        assert responses == [[200, 500]] * rounds, "one has answered each, and nothing was sent again"
