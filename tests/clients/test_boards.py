"""The board tools of band-sdk 6.0.1, as an agent's model calls them."""

import asyncio

import httpx
from band.runtime.tools.agent import AgentTools
from band_rest import AsyncRestClient


def test_the_tools_of_the_sdk_share_a_board(world):
    ann, ben = (world.human.register_agent(name) for name in ("Ann's Bot", "Ben's Bot"))
    room = world.human.open_room(ann.agent_id)
    added = world.human.http.post(
        f"/chats/{room.id}/participants", json={"participant": {"participant_id": ben.agent_id}}
    )
    assert added.status_code == 201, added.text
    asyncio.run(share_a_board(world.server.url, room.id, ann, ben))
    row = world.human.http.get(f"/chats/{room.id}").json()["data"]
    assert row["task_counts"] == {
        "pending": 0, "in_progress": 0, "blocked": 1, "in_review": 0, "failed": 0, "completed": 0,
    }
    me = world.human.http.get("/agents").json()["data"]
    assert all(agent["feature_flags"]["ff_room_tasks"] is True for agent in me)


async def share_a_board(url, room, ann, ben):
    http = httpx.AsyncClient(trust_env=False, timeout=20)
    clients = (AsyncRestClient(api_key=who.api_key, base_url=url, httpx_client=http) for who in (ann, ben))
    one, two = (AgentTools(room, client) for client in clients)
    call = one.execute_tool_call
    goal = await call("band_set_board", {"goal_title": "Ship it"})
    assert goal["goal_title"] == "Ship it", goal
    assert (await two.get_board(include="history")).history[0].event == "goal_set"
    task = await call("band_create_task", {"subject": "Write the notes", "detail": "Since 1.4"})
    assert (task["number"], task["overall_status"]) == (1, "pending"), task
    await call("band_update_task", {"id": "#1", "status": "in_progress", "active_form": "Reading"})
    both = await two.update_task("1", status="completed", comment="My part is done.")
    assert [own.assignee.id for own in both.assignments] == [ann.agent_id, ben.agent_id]
    assert both.overall_status == "in_progress" and both.started_at is not None
    done = await one.update_task(task["id"], status="completed", state="archived")
    assert (done.state, done.overall_status) == ("archived", "completed")
    history = (await two.get_task_history("1")).data
    assert [entry.event for entry in history] == [
        "created", "status_changed", "status_changed", "commented", "status_changed", "archived",
    ]
    assert (await two.list_tasks()).data == []
    await two.create_task("Publish")
    await two.create_task("Publish on Monday", supersedes_id="#2")
    await two.update_task("3", status="blocked")
    listed = await one.list_tasks(state="all")
    assert [(row.number, row.state) for row in listed.data] == [(1, "archived"), (2, "superseded"), (3, "active")]
