"""The MCP server of Parlance, used with the published clients `mcp` and `fastmcp`."""

import asyncio
import json

import fastmcp
import httpx2
import mcp
import pytest
from fastmcp.client.transports import StreamableHttpTransport
from mcp.client.streamable_http import streamable_http_client

TIME_LIMIT = 60

# With `initialize` (2025-11-25), and with metadata in every request.
REVISIONS = {"2025-11-25": "legacy", "2026-07-28": "2026-07-28"}


class Scene:
    """An agent in a room with a person."""

    def __init__(self, world):
        self.url = world.server.url + "/mcp"
        self.human = world.human
        self.agent = self.human.register_agent("Scribe")
        self.room = self.human.open_room(self.agent.agent_id).id
        self.keys = {"agent": self.agent.api_key, "human": self.human.http.headers["X-API-Key"]}

    def say(self, text):
        body = {"message": {"content": text, "mentions": [{"id": self.agent.agent_id}]}}
        return self.human.post(f"/chats/{self.room}/messages", body)["id"]


@pytest.fixture
def scene(world):
    return Scene(world)


def run(steps):
    return asyncio.run(asyncio.wait_for(steps, TIME_LIMIT))


def caller(client):
    """Calls a tool, which must succeed; what it answers."""

    async def call(name, **arguments):
        result = await client.call_tool(name, arguments)
        shown = result.structured_content
        assert json.loads(result.content[0].text) == shown
        return shown

    return call


async def answer(call, room, message):
    """What an agent does with a message."""
    claimed = await call("inbox_next")
    assert (claimed["message"]["id"], claimed["attempt"]) == (message, 1)
    sent = await call("reply", room=room, message=message, text="42")
    ended = await call("finish", room=room, message=message)
    assert ended["state"] == "processed"
    assert (await call("inbox_next"))["message"] is None
    return sent["sent"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_an_agent_works_with_the_client_mcp(scene, revision):
    message = scene.say("What is 6 x 7?")

    async def steps():
        async with httpx2.AsyncClient(headers={"X-API-Key": scene.keys["agent"]}, trust_env=False) as http:
            transport = streamable_http_client(scene.url, http_client=http)
            async with mcp.Client(transport, mode=REVISIONS[revision]) as client:
                assert client.protocol_version == revision
                names = [tool.name for tool in (await client.list_tools()).tools]
                assert names[:2] == ["inbox_next", "reply"]
                sent = await answer(caller(client), scene.room, message)
                refused = await client.call_tool("finish", {"room": scene.room, "message": message})
                assert refused.is_error and "no active processing attempt" in refused.content[0].text
                resources = (await client.list_resources()).resources
                assert [resource.uri for resource in resources] == [f"parlance://room/{scene.room}"]
                return sent, await client.read_resource(resources[0].uri)

    sent, resource = run(steps())
    shown = json.loads(resource.contents[0].text)
    assert [entry["id"] for entry in shown["messages"]] == [message, sent]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_person_and_an_agent_work_with_the_client_fastmcp(scene, revision):
    def client(who):
        # Some hosts support only the Authorization header.
        headers = {"Authorization": f"Bearer {scene.keys[who]}"}
        return fastmcp.Client(StreamableHttpTransport(scene.url, headers=headers), mode=REVISIONS[revision])

    async def steps():
        async with client("human") as human, client("agent") as agent:
            call = caller(human)
            room = (await call("rooms"))["rooms"][0]
            assert room["id"] == scene.room
            written = await call("write", room=room["id"], text="What is 6 x 7?", to=[scene.agent.agent_id])
            sent = await answer(caller(agent), room["id"], written["sent"])
            read = await call("read_room", room=room["id"])
            assert [entry["id"] for entry in read["messages"]] == [written["sent"], sent]
            assert (await call("work"))["work"] == []
            with pytest.raises(fastmcp.exceptions.ToolError, match="Address participants"):
                await human.call_tool("write", {"room": room["id"], "text": "x", "to": ["nobody"]})

    run(steps())


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_wrong_key_is_refused(scene, revision):
    async def steps():
        headers = {"X-API-Key": "thnv_a_1_wrong"}
        transport = StreamableHttpTransport(scene.url, headers=headers)
        async with fastmcp.Client(transport, mode=REVISIONS[revision]) as client:
            await client.list_tools()

    with pytest.raises(mcp.MCPError, match="error response"):
        run(steps())
