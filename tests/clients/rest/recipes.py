"""One recipe for every operation: what it needs, the call, and what must be true after.

The name of a function is the name of the operation. Parameters only newer versions know
are used where the version under test has them.
"""

from datetime import datetime

NOBODY = "00000000-0000-4000-8000-000000000000"


def cast(kit):
    """Ann, her agent, and a room of Ann's with both in it."""
    agent = kit.agent(kit.ann)
    return kit.ann, agent, kit.room(kit.ann, agent)


def tell(sender, room, receiver, content="How is the weather?"):
    """A message that mentions the receiver; its answer."""
    send = sender.send_my_chat_message if sender.kit.is_human(sender) else sender.create_agent_chat_message
    message = {"content": content, "mentions": [{"id": receiver.id, "handle": receiver.handle, "name": "X"}]}
    return send(chat_id=room, message=message)


# --- the agent itself, peers, rooms


def get_agent_me(kit):
    agent = kit.agent(kit.ann, "Weather Bot")
    me = agent.get_agent_me().data
    assert me["id"] == agent.id and me["owner_uuid"] == kit.ann.id
    assert (me["name"], me["handle"]) == ("Weather Bot", f"{kit.ann.handle}/weather-bot")
    assert me["description"] == "Says how the weather is."
    kit.refused(403, "forbidden", kit.ann.get_agent_me)
    kit.refused(401, "unauthorized", kit.caller("thnv_a_1_none").get_agent_me)


def list_agent_peers(kit):
    agent, others = kit.agent(kit.ann), [kit.agent(kit.ann, f"Peer {n}") for n in range(4)]
    kit.agent(kit.bob, "Stranger")
    peers = agent.list_agent_peers(page=1, page_size=100).data
    kinds = {peer["id"]: peer["type"] for peer in peers}
    assert kinds == {kit.ann.id: "User"} | {other.id: "Agent" for other in others}
    assert set(kit.everything(agent, "list_agent_peers")) == set(kinds)
    room = kit.room(agent, others[0])
    left = agent.list_agent_peers(not_in_chat=room, page_size=100).ids
    assert set(left) == set(kinds) - {others[0].id}
    kit.refused(403, "forbidden", kit.ann.list_agent_peers)


def create_agent_chat(kit):
    agent = kit.agent(kit.ann)
    made = agent.create_agent_chat(chat={})
    assert made.status == 201
    assert made.data["id"] == agent.get_agent_chat(id=made.data["id"]).data["id"]
    assert agent.create_agent_chat(chat={"title": " Plans "}).data["title"] == "Plans"
    agent.create_agent_chat(chat={"task_id": None})
    roles = {row["id"]: row["role"] for row in agent.list_agent_chat_participants(chat_id=made.data["id"]).data}
    assert roles == {agent.id: "owner"}
    error = kit.refused(422, "validation_error", agent.create_agent_chat, chat={"title": "a\nb"})
    assert error["details"]["/chat/title"]


def get_agent_chat(kit):
    _, agent, room = cast(kit)
    assert agent.get_agent_chat(id=room).data["title"] == "A room"
    kit.refused(404, "not_found", kit.agent(kit.bob).get_agent_chat, id=room)
    kit.refused(404, "not_found", agent.get_agent_chat, id=NOBODY)


def list_agent_chats(kit):
    agent = kit.agent(kit.ann)
    rooms = {kit.room(agent) for _ in range(5)}
    assert set(kit.everything(agent, "list_agent_chats")) == rooms
    assert set(agent.list_agent_chats(page=1, page_size=100).ids) == rooms
    if kit.takes("list_agent_chats", "include"):
        row = agent.list_agent_chats(include="participants").data[0]
        assert [one["id"] for one in row["participants"]] == [agent.id]
        assert (row["participant_count"], row["participants_truncated"]) == (1, False)


def rename_agent_chat(kit):
    agent, member = kit.agent(kit.ann), kit.agent(kit.ann, "Member")
    room = kit.room(agent, member)
    assert agent.rename_agent_chat(id=room, chat={"title": "Renamed"}).data["title"] == "Renamed"
    assert agent.get_agent_chat(id=room).data["title"] == "Renamed"
    kit.refused(403, "forbidden", member.rename_agent_chat, id=room, chat={"title": "Mine"})
    kit.refused(404, "not_found", kit.agent(kit.bob).rename_agent_chat, id=room, chat={"title": "Mine"})
    kit.refused(422, "validation_error", agent.rename_agent_chat, id=room, chat={"title": "x" * 121})


# --- participants of the agent interface


def list_agent_chat_participants(kit):
    ann, agent, room = cast(kit)
    rows = agent.list_agent_chat_participants(chat_id=room).data
    assert {row["id"]: (row["type"], row["role"]) for row in rows} == {
        ann.id: ("User", "owner"),
        agent.id: ("Agent", "member"),
    }
    kit.refused(404, "not_found", kit.agent(kit.bob).list_agent_chat_participants, chat_id=room)


def add_agent_chat_participant(kit):
    agent, peer = kit.agent(kit.ann), kit.agent(kit.ann, "Peer")
    room = kit.room(agent)
    add = agent.add_agent_chat_participant
    made = add(chat_id=room, participant={"participant_id": peer.id, "role": "admin"})
    assert made.status == 201 and (made.data["id"], made.data["role"]) == (peer.id, "admin")
    assert add(chat_id=room, participant={"participant_id": kit.ann.id}).data["role"] == "member"
    kit.refused(409, "conflict", add, chat_id=room, participant={"participant_id": peer.id})
    kit.refused(404, "not_found", add, chat_id=room, participant={"participant_id": kit.agent(kit.bob).id})
    kit.refused(404, "not_found", add, chat_id=NOBODY, participant={"participant_id": peer.id})


def remove_agent_chat_participant(kit):
    agent, peer = kit.agent(kit.ann), kit.agent(kit.ann, "Peer")
    room = kit.room(agent, peer)
    assert agent.remove_agent_chat_participant(chat_id=room, id=peer.id).data["id"] == peer.id
    assert [row["id"] for row in agent.list_agent_chat_participants(chat_id=room).data] == [agent.id]
    kit.refused(404, "not_found", agent.remove_agent_chat_participant, chat_id=room, id=peer.id)
    kit.refused(404, "not_found", peer.get_agent_chat, id=room)


# --- messages of the agent interface


def create_agent_chat_message(kit):
    ann, agent, room = cast(kit)
    made = tell(agent, room, ann, "Sun all day")
    assert made.status == 201 and made.data["success"] is True
    (recipient,) = made.data["recipients"]
    assert (recipient["id"], recipient["handle"]) == (ann.id, ann.handle) and recipient["name"]
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


# --- agents of a user, profile, peers


def register_my_agent(kit):
    made = kit.ann.register_my_agent(agent={"name": "Rain Bot", "description": "Knows when it rains."})
    assert made.status == 201
    agent = kit.caller(made.data["credentials"]["api_key"])
    assert agent.get_agent_me().data["id"] == made.data["agent"]["id"]
    assert made.data["agent"]["owner_id"] == kit.ann.id
    taken = {"name": "Rain Bot", "description": "The same again."}
    error = kit.refused(422, "validation_error", kit.ann.register_my_agent, agent=taken)
    assert error["details"]["name"] == ["has already been taken"]
    kit.refused(403, "forbidden", agent.register_my_agent, agent=taken)


def list_my_agents(kit):
    made = {f"Agent {n}": kit.agent(kit.ann, f"Agent {n}").id for n in range(5)}
    kit.agent(kit.bob, "Agent of Bob")
    assert set(kit.everything(kit.ann, "list_my_agents")) == set(made.values())
    if kit.takes("list_my_agents", "name", "sort", "order"):
        answer = kit.ann.list_my_agents(name="AGENT 3")
        assert answer.ids == [made["Agent 3"]]
        metadata = answer.body["metadata"]
        assert metadata["available_filters"] and metadata["sortable_fields"]
        names = [row["name"] for row in kit.ann.list_my_agents(sort="name", order="asc").data]
        assert names == sorted(made)
        names = [row["name"] for row in kit.ann.list_my_agents(sort="name", order="desc").data]
        assert names == sorted(made, reverse=True)
        assert len(kit.ann.list_my_agents(is_external=True).data) == 5
        assert not kit.ann.list_my_agents(is_external=False).data
        kit.everything(kit.ann, "list_my_agents", sort="name", order="asc")
        listed = kit.ann.list_my_agents(listed_in_directory=True).ids
        assert set(listed) | set(kit.ann.list_my_agents(listed_in_directory=False).ids) == set(made.values())


def delete_my_agent(kit):
    agent, other = kit.agent(kit.ann, "Gone Bot"), kit.agent(kit.ann, "Busy Bot")
    kit.refused(404, "not_found", kit.bob.delete_my_agent, id=agent.id)
    made = kit.ann.delete_my_agent(id=agent.id)
    assert (made.data["id"], made.data["name"]) == (agent.id, "Gone Bot")
    kit.refused(401, "unauthorized", agent.get_agent_me)
    kit.refused(404, "not_found", kit.ann.delete_my_agent, id=agent.id)
    room = kit.room(kit.ann, other)
    message = tell(kit.ann, room, other).data["id"]
    other.mark_agent_message_processing(chat_id=room, id=message)
    assert kit.ann.delete_my_agent(id=other.id, force=True).data["executions_deleted"] >= 0
    assert not kit.ann.list_my_agents().data


def get_my_profile(kit):
    profile = kit.ann.get_my_profile().data
    assert (profile["id"], profile["handle"], profile["email"]) == (kit.ann.id, kit.ann.handle, kit.ann.email)
    assert (profile["first_name"], profile["last_name"]) == ("Ann", "Doe")
    kit.refused(401, "unauthorized", kit.caller("thnv_u_1_none").get_my_profile)
    kit.refused(403, "forbidden", kit.agent(kit.ann).get_my_profile)


def update_my_profile(kit):
    made = kit.ann.update_my_profile(user={"first_name": "Anna", "last_name": "Dahl"})
    assert (made.data["first_name"], made.data["last_name"]) == ("Anna", "Dahl")
    assert kit.ann.update_my_profile(user={"first_name": "Anne"}).data["last_name"] == "Dahl"
    assert kit.ann.get_my_profile().data["first_name"] == "Anne"


def list_my_peers(kit):
    agents = {kit.agent(kit.ann, f"Peer {n}").id for n in range(3)}
    stranger = kit.agent(kit.bob, "Stranger")
    assert set(kit.ann.list_my_peers(page_size=100).ids) == agents
    befriend(kit)
    peers = {peer["id"]: peer for peer in kit.ann.list_my_peers(page_size=100).data}
    assert set(peers) == agents | {kit.bob.id} and stranger.id not in peers
    assert (peers[kit.bob.id]["source"], peers[kit.bob.id]["is_contact"]) == ("contact", True)
    assert kit.everything(kit.ann, "list_my_peers")[-1] == kit.bob.id
    assert kit.ann.list_my_peers(type="User").ids == [kit.bob.id]
    assert set(kit.ann.list_my_peers(type="Agent").ids) == agents
    room, one = kit.room(kit.ann), min(agents)
    kit.ann.add_my_chat_participant(chat_id=room, participant={"participant_id": one})
    assert set(kit.ann.list_my_peers(not_in_chat=room).ids) == agents - {one} | {kit.bob.id}


# --- rooms and messages of a user


def create_my_chat_room(kit):
    made = kit.ann.create_my_chat_room(chat={"title": "Plans"})
    assert made.status == 201 and made.data["title"] == "Plans"
    assert (made.data["type"], made.data["status"]) == ("direct", "active")
    kit.ann.create_my_chat_room(chat={})
    kit.refused(422, "validation_error", kit.ann.create_my_chat_room, chat={"title": "x" * 121})
    kit.refused(403, "forbidden", kit.agent(kit.ann).create_my_chat_room, chat={})


def get_my_chat_room(kit):
    ann, agent, room = cast(kit)
    assert ann.get_my_chat_room(id=room).data["title"] == "A room"
    tell(ann, room, agent)
    if kit.takes("get_my_chat_room", "include"):
        answer = ann.get_my_chat_room(id=room, include="message_counts")
        assert answer.data["message_counts"]["text"] == 1
    kit.refused(404, "not_found", kit.bob.get_my_chat_room, id=room)


def list_my_chats(kit):
    ann, agent, room = cast(kit)
    rooms = {room} | {kit.room(ann) for _ in range(4)}
    kit.room(kit.bob)
    assert set(kit.everything(ann, "list_my_chats")) == rooms
    if not kit.takes("list_my_chats", "include"):
        return
    oldest = ann.list_my_chats(sort_by="inserted_at", order="asc").ids
    assert oldest[0] == room and ann.list_my_chats(sort_by="inserted_at", order="desc").ids == oldest[::-1]
    assert set(kit.everything(ann, "list_my_chats", sort_by="updated_at", order="asc")) == rooms
    assert not ann.list_my_chats(status="archived").data and not ann.list_my_chats(type="task").data
    assert set(ann.list_my_chats(status="active", type="direct").ids) <= rooms
    sent, hidden = tell(ann, room, agent).data["id"], kit.room(agent)
    everything = ["agent_rooms", "participants", "last_message", "membership", "total_count"]
    answer = ann.list_my_chats(include=everything, limit=100)
    rows = {row["id"]: row for row in answer.data}
    assert set(rows) == rooms | {hidden} and answer.body["metadata"]["total_count"] == 6
    assert rows[hidden]["membership"] == "via_agent" and rows[hidden]["via_agent_ids"] == [agent.id]
    row = rows[room]
    assert (row["membership"], row["my_role"]) == ("participant", "owner")
    assert row["last_message"]["id"] == sent and row["participant_count"] == 2
    assert {one["id"] for one in row["participants"]} == {ann.id, agent.id}


def list_my_chat_messages(kit):
    ann, agent, room = cast(kit)
    sent = [tell(ann, room, agent, f"Number {n}").data["id"] for n in range(5)]
    event = {"content": "hm", "message_type": "thought"}
    thought = agent.create_agent_chat_event(chat_id=room, event=event).data["id"]
    newest = [thought, *sent[::-1]]
    everything = ann.list_my_chat_messages(chat_id=room, page_size=100).data
    assert [row["id"] for row in everything if row["message_type"] in ("text", "thought")] == newest
    assert kit.everything(ann, "list_my_chat_messages", chat_id=room, message_type="text") == newest[1:]
    assert ann.list_my_chat_messages(chat_id=room, message_type="thought").ids == [thought]
    later = ann.list_my_chat_messages(chat_id=room, since=parsed_time(everything[1]["inserted_at"])).ids
    assert later and set(later) <= set(newest)
    if kit.takes("list_my_chat_messages", "message_types", "exclude_message_types"):
        assert ann.list_my_chat_messages(chat_id=room, message_types=["text", "thought"]).ids == newest
        without = ann.list_my_chat_messages(chat_id=room, exclude_message_types=["thought", "system", "participant"])
        assert without.ids == newest[1:]
    if kit.takes("list_my_chat_messages", "around"):
        text = {"chat_id": room, "message_type": "text", "limit": 3}
        assert ann.list_my_chat_messages(**text, after=sent[1]).ids == sent[2:]
        assert ann.list_my_chat_messages(**text, before=sent[3]).ids == sent[2::-1]
        around = ann.list_my_chat_messages(**text, around=sent[2])
        assert around.ids == sent[3:0:-1]
        metadata = around.body["metadata"]
        assert metadata["has_older"] is True and metadata["has_newer"] is True
        two = {"chat_id": room, "after": sent[0], "before": sent[1]}
        kit.refused(422, "invalid_params", ann.list_my_chat_messages, **two)
        kit.refused(404, "not_found", ann.list_my_chat_messages, chat_id=room, after=NOBODY)
    kit.refused(404, "not_found", kit.bob.list_my_chat_messages, chat_id=room)


def parsed_time(text):
    return datetime.fromisoformat(text)


def send_my_chat_message(kit):
    ann, agent, room = cast(kit)
    made = tell(ann, room, agent, "Will it rain?")
    assert made.status == 201 and [one["id"] for one in made.data["recipients"]] == [agent.id]
    got = agent.get_agent_next_message(chat_id=room).data
    assert got["id"] == made.data["id"] and "Will it rain?" in got["content"]
    assert got["metadata"]["mentions"][0]["id"] == agent.id
    if kit.package.__name__ == "band_rest":  # the older client asks for an id in every mention
        message = {"content": "Hi", "mentions": [{"handle": f"{ann.handle}/nobody"}]}
        kit.refused(422, "handle_not_found", ann.send_my_chat_message, chat_id=room, message=message)
    message = {"content": "Hi", "mentions": [{"id": agent.id}]}
    kit.refused(404, "not_found", kit.bob.send_my_chat_message, chat_id=room, message=message)


def list_my_chat_participants(kit):
    ann, agent, room = cast(kit)
    rows = {row["id"]: row for row in ann.list_my_chat_participants(chat_id=room).data}
    assert set(rows) == {ann.id, agent.id} and rows[agent.id]["is_external"] is True
    assert ann.list_my_chat_participants(chat_id=room, participant_type="User").ids == [ann.id]
    assert ann.list_my_chat_participants(chat_id=room, participant_type="Agent").ids == [agent.id]
    if kit.takes("list_my_chat_participants", "cursor", "page"):
        assert set(kit.everything(ann, "list_my_chat_participants", size=1, chat_id=room)) == set(rows)


def add_my_chat_participant(kit):
    agent, room = kit.agent(kit.ann), kit.room(kit.ann)
    add = kit.ann.add_my_chat_participant
    made = add(chat_id=room, participant={"participant_id": agent.id, "role": "admin"})
    assert made.status == 201 and (made.data["id"], made.data["role"]) == (agent.id, "admin")
    kit.refused(409, "conflict", add, chat_id=room, participant={"participant_id": agent.id})
    kit.refused(404, "not_found", add, chat_id=room, participant={"participant_id": kit.bob.id})
    befriend(kit)
    assert add(chat_id=room, participant={"participant_id": kit.bob.id}).data["type"] == "User"
    assert kit.bob.get_my_chat_room(id=room).data["id"] == room


def remove_my_chat_participant(kit):
    ann, agent, room = cast(kit)
    assert ann.remove_my_chat_participant(chat_id=room, id=agent.id).data["id"] == agent.id
    kit.refused(404, "not_found", agent.get_agent_chat, id=room)
    remove = ann.remove_my_chat_participant
    kit.refused(403, "cannot_remove_sole_owner", remove, chat_id=room, id=ann.id)


# --- contacts of users


def ask(kit, message="Let us talk"):
    """A request from Ann to Bob, still open; its id."""
    request = {"recipient_handle": f"@{kit.bob.handle}", "message": message}
    return kit.ann.create_contact_request(contact_request=request)


def befriend(kit):
    kit.bob.approve_contact_request(id=ask(kit).data["id"])


def create_contact_request(kit):
    made = ask(kit)
    assert made.status == 201 and made.data["status"] == "pending" and made.data["message"] == "Let us talk"
    assert (made.data["requester_id"], made.data["recipient_id"]) == (kit.ann.id, kit.bob.id)
    assert made.data["recipient"]["handle"] == kit.bob.handle
    create = kit.ann.create_contact_request
    again = {"recipient_handle": kit.bob.handle}
    kit.refused(409, "conflict", create, contact_request=again)
    kit.refused(404, "not_found", create, contact_request={"recipient_handle": "nobody-at-all"})
    long = {"recipient_handle": kit.bob.handle, "message": "x" * 501}
    kit.refused(422, "validation_error", create, contact_request=long)


def approve_contact_request(kit):
    request = ask(kit).data["id"]
    kit.refused(404, "not_found", kit.user("eve").approve_contact_request, id=request)
    made = kit.bob.approve_contact_request(id=request)
    assert (made.data["id"], made.data["status"]) == (request, "approved")
    assert [row["contact_id"] for row in kit.ann.list_my_contacts().data] == [kit.bob.id]
    assert [row["contact_id"] for row in kit.bob.list_my_contacts().data] == [kit.ann.id]
    kit.refused(409, "conflict", kit.bob.approve_contact_request, id=request)


def reject_contact_request(kit):
    request = ask(kit).data["id"]
    assert kit.bob.reject_contact_request(id=request).data == {"id": request, "status": "rejected"}
    assert not kit.bob.list_my_contacts().data and not kit.bob.list_received_contact_requests().data
    kit.refused(409, "conflict", kit.bob.reject_contact_request, id=request)


def cancel_contact_request(kit):
    request = ask(kit).data["id"]
    assert kit.ann.cancel_contact_request(id=request).data == {"id": request, "status": "cancelled"}
    assert not kit.bob.list_received_contact_requests().data
    kit.refused(409, "conflict", kit.ann.cancel_contact_request, id=request)


def list_received_contact_requests(kit):
    made = []
    for number in range(3):
        friend = kit.user("friend")
        request = {"recipient_handle": kit.bob.handle, "message": f"Number {number}"}
        made.append(friend.create_contact_request(contact_request=request).data["id"])
    assert set(kit.everything(kit.bob, "list_received_contact_requests")) == set(made)
    kit.bob.reject_contact_request(id=made[0])
    assert set(kit.bob.list_received_contact_requests().ids) == set(made[1:])


def list_sent_contact_requests(kit):
    made = {}
    for status in ("pending", "approved", "rejected", "cancelled"):
        friend = kit.user("friend")
        request = kit.ann.create_contact_request(contact_request={"recipient_handle": friend.handle}).data["id"]
        made[status] = request
        if status == "approved":
            friend.approve_contact_request(id=request)
        elif status == "rejected":
            friend.reject_contact_request(id=request)
        elif status == "cancelled":
            kit.ann.cancel_contact_request(id=request)
    for status, request in made.items():
        assert kit.ann.list_sent_contact_requests(status=status).ids == [request]
    assert set(kit.ann.list_sent_contact_requests().ids) == set(made.values())
    assert set(kit.everything(kit.ann, "list_sent_contact_requests", status="all")) == set(made.values())


def list_my_contacts(kit):
    friends = {kit.user("friend") for _ in range(3)}
    for friend in friends:
        request = kit.ann.create_contact_request(contact_request={"recipient_handle": friend.handle})
        friend.approve_contact_request(id=request.data["id"])
    contacts = kit.ann.list_my_contacts(page=1, page_size=100).data
    assert {row["contact_id"]: row["user"]["handle"] for row in contacts} == {one.id: one.handle for one in friends}
    assert {row["status"] for row in contacts} == {"active"}
    assert set(kit.everything(kit.ann, "list_my_contacts")) == {row["id"] for row in contacts}


def remove_my_contact(kit):
    befriend(kit)
    assert kit.ann.remove_my_contact(handle=kit.bob.handle).data["status"] == "removed"
    assert not kit.ann.list_my_contacts().data and not kit.bob.list_my_contacts().data
    befriend(kit)
    contact = kit.ann.list_my_contacts().ids[0]
    assert kit.ann.remove_my_contact(contact_id=contact).data["status"] == "removed"
    kit.refused(404, "not_found", kit.ann.remove_my_contact, contact_id=contact)
    kit.refused(400, "bad_request", kit.ann.remove_my_contact)


def resolve_handle(kit):
    agent = kit.agent(kit.bob)
    assert kit.ann.resolve_handle(handle=f"@{kit.bob.handle.upper()}").data["type"] == "User"
    found = kit.ann.resolve_handle(handle=agent.handle).data
    # An agent outside the directory shows its name to contacts and to its own organization only.
    assert (found["name"], found["type"], found["handle"]) == (agent.handle, "Agent", agent.handle)
    kit.refused(404, "not_found", kit.ann.resolve_handle, handle="nobody-at-all")
    kit.refused(400, "validation_error", kit.ann.resolve_handle, handle="no handle/at/all")


# --- contacts of agents


def two_agents(kit):
    return kit.agent(kit.ann, "Asker"), kit.agent(kit.bob, "Asked")


def add_agent_contact(kit):
    asker, asked = two_agents(kit)
    made = asker.add_agent_contact(handle=asked.handle, message=None)
    assert made.status == 201 and made.data["status"] == "pending"
    kit.refused(409, "conflict", asker.add_agent_contact, handle=asked.handle)
    assert asked.add_agent_contact(handle=f"@{asker.handle}").data["status"] == "approved"
    assert [row["handle"] for row in asker.list_agent_contacts().data] == [asked.handle]
    kit.refused(404, "not_found", asker.add_agent_contact, handle="nobody-at-all")
    kit.refused(400, "bad_request", asker.add_agent_contact, handle="a/b/c d")


def list_agent_contacts(kit):
    asker, others = kit.agent(kit.ann, "Asker"), [kit.agent(kit.bob, f"Asked {n}") for n in range(3)]
    for other in others:
        asker.add_agent_contact(handle=other.handle, message="Hello")
        other.respond_to_agent_contact_request(action="approve", handle=asker.handle)
    contacts = asker.list_agent_contacts(page=1, page_size=100).data
    assert {row["handle"]: row["type"] for row in contacts} == {other.handle: "Agent" for other in others}
    assert set(kit.everything(asker, "list_agent_contacts")) == {row["id"] for row in contacts}


def remove_agent_contact(kit):
    asker, asked = two_agents(kit)
    for by in ("handle", "contact_id"):
        asker.add_agent_contact(handle=asked.handle)
        asked.add_agent_contact(handle=asker.handle)
        named = asked.handle if by == "handle" else asker.list_agent_contacts().ids[0]
        assert asker.remove_agent_contact(**{by: named}).data["status"] == "removed"
        assert not asker.list_agent_contacts().data and not asked.list_agent_contacts().data
    kit.refused(404, "not_found", asker.remove_agent_contact, handle=asked.handle)


def list_agent_contact_requests(kit):
    asker, asked = two_agents(kit)
    request = asker.add_agent_contact(handle=asked.handle, message="Hello").data["id"]
    got = asked.list_agent_contact_requests(page=1, page_size=100)
    (received,) = got.data["received"]
    assert (received["id"], received["from_handle"], received["message"]) == (request, asker.handle, "Hello")
    assert got.body["metadata"]["received"] == {"total": 1, "total_pages": 1} and not got.data["sent"]
    (sent,) = asker.list_agent_contact_requests().data["sent"]
    assert (sent["id"], sent["to_handle"], sent["status"]) == (request, asked.handle, "pending")
    asked.respond_to_agent_contact_request(action="reject", request_id=request)
    assert not asker.list_agent_contact_requests().data["sent"]
    for status in ("rejected", "all"):
        (sent,) = asker.list_agent_contact_requests(sent_status=status).data["sent"]
        assert (sent["id"], sent["status"]) == (request, "rejected")


def respond_to_agent_contact_request(kit):
    asker, asked = two_agents(kit)
    ends = {"reject": (asked, "rejected"), "cancel": (asker, "cancelled"), "approve": (asked, "approved")}
    for action, (who, status) in ends.items():
        request = asker.add_agent_contact(handle=asked.handle).data["id"]
        respond = who.respond_to_agent_contact_request
        assert respond(action=action, request_id=request).data == {"id": request, "status": status}
        kit.refused(409, "conflict", respond, action=action, request_id=request)
    kit.refused(404, "not_found", respond, action="approve", request_id=NOBODY)


# --- memories


def remembered(agent, content="It rained", **more):
    memory = {
        "content": content,
        "system": "long_term",
        "type": "semantic",
        "segment": "user",
        "thought": "Worth keeping",
        "scope": "subject",
        "subject_id": agent.owner.id,
        "metadata": {"tags": ["weather"], "references": ["https://example.org"]},
    }
    memory = {key: value for key, value in (memory | more).items() if value is not None}
    return agent.create_agent_memory(memory=memory)


def create_agent_memory(kit):
    agent = kit.agent(kit.ann)
    made = remembered(agent)
    assert made.status == 201
    expected = {
        "content": "It rained",
        "system": "long_term",
        "type": "semantic",
        "segment": "user",
        "thought": "Worth keeping",
        "scope": "subject",
        "status": "active",
        "subject_id": kit.ann.id,
        "source_agent_id": agent.id,
    }
    assert {key: made.data[key] for key in expected} == expected
    assert made.data["metadata"] == {"tags": ["weather"], "references": ["https://example.org"]}
    assert remembered(agent, scope=None, subject_id=None, segment="agent").data["scope"] == "agent"
    error = kit.refused(
        422, "validation_error", agent.create_agent_memory, memory=made_of(type="iconic", scope="agent")
    )
    assert error["details"]


def made_of(**more):
    return {"content": "x", "system": "long_term", "type": "semantic", "segment": "user", "thought": "y"} | more


def get_agent_memory(kit):
    agent = kit.agent(kit.ann)
    memory = remembered(agent).data
    assert agent.get_agent_memory(id=memory["id"]).data == memory
    kit.refused(404, "not_found", kit.agent(kit.bob).get_agent_memory, id=memory["id"])


def list_agent_memories(kit):
    agent = kit.agent(kit.ann)
    rain = [remembered(agent, f"Rain {n}").data["id"] for n in range(3)]
    private = {"scope": "agent", "subject_id": None}
    sun = remembered(agent, "Sun", segment="tool", system="sensory", type="iconic", **private).data["id"]
    assert set(kit.everything(agent, "list_agent_memories")) == {*rain, sun} if kit.takes(
        "list_agent_memories", "page"
    ) else set(agent.list_agent_memories(page_size=50).ids) == {*rain, sun}
    filters = {
        "content_query": ("rAIN", rain),
        "segment": ("tool", [sun]),
        "system": ("sensory", [sun]),
        "type": ("iconic", [sun]),
        "subject_id": (kit.ann.id, rain),
        "scope": ("subject", rain),
        "status": ("all", [*rain, sun]),
    }
    for name, (value, ids) in filters.items():
        assert set(agent.list_agent_memories(**{name: value}).ids) == set(ids), name
    assert not agent.list_agent_memories(status="archived").data
    if kit.takes("list_agent_memories", "memory_scope"):
        assert set(agent.list_agent_memories(memory_scope="me").ids) == {*rain, sun}
        assert not agent.list_agent_memories(memory_scope="org").data
    body = agent.list_agent_memories(page_size=2).body
    assert body["meta"] == body["metadata"]
    assert not kit.agent(kit.bob).list_agent_memories().data


def supersede_agent_memory(kit):
    ended_by_agent(kit, "supersede_agent_memory", "superseded")


def archive_agent_memory(kit):
    ended_by_agent(kit, "archive_agent_memory", "archived")


def ended_by_agent(kit, operation, status):
    agent, sibling = kit.agent(kit.ann), kit.agent(kit.ann, "Sibling")
    memory = remembered(agent).data["id"]
    kit.refused(403, "forbidden", getattr(sibling, operation), id=memory)
    assert getattr(agent, operation)(id=memory).data["status"] == status
    assert not agent.list_agent_memories().data
    assert agent.list_agent_memories(status=status).ids == [memory]
    kit.refused(404, "not_found", getattr(kit.agent(kit.bob), operation), id=memory)


def get_user_memory(kit):
    memory = remembered(kit.agent(kit.ann)).data
    seen = kit.ann.get_user_memory(id=memory["id"]).data
    assert (seen["content"], seen["subject_id"]) == ("It rained", kit.ann.id)
    kit.refused(404, "not_found", kit.ann.get_user_memory, id=NOBODY)


def list_user_memories(kit):
    agent = kit.agent(kit.ann)
    made = [remembered(agent, f"Rain {n}").data["id"] for n in range(3)]
    if kit.takes("list_user_memories", "page"):
        assert set(kit.everything(kit.ann, "list_user_memories")) == set(made)
    assert set(kit.ann.list_user_memories(page_size=50).ids) == set(made)
    for filters in ({"scope": "about_me"}, {"system": "long_term"}, {"type": "semantic"}, {"segment": "user"}):
        assert set(kit.ann.list_user_memories(**filters).ids) == set(made), filters
    assert kit.ann.list_user_memories(content_query="rain 1").ids == [made[1]]
    assert not kit.ann.list_user_memories(status="archived").data
    if kit.takes("list_user_memories", "source_agent_id"):
        assert set(kit.ann.list_user_memories(source_agent_id=agent.id).ids) == set(made)
    assert not kit.bob.list_user_memories().data


def supersede_user_memory(kit):
    ended_by_user(kit, "supersede_user_memory", "superseded")


def archive_user_memory(kit):
    ended_by_user(kit, "archive_user_memory", "archived")


def ended_by_user(kit, operation, status):
    memory = remembered(kit.agent(kit.ann)).data["id"]
    assert getattr(kit.ann, operation)(id=memory).data["status"] == status
    assert kit.ann.get_user_memory(id=memory).data["status"] == status
    assert not kit.ann.list_user_memories().data


def restore_user_memory(kit):
    memory = remembered(kit.agent(kit.ann)).data["id"]
    kit.refused(422, "validation_error", kit.ann.restore_user_memory, id=memory)
    kit.ann.archive_user_memory(id=memory)
    assert kit.ann.restore_user_memory(id=memory).data["status"] == "active"
    assert kit.ann.list_user_memories().ids == [memory]


def delete_user_memory(kit):
    memory = remembered(kit.agent(kit.ann)).data["id"]
    answer = kit.ann.delete_user_memory(id=memory)
    assert answer.status == 204 and answer.parsed is None
    kit.refused(404, "not_found", kit.ann.get_user_memory, id=memory)


# --- the server itself, in thenvoi-client-rest


def get_version(kit):
    body = kit.ann.get_version().body
    assert all(isinstance(body[field], str) for field in ("version", "commit", "built_at"))


def health_check(kit):
    body = kit.ann.health_check().body
    assert body["status"] and body["version"] and body["services"]["database"]["healthy"] is True


def authentication(kit):
    body = kit.ann.authentication().body
    assert all(body[field] for field in ("status", "message", "auth_type", "api_version"))
    kit.refused(401, "unauthorized", kit.caller("thnv_u_1_none").authentication)
