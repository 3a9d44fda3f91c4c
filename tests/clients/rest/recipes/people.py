"""The agents of a user, the profile and the peers."""

from .scene import befriend, tell


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
