"""One message at which the agent's handler fails, with ten more behind it.

The client band-sdk 6.0.1 does not get past a message that it has given up. It does once
the message is dead.
"""

import pytest
from harness import wait_for

ASKS_OFTEN = {"IDLE_RESYNC_SECONDS": "1", "IDLE_RESYNC_MAX_SECONDS": "1"}


def poisoned(world, retries, max_attempts=None):
    """The agent, its room, the token of the message at which it fails, and the file that names it."""
    # Nothing is pushed to the agent while the test looks.
    world.server.restart_with(PARLANCE_REDELIVERY_AFTER_MS="60000")
    credentials = world.human.register_agent("Echo")
    if max_attempts is not None:
        answer = world.human.http.patch(
            f"/agents/{credentials.agent_id}", json={"agent": {"max_attempts": max_attempts}}
        )
        assert answer.json()["data"]["max_attempts"] == max_attempts, answer.text
    room = world.human.open_room(credentials.agent_id)
    poison = world.directory / "poison"
    token = room.say()
    poison.write_text(token)
    for _ in range(10):
        room.say()
    settings = ASKS_OFTEN | {"MAX_MESSAGE_RETRIES": str(retries), "POISON_FILE": str(poison)}
    agent = world.agent(credentials, script="failing_agent.py", settings=settings)
    agent.start()
    return agent, room, token, poison


def item(world, room, token, verb="", body=None):
    """The work item of the message, or the answer to a verb on it."""
    path = f"/work/{room.ids()[token]}/{room.agent_id}{verb}"
    answer = world.human.http.get(path) if body is None else world.human.http.post(path, json=body)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()["data"]


def assert_only_the_poison_is_open(room, token, within=60.0):
    """The ten are answered, once each, and the eleventh shows as failed."""
    wait_for(
        "the messages behind it are answered",
        lambda: list(room.outcome().open()) == [token],
        within,
        last_seen=lambda: room.outcome().open(),
    )
    outcome = room.outcome()
    assert (outcome.statuses[token], outcome.answers[token]) == ("failed", 0)
    assert outcome.more_than_once() == {}


def test_dead_lettered_by_hand(world):
    agent, room, token, poison = poisoned(world, retries=1)
    agent.wait_for_log("exceeded max retries")
    # It asks again every second, and gets the same message.
    agent.wait_for_log("permanently failed")
    assert len(room.outcome().open()) == 11

    dead = item(world, room, token, "/dead-letter", {"reason": "no API key", "if_state": "failed"})
    assert (dead["state"], dead["flags"], dead["dead_reason"]) == ("dead", ["dead"], "no API key")
    assert dead["attempts"][-1]["error"].endswith("OPENAI_API_KEY is not set")
    assert_only_the_poison_is_open(room, token)

    # The running client has given the message up, as the answer says; a new process has not.
    retried = item(world, room, token, "/retry", {})
    assert (retried["state"] in ("new", "delivered"), retried["taken_up"]) == (True, False)
    poison.write_text("")
    agent.end()
    agent.start()
    wait_for("the retried message is answered", lambda: not room.outcome().open())
    assert item(world, room, token)["state"] == "processed"
    assert room.outcome().more_than_once() == {}


def test_sent_again_to_the_client_that_gave_up(world):
    agent, room, token, poison = poisoned(world, retries=1)
    agent.wait_for_log("exceeded max retries")
    poison.write_text("")
    again = item(world, room, token, "/send-again", {"if_state": "failed"})
    assert (again["state"], again["flags"], again["dead_reason"]) == ("dead", [], "sent again")

    def state():
        answer = world.human.http.get(f"/work/{again['replaced_by']}/{room.agent_id}")
        return answer.json()["data"]["state"]

    wait_for("the new message is processed", lambda: state() == "processed", 60.0, last_seen=state)
    agent.assert_running()


@pytest.mark.parametrize(("max_attempts", "retries"), [(3, 10), (1, 1)])
def test_dead_after_the_last_attempt(world, max_attempts, retries):
    agent, room, token, _ = poisoned(world, retries, max_attempts)
    assert_only_the_poison_is_open(room, token)
    agent.assert_running()
    dead = item(world, room, token)
    assert (dead["state"], len(dead["attempts"])) == ("dead", max_attempts)
