"""Messages and events of the agent interface."""

from .scene import NOBODY, cast, tell


def create_agent_chat_message(kit):
    ann, agent, room = cast(kit)
    made = tell(agent, room, ann, "Sun all day")
    assert made.status == 201 and made.data["success"] is True
    (recipient,) = made.data["recipients"]
    assert (recipient["id"], recipient["handle"]) == (ann.id, ann.handle) and recipient["name"]
    assert recipient["connected"] is False
    stored = ann.list_my_chat_messages(chat_id=room, message_type="text").data[0]
    assert stored["id"] == made.data["id"] and "Sun all day" in stored["content"]
    send = agent.create_agent_chat_message
    kit.refused(422, "mentions_required", send, chat_id=room, message={"content": "Hi", "mentions": []})
    myself = {"content": "Hi", "mentions": [{"id": agent.id}]}
    kit.refused(422, "cannot_mention_self", send, chat_id=room, message=myself)
    stranger = {"content": "Hi", "mentions": [{"id": kit.bob.id}]}
    error = kit.refused(422, "mentioned_participant_not_in_room", send, chat_id=room, message=stranger)
    assert "mentioned_participant_not_in_room" in error["message"]
    blank = {"content": " ", "mentions": [{"id": ann.id}]}
    kit.refused(422, "validation_error", send, chat_id=room, message=blank)
    kit.refused(404, "not_found", send, chat_id=NOBODY, message=blank | {"content": "Hi"})


def list_agent_messages(kit):
    ann, agent, room = cast(kit)
    sent = [tell(ann, room, agent, f"Number {n}").data["id"] for n in range(5)]
    assert kit.everything(agent, "list_agent_messages", chat_id=room) == sent
    agent.mark_agent_message_processing(chat_id=room, id=sent[0])
    agent.mark_agent_message_processed(chat_id=room, id=sent[0])
    agent.mark_agent_message_processing(chat_id=room, id=sent[1])
    agent.mark_agent_message_failed(chat_id=room, id=sent[1], error="no sky")
    agent.mark_agent_message_processing(chat_id=room, id=sent[2])
    expected = {
        "processed": sent[:1],
        "failed": sent[1:2],
        "processing": sent[2:3],
        "pending": sent[1:2] + sent[3:],
        "all": sent,
    }
    for status, ids in expected.items():
        assert agent.list_agent_messages(chat_id=room, status=status).ids == ids, status
        assert kit.everything(agent, "list_agent_messages", chat_id=room, status=status) == ids
    if kit.takes("list_agent_messages", "sort_order"):
        order = {"chat_id": room, "status": "all"}
        assert agent.list_agent_messages(**order, sort_order="asc").ids == sent
        assert agent.list_agent_messages(**order, sort_order="desc").ids == sent[::-1]
    kit.refused(422, "validation_error", agent.list_agent_messages, chat_id=room, status="lost")
    kit.refused(404, "not_found", kit.agent(kit.bob).list_agent_messages, chat_id=room)


def get_agent_next_message(kit):
    ann, agent, room = cast(kit)
    nothing_next(kit, agent, room)
    first, second = (tell(ann, room, agent, text).data["id"] for text in ("One", "Two"))
    head = agent.get_agent_next_message(chat_id=room).data
    assert head["id"] == first and "One" in head["content"] and head["sender_id"] == ann.id
    for message in (first, second):
        assert agent.get_agent_next_message(chat_id=room).data["id"] == message
        agent.mark_agent_message_processing(chat_id=room, id=message)
        agent.mark_agent_message_processed(chat_id=room, id=message)
    nothing_next(kit, agent, room)


def nothing_next(kit, agent, room):
    """204 without a body: newer clients hand out no data, older ones raise it."""
    try:
        answer = agent.get_agent_next_message(chat_id=room)
    except Exception as error:
        assert getattr(error, "status_code", None) == 204, error
    else:
        assert answer.status == 204 and answer.body is None
        assert getattr(answer.parsed, "data", None) is None


def mark_agent_message_processing(kit):
    ann, agent, room = cast(kit)
    message = tell(ann, room, agent).data["id"]
    for attempt in (1, 2):
        made = agent.mark_agent_message_processing(chat_id=room, id=message)
        assert made.status == 200 and made.data["success"] is True
        assert (made.data["id"], made.data["attempt_number"]) == (message, attempt)
    kit.refused(404, "not_found", agent.mark_agent_message_processing, chat_id=room, id=NOBODY)


def mark_agent_message_processed(kit):
    ann, agent, room = cast(kit)
    message = tell(ann, room, agent).data["id"]
    error = kit.refused(422, "validation_error", agent.mark_agent_message_processed, chat_id=room, id=message)
    assert error["details"]["/processing_attempt"]
    agent.mark_agent_message_processing(chat_id=room, id=message)
    made = agent.mark_agent_message_processed(chat_id=room, id=message)
    assert made.data["status"] == "processed" and made.data["success"] is True
    seen = ann.list_my_chat_messages(chat_id=room).data[0]
    assert seen["metadata"]["delivery_status"][agent.id]["status"] == "processed"


def mark_agent_message_failed(kit):
    ann, agent, room = cast(kit)
    message = tell(ann, room, agent).data["id"]
    fail = agent.mark_agent_message_failed
    kit.refused(422, "validation_error", fail, chat_id=room, id=message, error="no sky")
    agent.mark_agent_message_processing(chat_id=room, id=message)
    assert fail(chat_id=room, id=message, error="no sky").data["status"] == "failed"
    assert agent.get_agent_next_message(chat_id=room).data["id"] == message


def create_agent_chat_event(kit):
    ann, agent, room = cast(kit)
    for kind in ("tool_call", "tool_result", "thought", "error", "task"):
        event = {"content": f"a {kind}", "message_type": kind, "metadata": {"step": [1, {"deep": None}]}}
        made = agent.create_agent_chat_event(chat_id=room, event=event)
        assert made.status == 201 and made.data["message_type"] == kind
        stored = ann.list_my_chat_messages(chat_id=room, message_type=kind).data[0]
        assert (stored["id"], stored["content"]) == (made.data["id"], f"a {kind}")
        assert stored["metadata"]["step"] == [1, {"deep": None}]
    event = {"content": "no metadata", "message_type": "thought", "metadata": None}
    agent.create_agent_chat_event(chat_id=room, event=event)
    long = {"content": "x" * 16385, "message_type": "thought"}
    kit.refused(422, "validation_error", agent.create_agent_chat_event, chat_id=room, event=long)


def get_agent_chat_context(kit):
    ann, agent, room = cast(kit)
    seen = []
    for number in range(3):
        seen.append(tell(ann, room, agent, f"Question {number}").data["id"])
        seen.append(tell(agent, room, ann, f"Answer {number}").data["id"])
    assert agent.get_agent_chat_context(chat_id=room).ids == seen
    body = agent.get_agent_chat_context(chat_id=room, page=1, page_size=100).body
    assert body["meta"] == body["metadata"]
    assert kit.everything(agent, "get_agent_chat_context", chat_id=room) == seen
    # What the agent writes while it works has a cause, on texts and on events.
    agent.mark_agent_message_processing(chat_id=room, id=seen[0])
    caused = [tell(agent, room, ann, "Answer").data["id"]]
    event = {"content": "hm", "message_type": "thought", "metadata": {"cause": "forged"}}
    caused.append(agent.create_agent_chat_event(chat_id=room, event=event).data["id"])
    place = {"message_id": seen[0], "root_id": seen[0], "hop": 1, "originator": {"id": ann.id, "type": "User"}}
    shown = agent.get_agent_chat_context(chat_id=room).data[-2:]
    shown += reversed(ann.list_my_chat_messages(chat_id=room).data[:2])
    assert [(message["id"], message["metadata"]["cause"]) for message in shown] == 2 * [
        (message, place) for message in caused
    ]
    kit.refused(404, "not_found", kit.agent(kit.bob).get_agent_chat_context, chat_id=room)


def report_agent_chat_activity(kit):
    _, agent, room = cast(kit)
    report = agent.report_agent_chat_activity
    for working in (True, False):
        assert report(chat_id=room, working=working).data["working"] is working
    if kit.takes("report_agent_chat_activity", "activity"):
        activity = {"kind": "tool_call", "name": "look outside"}
        assert report(chat_id=room, working=True, activity=activity).data["working"] is True
        assert report(chat_id=room, working=True, activity={"kind": "reasoning"}).data["working"] is True
    kit.refused(404, "not_found", report, chat_id=NOBODY, working=True)
