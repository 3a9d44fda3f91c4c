"""The agent itself, its peers, its rooms and their participants."""

from .scene import NOBODY, cast


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
