"""Memories of agents, and what users see of them."""

from .scene import NOBODY


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
