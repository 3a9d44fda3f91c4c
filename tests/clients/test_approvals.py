"""The approvals of the published adapters for Codex, Claude, and OpenCode, which the server lists and answers.

What writes the requests and reads the replies is the code of the adapters themselves. Behind them stands a stub: no
model decides to call a tool, the test does. What the adapters import besides, and this path does not use, is a stub
as well.
"""

import asyncio
import importlib.abc
import importlib.machinery
import re
import sys
import types
import uuid
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock

import httpx
import pytest
from band.runtime.formatters import replace_uuid_mentions
from harness import wait_for


STUBBED = ("band.integrations.mcp", "mcp")


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """What only comes with extras of the SDK, and the server of tools that is made of it."""

    def find_spec(self, name, path=None, target=None):
        if any(name == stubbed or name.startswith(f"{stubbed}.") for stubbed in STUBBED):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        def attribute(name):
            if name.startswith("__"):
                raise AttributeError(name)
            return MagicMock(name=name)

        module = types.ModuleType(spec.name)
        module.__getattr__ = attribute
        return module

    def exec_module(self, module):
        pass


@pytest.fixture(autouse=True, scope="module")
def stubs():
    finder = Stubs()
    sys.meta_path.insert(0, finder)
    yield
    sys.meta_path.remove(finder)


class Room:
    """A room with an agent, and the part of the SDK's tools that the adapters post with."""

    def __init__(self, world):
        self.world = world
        self.credentials = world.human.register_agent(f"Coder {uuid.uuid4().hex[:8]}")
        self.room = world.human.open_room(self.credentials.agent_id)
        self.id = self.room.id
        participants = world.human.http.get(f"/chats/{self.id}/participants").json()["data"]
        self.participants = participants
        self.human = next(one["id"] for one in participants if one["type"] == "User")
        self.posted = asyncio.Event()
        self.turn = SimpleNamespace(detach=lambda: None, settle=lambda: None)
        self.agent = httpx.Client(
            base_url=f"{world.server.url}/api/v1/agent/chats/{self.id}",
            headers={"X-API-Key": self.credentials.api_key},
            trust_env=False,
        )

    async def send_notice(self, content, mentions=None):
        body = {"content": content, "mentions": [{"id": self.human}]}
        answer = self.agent.post("/messages", json={"message": body})
        assert answer.status_code == 201, answer.text
        self.posted.set()

    async def send_event(self, content, message_type):
        event = {"content": content, "message_type": message_type}
        answer = self.agent.post("/events", json={"event": event})
        assert answer.status_code == 201, answer.text

    def items(self, state="open"):
        return self.world.human.http.get("/attention", params={"state": state}).json()["data"]

    def answer(self, item, decision):
        body = {"answer": {"decision": decision}}
        answer = self.world.human.http.post(f"/attention/{item['id']}/answer", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def next_text(self):
        """The next text for the agent, as the SDK hands it to an adapter."""
        message = self.agent.get("/messages/next").json()["data"]
        for step in ("processing", "processed"):
            assert self.agent.post(f"/messages/{message['id']}/{step}").status_code == 200
        return replace_uuid_mentions(message["content"], self.participants)

    async def requested(self, task):
        """The item of the request that the task has posted."""
        posted = asyncio.create_task(self.posted.wait())
        await asyncio.wait([task, posted], return_when=asyncio.FIRST_COMPLETED)
        assert not task.done(), task
        (item,) = self.items()
        assert item["kind"] == "approval" and item["blocking"] and item["expires_at"], item
        return item


class Codex:
    decisions = {"approve": "accept", "approve_session": "acceptForSession", "decline": "decline"}

    def __init__(self, room, wait=300.0):
        from band.adapters.codex import CodexAdapter, CodexAdapterConfig

        self.room = room
        self.adapter = CodexAdapter(CodexAdapterConfig(approval_wait_timeout_s=wait))
        self.adapter._release_turn = lambda *_: None
        self.message = SimpleNamespace(sender_id=room.human, sender_name="Human", sender_type="User")

    async def ask(self):
        params = {"command": "rm -rf build", "itemId": "item-1"}
        method = "item/commandExecution/requestApproval"
        return await self.adapter._resolve_manual_approval(
            tools=self.room,
            msg=self.message,
            room_id=self.room.id,
            event=SimpleNamespace(id=7, method=method, params=params),
            summary=self.adapter._approval_summary(method, params),
            params=params,
        )

    async def hear(self, text):
        command, args = self.adapter._extract_local_command(text)
        await self.adapter._handle_approval_command(
            tools=self.room, msg=self.message, room_id=self.room.id, command=command, args=args
        )

    def decided(self, result):
        return result


class Claude:
    decisions = {"approve": "PermissionResultAllow", "decline": "PermissionResultDeny"}

    def __init__(self, room, wait=300.0):
        from band.adapters import claude_sdk

        # The SDK of Claude is not installed; the results of a decision are all that this path takes from it.
        claude_sdk._CLAUDE_SDK_AVAILABLE = True
        for name in ("PermissionResultAllow", "PermissionResultDeny"):
            made = type(name, (), {"__init__": lambda self, **_: None})
            setattr(claude_sdk, name, made)
        options = claude_sdk.ClaudeApprovalOptions(mode="manual", wait_timeout_s=wait)
        self.room = room
        self.adapter = claude_sdk.ClaudeSDKAdapter(claude_sdk.ClaudeSDKAdapterConfig(approvals=options))
        self.adapter._room_tools[room.id] = room
        self.adapter._release_turn = lambda *_: None

    async def ask(self):
        return await self.adapter._resolve_manual_approval(
            self.room.id,
            "Bash",
            {"command": "rm -rf build"},
            "Bash: `rm -rf build`",
            "use-1",
            requester={"id": self.room.human, "name": "Human"},
        )

    async def hear(self, text):
        command, args = self.adapter._extract_command(text)
        sender = {"id": self.room.human, "name": "Human"}
        await self.adapter._handle_approval_command(self.room, self.room.id, command, args, sender)

    def decided(self, result):
        return type(result).__name__


class OpenCode:
    decisions = {"approve": "once", "approve_session": "always", "decline": "reject"}

    def __init__(self, room, wait=300.0):
        from band.adapters.opencode import approvals
        from band.adapters.opencode.config import OpencodeAdapterConfig

        self.room, self.replied = room, asyncio.Future()
        client = MagicMock()
        client.reply_permission = AsyncMock(side_effect=self.reply)
        ports = approvals.ApprovalPorts(
            room_id=room.id,
            client=lambda: client,
            tools=lambda: room,
            turn_mentions=lambda: [{"id": room.human}],
            release_turn_wait=lambda: None,
            fail_turn=lambda _: None,
            abort_session=AsyncMock(),
            is_own_band_tool=lambda _: False,
        )
        config = OpencodeAdapterConfig(approval_mode="manual", approval_wait_timeout_s=wait)
        self.approvals = approvals.RoomApprovals(config, ports)

    async def reply(self, *_, **given):
        if not self.replied.done():
            self.replied.set_result(given["reply"])

    async def ask(self):
        from band.integrations.opencode import OpencodePermissionRequest

        request = OpencodePermissionRequest.model_construct(
            id="per_1", session_id="ses_1", permission="bash", patterns=["rm -rf build"]
        )
        await self.approvals.on_permission_asked(request)
        return await self.replied

    async def hear(self, text):
        assert await self.approvals.try_handle_reply(text, self.room.human)

    def decided(self, result):
        return result


ADAPTERS = [Codex, Claude, OpenCode]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_answer_is_what_the_adapter_parses(world, adapter):
    async def decide(decision, expected):
        room = Room(world)
        asking = adapter(room)
        task = asyncio.create_task(asking.ask())
        item = await room.requested(task)
        assert decision in item["answers"] and "rm -rf build" in item["summary"], item
        answered = room.answer(item, decision)
        await asking.hear(room.next_text())
        assert asking.decided(await asyncio.wait_for(task, 10)) == expected
        assert answered["outcome"] == "answered" and answered["answered_by"], answered
        assert room.items() == []

    for decision, expected in adapter.decisions.items():
        asyncio.run(decide(decision, expected))


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_reply_that_is_typed_in_the_room_answers_too(world, adapter):
    async def type_it():
        room = Room(world)
        asking = adapter(room)
        task = asyncio.create_task(asking.ask())
        item = await room.requested(task)
        reply = re.search(r"`((?:/decline|reject) [^`]+)`", item["summary"])[1]
        world.human.post(
            f"/chats/{room.id}/messages",
            {"message": {"content": reply, "mentions": [{"id": room.credentials.agent_id}]}},
        )
        await asking.hear(room.next_text())
        assert asking.decided(await asyncio.wait_for(task, 10)) == adapter.decisions["decline"]
        (ended,) = room.items("answered")
        assert ended["id"] == item["id"] and ended["answer_id"], ended

    asyncio.run(type_it())


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_request_that_timed_out_has_expired(world, adapter):
    async def wait():
        room = Room(world)
        task = asyncio.create_task(adapter(room, wait=0.5).ask())
        item = await room.requested(task)
        await asyncio.wait_for(task, 10)
        expired = wait_for("it is listed as expired", lambda: room.items("expired"))
        assert [one["id"] for one in expired] == [item["id"]] and room.items() == []

    asyncio.run(wait())
