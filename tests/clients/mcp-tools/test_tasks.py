"""The task tools of band-mcp 2.2.7, called over MCP as a model's host calls them."""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

TIME_LIMIT = 60


def test_the_task_tools_of_the_mcp_server_keep_a_board(world):
    credentials = world.human.register_agent("Scribe")
    room = world.human.open_room(credentials.agent_id)
    asyncio.run(asyncio.wait_for(keep_a_board(world.server.url, room.id, credentials), TIME_LIMIT))
    counts = world.human.http.get(f"/chats/{room.id}").json()["data"]["task_counts"]
    assert counts["pending"] == 1 and sum(counts.values()) == 1


async def keep_a_board(url, room, credentials):
    async with tools(url, credentials) as call:
        goal = await call("band_set_board", chat_id=room, goal_title="Ship it")
        assert goal["goal_title"] == "Ship it"
        board = await call("band_get_board", chat_id=room, include="history")
        assert [entry["event"] for entry in board["history"]] == ["goal_set"]
        task = await call("band_create_task", chat_id=room, subject="Write the notes")
        assert (task["number"], task["assignments"]) == (1, [])
        task = await call("band_update_task", chat_id=room, id="#1", status="in_progress", active_form="Reading")
        assert task["assignments"][0]["assignee"]["id"] == credentials.agent_id
        await call("band_update_task", chat_id=room, id=task["id"], status="completed", state="archived")
        await call("band_create_task", chat_id=room, subject="Publish")
        await call("band_create_task", chat_id=room, subject="Publish on Monday", supersedes_id="2")
        listed = await call("band_list_tasks", chat_id=room, state="all", limit=2)
        assert [row["state"] for row in listed["data"]] == ["archived", "superseded"]
        cursor = listed["metadata"]["next_cursor"]
        listed = await call("band_list_tasks", chat_id=room, state="all", cursor=cursor)
        assert [row["subject"] for row in listed["data"]] == ["Publish on Monday"]
        history = await call("band_get_task_history", chat_id=room, id="1")
        events = [entry["event"] for entry in history["data"]]
        assert events == ["created", "status_changed", "status_changed", "archived"]
        shown = await call("band_get_task", chat_id=room, id="2")
        assert shown["state"] == "superseded"


@asynccontextmanager
async def tools(url, credentials):
    """Starts the MCP server; calls a tool, and gives what it answers."""
    server = StdioServerParameters(
        command=str(Path(sys.executable).with_name("band-mcp")),
        args=["--tools", "tasks"],
        env={
            "PATH": os.environ["PATH"],
            "NO_PROXY": "127.0.0.1",
            "BAND_AGENT_KEY": credentials.api_key,
            "BAND_BASE_URL": url,
        },
    )
    async with stdio_client(server) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
        await session.initialize()

        async def call(name, **arguments):
            answer = await session.call_tool(name, arguments)
            text = "".join(part.text for part in answer.content)
            assert not answer.isError, f"{name}: {text}"
            return json.loads(text)

        yield call
