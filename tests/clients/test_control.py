"""Stop, play, and interrupt, as band-sdk 6.0.1 reacts to them inside a turn.

The signal is lost in some tests, and the server is killed right after the answer to the verb
in others: the client then learns of the state from the answers to its own requests.
"""

import pytest
from harness import PATIENT, wait_for
from test_band_sdk import claim_one_and_queue_two

# A client whose room is stopped asks once a minute whether it plays again.
ASKS_WHILE_STOPPED = {"STOPPED_RESYNC_SECONDS": "1"}


def control(room, verb):
    answer = room.human.http.post(f"/chats/{room.id}/agents/{verb}")
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]["work_status"]


def turn_has_ended(world):
    """The handler was cancelled, and said so."""
    return (world.directory / "gate" / "cancelled").exists


def assert_nothing_changed(room, held):
    """The turn has ended, and its message was neither answered nor marked."""
    outcome = room.outcome()
    assert outcome.statuses[held] == "processing"
    assert sum(outcome.answers.values()) == 0


def test_stop_ends_a_turn_and_play_brings_its_message_again(world):
    agent, room, held, open_gate = claim_one_and_queue_two(world, settings={})

    assert control(room, "stop") == "stopped"
    wait_for("the turn has ended", turn_has_ended(world))
    assert_nothing_changed(room, held)
    room.say()
    open_gate.touch()
    # Twice, as when an answer was lost.
    assert control(room, "stop") == "stopped"
    assert_nothing_changed(room, held)

    control(room, "play")
    room.wait_until_settled(agent).assert_each_answered_once()


def test_interrupt_ends_the_turn_and_no_later_one(world):
    agent, room, held, open_gate = claim_one_and_queue_two(world, settings={})

    executions = room.human.http.get(f"/agents/{room.agent_id}/executions").json()["data"]
    assert [(row["chat_room_id"], row["status"]) for row in executions] == [(room.id, "processing")]
    path = f"/agents/{room.agent_id}/executions/{executions[0]['id']}/interrupt"
    answer = room.human.http.post(path)
    assert answer.status_code == 200, answer.text
    wait_for("the turn has ended", turn_has_ended(world))
    open_gate.touch()

    wait_for(
        "the later messages are answered",
        lambda: list(room.outcome().open()) == [held],
        last_seen=lambda: room.outcome().open(),
    )
    outcome = room.outcome()
    assert (outcome.statuses[held], outcome.answers[held]) == ("processed", 0)
    assert outcome.more_than_once() == {}
    agent.assert_running()


def test_signals_that_are_lost_cost_time_only(world):
    """All signals and new messages are lost on their way; messages are redelivered."""
    world.server.restart_with(
        PARLANCE_FAULT_LOSE_MESSAGES="1", PARLANCE_REDELIVERY_AFTER_MS="1000"
    )
    agent, room, held, open_gate = claim_one_and_queue_two(world, settings=ASKS_WHILE_STOPPED)

    assert control(room, "stop") == "stopped"
    wait_for("the turn has ended", turn_has_ended(world))
    assert_nothing_changed(room, held)
    open_gate.touch()

    control(room, "play")
    room.wait_until_settled(agent, within=180.0).assert_each_answered_once()


@pytest.mark.parametrize("killed_after", ["stop", "play"])
def test_kill_right_after_the_verb(world, killed_after):
    settings = PATIENT | ASKS_WHILE_STOPPED
    agent, room, held, open_gate = claim_one_and_queue_two(world, settings=settings)

    def verb(name):
        control(room, name)
        if name == killed_after:
            agent.let_socket_live()
            before = agent.reconnects()
            world.server.kill()
            world.server.start()
            agent.wait_for_reconnect(before)

    verb("stop")
    wait_for("the turn has ended", turn_has_ended(world))
    assert_nothing_changed(room, held)
    open_gate.touch()

    verb("play")
    room.wait_until_settled(agent).assert_each_answered_once()


def test_a_client_whose_key_is_replaced_ends(world):
    """It is told why, and does not try to connect again."""
    credentials = world.human.register_agent("Echo")
    room = world.human.open_room(credentials.agent_id)
    agent = world.agent(credentials)
    agent.start()
    room.say()
    wait_for("the message is answered", lambda: not room.outcome().open())

    path = f"/agents/{credentials.agent_id}/api-key/regenerate"
    answer = world.human.http.post(path)
    assert answer.status_code == 200, answer.text
    wait_for("the agent ends", lambda: agent.child.poll() is not None)
    log = agent.log_text()
    assert "reason=agent.revoked retryable=False" in log
    assert agent.reconnects() == 0 and "403" not in log
