"""Copies of the README's own agent in one room, which answer each other for ever."""

import uuid

import httpx
from harness import wait_for

MAX_HOPS = 8


def echoes(world, number):
    """Running agents of one room, and the room."""
    world.server.restart_with(PARLANCE_MAX_HOPS=str(MAX_HOPS), PARLANCE_RATE_LIMITS="false")
    credentials = [world.human.register_agent(f"Echo {index}") for index in range(number)]
    room = world.human.open_room(credentials[0].agent_id)
    for other in credentials[1:]:
        world.human.post(
            f"/chats/{room.id}/participants", {"participant": {"participant_id": other.agent_id}}
        )
    return credentials, room


def begin(world, speaker, room, listener):
    """The first text, which the speaker's process has not written: it answers what follows."""
    answer = httpx.post(
        f"{world.server.url}/api/v1/agent/chats/{room.id}/messages",
        headers={"X-API-Key": speaker.api_key},
        json={"message": {"content": uuid.uuid4().hex, "mentions": [{"id": listener.agent_id}]}},
        trust_env=False,
    )
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]["id"]


def held(world, root=None):
    query = {"state": "held"} | ({"root": root} if root else {})
    answer = world.human.http.get("/work", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def told(room):
    return [message for message in room.read() if message["message_type"] == "attention"]


def test_two_echoes_stop_by_themselves(world):
    (one, two), room = echoes(world, 2)
    for credentials in (one, two):
        world.agent(credentials).start()
    root = begin(world, one, room, two)
    wait_for("the loop is held", lambda: len(held(world)) == 1, 60.0)
    wait_for("the humans are told", lambda: len(told(room)) == 1)
    texts = [message for message in room.read() if message["message_type"] == "text"]
    assert len(texts) == 1 + MAX_HOPS + 1
    assert told(room)[0]["metadata"]["root_id"] == root

    answer = world.human.http.post("/work/retry", json={"state": "held", "root": root})
    assert answer.json()["data"]["changed"] == 1, answer.text
    wait_for("the tree is held again", lambda: len(told(room)) == 2, 60.0)
    texts = [message for message in room.read() if message["message_type"] == "text"]
    assert len(texts) == 1 + 2 * (MAX_HOPS + 1)
    assert len(held(world, root)) == 1


def test_a_ring_of_three_stops_by_itself(world):
    ring, room = echoes(world, 3)
    for credentials, after in zip(ring, ring[1:] + ring[:1], strict=True):
        world.agent(
            credentials, script="ring_agent.py", settings={"RING_NEXT": after.agent_id}
        ).start()
    root = begin(world, ring[0], room, ring[1])
    wait_for("the humans are told", lambda: len(told(room)) == 1, 60.0)
    assert len(held(world, root)) == 1
    texts = [message for message in room.read() if message["message_type"] == "text"]
    assert len(texts) == 1 + MAX_HOPS + 1


def test_fresh_work_is_never_held(world):
    (one, two), room = echoes(world, 2)
    for credentials in (one, two):
        world.agent(credentials).start()
    for _ in range(2 * MAX_HOPS):
        room.say()
    wait_for("all is answered", lambda: not room.outcome().open(), 60.0)
    assert held(world) == []
    assert told(room) == []
