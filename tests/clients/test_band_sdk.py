"""The Python client band-sdk 6.0.1, unchanged, against a server that comes and goes."""

import time

import pytest
from harness import NEVER_ASKS, PATIENT, wait_for


def test_answers_what_came_before_and_after_it_started(world):
    """One message waits for the agent; the three that follow reach it over its socket."""
    credentials = world.human.register_agent("Echo")
    room = world.human.open_room(credentials.agent_id)
    agent = world.agent(credentials)

    room.say()
    agent.start()
    wait_for("the waiting message is answered", lambda: not room.outcome().open())
    for _ in range(3):
        room.say()

    outcome = room.wait_until_settled(agent, within=30)
    outcome.assert_each_answered_once()
    assert len(outcome.statuses) == 5  # the last one is the fence


def test_kill_between_two_turns(world):
    """What is sent while the agent's socket is gone, and after it is back, is answered."""
    credentials = world.human.register_agent("Echo")
    room = world.human.open_room(credentials.agent_id)
    agent = world.agent(credentials)
    agent.start()
    room.say()
    wait_for("the first turn is over", lambda: not room.outcome().open())

    world.server.kill()
    world.server.start()
    room.say()
    agent.wait_for_reconnect(after=0)
    room.say()

    room.wait_until_settled(agent).assert_each_answered_once()


def claim_one_and_queue_two(world, settings):
    """An agent held inside its first turn, two more messages, and the file that frees it."""
    credentials = world.human.register_agent("Echo")
    room = world.human.open_room(credentials.agent_id)
    gate = world.directory / "gate"
    gate.mkdir()
    agent = world.agent(
        credentials, script="gated_agent.py", settings=settings | {"GATE_DIR": str(gate)}
    )
    agent.start()
    held = room.say()
    wait_for("the agent is inside its handler", (gate / "entered").exists)
    assert room.outcome().statuses[held] == "processing"
    room.say()
    room.say()
    return agent, room, held, gate / "open"


def test_kill_between_claim_and_answer(world):
    """A turn begun on the old server ends on the new one, which still knows the attempt."""
    agent, room, held, open_gate = claim_one_and_queue_two(world, settings={})

    world.server.kill()
    world.server.start()
    assert room.outcome().statuses[held] == "processing"
    open_gate.touch()

    room.wait_until_settled(agent).assert_each_answered_once()


def test_answer_refused_by_a_dead_server(world):
    """An answer that met a closed port is given again: the message is offered once more."""
    agent, room, _, open_gate = claim_one_and_queue_two(world, settings=PATIENT)

    world.server.kill()
    open_gate.touch()
    agent.wait_for_log("Error processing")
    world.server.start()

    room.wait_until_settled(agent).assert_each_answered_once()


def test_message_the_client_gave_up(world):
    """The same with the client as it comes, which gives a message up after one try.

    The client then leaves the room's waiting messages alone until its process starts
    anew; the server keeps all of them for it.
    """
    agent, room, held, open_gate = claim_one_and_queue_two(world, settings={})

    world.server.kill()
    open_gate.touch()
    agent.wait_for_log("Error processing")
    world.server.start()
    agent.wait_for_log("exceeded max retries")
    assert room.outcome().statuses[held] != "processed"
    agent.end()
    agent.start()

    room.wait_until_settled(agent).assert_each_answered_once()


def three_rooms(world):
    credentials = world.human.register_agent("Echo")
    rooms = [world.human.open_room(credentials.agent_id) for _ in range(3)]
    agent = world.agent(credentials, settings=PATIENT)
    agent.start()
    return agent, rooms


def test_kills_at_random_moments(world, restarts, chance, note):
    """Nothing accepted is lost and nothing stays unanswered, wherever the kill falls.

    An answer is posted a second time when the server stored it and died before it could
    say so: the client cannot know. Such answers are counted, not forbidden.
    """
    agent, rooms = three_rooms(world)
    world.interrupt_while_talking(agent, rooms, world.server.kill, restarts, chance)

    outcomes = [room.wait_until_settled(agent, within=120) for room in rooms]
    messages = sum(len(outcome.statuses) for outcome in outcomes)
    repeated = sum(len(outcome.more_than_once()) for outcome in outcomes)
    unknown = sum(len(room.uncertain) for room in rooms)
    note(f"answered twice: {repeated} of {messages}; sent without a 201: {unknown}")


def test_graceful_restarts_at_random_moments(world, restarts, chance, note):
    """A server that is asked to stop finishes what it began: no answer comes twice."""
    agent, rooms = three_rooms(world)
    world.interrupt_while_talking(agent, rooms, world.server.stop, restarts, chance)

    outcomes = [room.wait_until_settled(agent, within=120) for room in rooms]
    note(f"answered once each: {sum(len(outcome.statuses) for outcome in outcomes)}")
    for outcome in outcomes:
        outcome.assert_each_answered_once()


def test_a_backlog_that_takes_long_is_not_pushed(world):
    """The client drains what waits for it, one message at a time, and answers each once.

    Its first turn lasts longer than the server leaves a backlog to a client that does not
    drain it. Nothing is pushed meanwhile, nor afterwards.
    """
    world.server.restart_with(PARLANCE_REDELIVERY_AFTER_MS="1500")
    credentials = world.human.register_agent("Echo")
    room = world.human.open_room(credentials.agent_id)
    waiting = [room.say() for _ in range(12)]
    gate = world.directory / "gate"
    gate.mkdir()
    settings = NEVER_ASKS | {"GATE_DIR": str(gate)}
    agent = world.agent(credentials, script="gated_agent.py", settings=settings)
    agent.start()
    wait_for("the agent is inside its handler", (gate / "entered").exists)
    # Twice as long as a client has to begin.
    time.sleep(9)
    statuses = room.outcome().statuses
    assert [statuses[token] for token in waiting] == ["processing"] + ["none"] * 11
    (gate / "open").touch()

    outcome = room.wait_until_settled(agent)
    outcome.assert_each_answered_once()
    assert len(outcome.statuses) == 13  # the last one is the fence
    assert not room.pushed() & set(waiting)


def test_a_message_that_fails_does_not_starve_those_behind_it(world):
    """The client stops draining at a message that it has given up; the rest is pushed to it."""
    world.server.restart_with(PARLANCE_REDELIVERY_AFTER_MS="300")
    credentials = world.human.register_agent("Echo")
    room = world.human.open_room(credentials.agent_id)
    failing, *others = [room.say() for _ in range(11)]
    poison = world.directory / "poison"
    poison.write_text(failing)
    agent = world.agent(
        credentials,
        script="failing_agent.py",
        settings=NEVER_ASKS | {"POISON_FILE": str(poison)},
    )
    agent.start()

    def answered():
        outcome = room.outcome()
        return outcome.open().keys() == {failing} and outcome

    outcome = wait_for("all others are answered", answered, within=60)
    assert outcome.statuses[failing] == "failed"
    assert not outcome.more_than_once()
    assert sorted(outcome.answers) == sorted(others)
    # What is pushed wakes the client, which then fetches some of the others itself.
    assert set() < room.pushed() <= set(others)


@pytest.mark.parametrize("one_of", [1, 2])
def test_events_lost_between_commit_and_socket(world, one_of):
    """All events of new messages, or every second, never reach a socket; the agent does not ask.

    What is lost is pushed again, so every message is answered, and only once.
    """
    world.server.restart_with(
        PARLANCE_FAULT_LOSE_MESSAGES=str(one_of), PARLANCE_REDELIVERY_AFTER_MS="500"
    )
    credentials = world.human.register_agent("Echo")
    rooms = [world.human.open_room(credentials.agent_id) for _ in range(2)]
    agent = world.agent(credentials, settings=NEVER_ASKS)
    agent.start()
    for room in rooms:
        # Drained with /next, or pushed again: from here on the agent listens.
        room.say()
        wait_for("the first message is answered", lambda: not room.outcome().open())
    for _ in range(6):
        for room in rooms:
            room.say()

    for room in rooms:
        room.wait_until_settled(agent, within=60)
        # One more, so that a second answer to the last one would have come.
        outcome = room.wait_until_settled(agent, within=60)
        assert len(outcome.statuses) == 9
        outcome.assert_each_answered_once()
