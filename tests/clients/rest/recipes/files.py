"""Files of rooms: what one agent uploads, another reads."""

import hashlib

from .scene import cast

CONTENT = b"# Notes\n" + bytes(range(256)) * 1000


def upload(kit, agent, room, content=CONTENT, name="notes.bin"):
    headers = {"x-file-name": name, "x-file-sha256": hashlib.sha256(content).hexdigest()}
    return agent.upload_agent_chat_file(chat_id=room, request=content, headers=headers)


def upload_agent_chat_file(kit):
    _, agent, room = cast(kit)
    first = upload(kit, agent, room)
    assert (first.status, first.data["name"], first.data["bytes"]) == (201, "notes.bin", len(CONTENT))
    again = upload(kit, agent, room)
    assert (again.status, again.data["id"]) == (200, first.data["id"]), "the same bytes are the same file"


def download_agent_chat_file(kit):
    _, agent, room = cast(kit)
    file = upload(kit, agent, room).data["id"]
    reader = kit.agent(kit.ann, "Reader")
    kit.ann.add_my_chat_participant(chat_id=room, participant={"participant_id": reader.id})
    assert reader.download_agent_chat_file(chat_id=room, id=file).parsed == CONTENT
    part = reader.download_agent_chat_file(chat_id=room, id=file, range="bytes=2-6")
    assert (part.status, part.parsed) == (206, CONTENT[2:7])
