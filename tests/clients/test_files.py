"""The file tools of band-sdk 6.0.1, called by running agents."""

import base64
import hashlib

from harness import Room, wait_for

PICTURE = base64.b64decode("R0lGODlhAQABAIAAAAUEBAAAACwAAAAAAQABAAACAkQBADs=")


def two_agents(world):
    """A room with two agents that know each other's handles."""
    names = ("Ann's Bot", "Ben's Bot")
    credentials = [world.human.register_agent(name) for name in names]
    room = world.human.open_room(credentials[0].agent_id)
    world.human.post(
        f"/chats/{room.id}/participants", {"participant": {"participant_id": credentials[1].agent_id}}
    )
    rows = world.human.http.get("/agents").json()["data"]
    handles = {row["id"]: row["handle"] for row in rows}
    person = world.human.http.get("/profile").json()["data"]["handle"]
    for mine, other in (credentials, reversed(credentials)):
        settings = {"PEER": handles[other.agent_id], "PERSON": person}
        world.agent(mine, script="file_agent.py", settings=settings).start()
    return room, credentials


def ask(room: Room, credentials, content, files=()):
    mentions = [{"id": credentials.agent_id}]
    message = {"content": content, "mentions": mentions, "attachment_ids": [file["id"] for file in files]}
    return room.human.post(f"/chats/{room.id}/messages", {"message": message})


def told(room: Room, text):
    def said():
        return [one for one in room.read() if one["message_type"] == "text" and text in one["content"]]

    return wait_for(f"an agent says {text!r}", said, within=60, last_seen=room.read)[0]


def test_two_agents_share_files_and_read_them(world):
    room, (ann, ben) = two_agents(world)
    ask(room, ann, "Please share your notes.")
    answer = told(room, "Answer to: ")
    assert answer["sender_id"] == ann.agent_id
    assert answer["content"].endswith(
        "Read Ben's Bot notes.txt (text/plain): Answer to: Written by the one who was asked: ü"
    )

    # Both files are in the room, as messages with the caption that the client makes.
    shown = {one["sender_id"]: one for one in room.read() if one["attachments"]}
    assert shown.keys() == {ann.agent_id, ben.agent_id}
    for credentials, name in ((ann, "Ann's Bot notes.txt"), (ben, "Ben's Bot notes.txt")):
        (file,) = shown[credentials.agent_id]["attachments"]
        assert (file["name"], file["content_type"], file["expires_at"]) == (name, "text/plain", None)
        assert f"Shared a file: {name}" in shown[credentials.agent_id]["content"]
        content = world.human.http.get(f"/chats/{room.id}/files/{file['id']}").content
        assert hashlib.sha256(content).hexdigest() == file["sha256"]

    # A picture of a person reaches the model of an agent.
    digest = hashlib.sha256(PICTURE).hexdigest()
    headers = {"x-file-name": "dot.gif", "x-file-sha256": digest}
    uploaded = world.human.http.put(f"/chats/{room.id}/files", content=PICTURE, headers=headers)
    assert uploaded.status_code == 201, uploaded.text
    ask(room, ben, "What is this?", [uploaded.json()["data"]])
    assert told(room, f"Saw {digest}")["sender_id"] == ben.agent_id


def test_without_files_the_tools_are_not_offered(world):
    world.server.restart_with(PARLANCE_MAX_FILE_BYTES="0")
    room, (ann, _) = two_agents(world)
    ask(room, ann, "Please share your notes.")
    assert told(room, "I have 0 of the file tools.")["sender_id"] == ann.agent_id
