"""Each flag of the work ledger, at an agent that hangs, is killed, or fails.

The thresholds are short, and every flag goes again once its cause is gone.
"""

from harness import wait_for
from test_band_sdk import claim_one_and_queue_two
from test_dead_letters import item, poisoned

SOON = {
    "PARLANCE_WORK_UNANSWERED_AFTER_MS": "500",
    "PARLANCE_WORK_STUCK_AFTER_MS": "1000",
}


def flags(world, room):
    """The flags of the open work items, by token; `state=dead` has those of the dead ones."""
    tokens = {message: token for token, message in room.ids().items()}
    shown = {}
    for state in ({}, {"state": "dead"}):
        answer = world.human.http.get("/work", params={"limit": "100"} | state)
        assert answer.status_code == 200, answer.text
        shown |= {tokens[row["message_id"]]: row["flags"] for row in answer.json()["data"]}
    return shown


def wait_for_flags(world, room, expected):
    wait_for(
        f"the flags are {expected}",
        lambda: flags(world, room) == expected,
        last_seen=lambda: flags(world, room),
    )


def test_a_hanging_agent_is_stuck_and_the_rest_unanswered(world):
    world.server.restart_with(**SOON)
    agent, room, held, open_gate = claim_one_and_queue_two(world, settings={})
    behind = [token for token in room.ids() if token != held]
    wait_for_flags(world, room, {held: ["stuck"]} | dict.fromkeys(behind, ["unanswered"]))
    assert item(world, room, held)["agent"]["connected"] is True
    open_gate.touch()
    room.wait_until_settled(agent).assert_each_answered_once()
    assert flags(world, room) == {}


def test_a_killed_agent_is_stuck_and_not_connected(world):
    world.server.restart_with(**SOON)
    agent, room, held, open_gate = claim_one_and_queue_two(world, settings={})
    agent.kill()
    wait_for("the agent is not connected", lambda: not item(world, room, held)["agent"]["connected"])
    behind = [token for token in room.ids() if token != held]
    wait_for_flags(world, room, {held: ["stuck"]} | dict.fromkeys(behind, ["unanswered"]))
    open_gate.touch()
    agent.start()
    room.wait_until_settled(agent).assert_each_answered_once()
    assert flags(world, room) == {}


def test_an_agent_that_fails_is_failing_and_then_dead(world):
    agent, room, token, poison = poisoned(world, retries=10)
    wait_for("the message is failing", lambda: flags(world, room).get(token) == ["failing"])
    item(world, room, token, "/dead-letter", {"reason": "no API key"})
    wait_for_flags(world, room, {token: ["dead"]})
    poison.write_text("")
    item(world, room, token, "/retry", {})
    agent.end()
    agent.start()
    wait_for_flags(world, room, {})
