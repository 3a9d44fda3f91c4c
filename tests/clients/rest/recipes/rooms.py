"""Rooms and messages of a user."""

from datetime import datetime

import httpx
from harness import wait_for

from .scene import NOBODY, befriend, cast, tell


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
    an_event_of_the_server(kit, ann, agent)


def an_event_of_the_server(kit, ann, agent):
    """Clients read a message with a deadline, its room, and the event after it."""
    room = kit.room(ann, agent)
    patch = {"json": {"chat": {"respond_within": 1}}, "headers": {"X-API-Key": ann.key}}
    assert httpx.patch(f"{kit.url}/api/v1/me/chats/{room}", **patch, trust_env=False).status_code == 200
    asked = tell(ann, room, agent).data
    assert agent.get_agent_next_message(chat_id=room).data["respond_by"] == asked["respond_by"]
    assert ann.get_my_chat_room(id=room).data["respond_within"] == 1
    events = {"chat_id": room, "message_type": "attention"}
    (event,) = wait_for("the event of a missed deadline", lambda: ann.list_my_chat_messages(**events).data)
    assert event["metadata"]["message_id"] == asked["id"] and event["sender_id"] == ann.id
    assert len(ann.list_my_chat_messages(chat_id=room).ids) == 2


def parsed_time(text):
    return datetime.fromisoformat(text)


def send_my_chat_message(kit):
    ann, agent, room = cast(kit)
    made = tell(ann, room, agent, "Will it rain?")
    (recipient,) = made.data["recipients"]
    assert made.status == 201 and recipient["id"] == agent.id
    state = {"connected": False, "status": "new", "stopped": False, "paused": False}
    assert {member: recipient[member] for member in state} == state
    got = agent.get_agent_next_message(chat_id=room).data
    assert got["id"] == made.data["id"] and "Will it rain?" in got["content"]
    assert got["metadata"]["mentions"][0]["id"] == agent.id and "delegation" not in got["metadata"]
    befriend(kit)
    shared, helper = kit.room(ann, kit.bob), kit.agent(kit.bob)
    kit.bob.add_my_chat_participant(chat_id=shared, participant={"participant_id": helper.id})
    asked = tell(ann, shared, helper).data["id"]
    envelope = helper.get_agent_next_message(chat_id=shared).data["metadata"]["delegation"]
    assert (envelope["version"], envelope["message_id"]) == (1, asked) and envelope["minted_at"]
    assert envelope["originator"] == {"uuid": ann.id, "handle": ann.handle, "display_name": "Ann Doe"}
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
