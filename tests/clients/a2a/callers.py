"""The published clients, each with the same calls: what goes in and what comes out is the JSON of the protocol."""

import asyncio
import json
import queue
import subprocess
import threading
import uuid
from pathlib import Path

import httpx
from a2a.client import A2ACardResolver, AuthInterceptor, ClientConfig, ClientFactory, CredentialService
from a2a.types import a2a_pb2
from google.protobuf.json_format import MessageToDict, ParseDict

HERE = Path(__file__).parent
TIME_LIMIT = 60
ENDED = object()


class Refused(Exception):
    """The client reports an error: its kind, as the client names it."""

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message


class Values:
    """What a call yields, as it comes."""

    def __init__(self):
        self.queue = queue.Queue()

    def __iter__(self):
        return self

    def __next__(self):
        value = self.queue.get(timeout=TIME_LIMIT)
        if value is ENDED:
            self.queue.put(ENDED)
            raise StopIteration
        if isinstance(value, Refused):
            raise value
        return value


class Caller:
    """The calls of the protocol, made by a published client."""

    def call(self, name, request):
        raise NotImplementedError

    def one(self, name, request):
        (value,) = self.call(name, request)
        return value

    def card(self):
        return self.one("card", {})

    def send(self, text, **options):
        return self.one("sendMessage", message(text, **options))

    def stream(self, text, **options):
        return self.call("sendMessageStream", message(text, **options))

    def get(self, task, **options):
        return self.one("getTask", {"id": task, **options})

    def list(self, **options):
        return self.one("listTasks", options)

    def cancel(self, task):
        return self.one("cancelTask", {"id": task})

    def subscribe(self, task):
        return self.call("resubscribeTask", {"id": task})


def message(text, message_id=None, context=None, task=None, parts=None, **configuration):
    """The request that sends a message."""
    sent = {"messageId": message_id or uuid.uuid4().hex, "role": "ROLE_USER", "parts": parts or [{"text": text}]}
    if context:
        sent["contextId"] = context
    if task:
        sent["taskId"] = task
    return {"message": sent, "configuration": configuration}


class Key(CredentialService):
    """Gives the client a key for whatever the card asks for."""

    def __init__(self, key):
        self.key = key

    async def get_credentials(self, *_):
        return self.key


class Python(Caller):
    """`a2a-sdk` from PyPI."""

    REQUESTS = {
        "sendMessage": ("send_message", a2a_pb2.SendMessageRequest),
        "sendMessageStream": ("send_message", a2a_pb2.SendMessageRequest),
        "getTask": ("get_task", a2a_pb2.GetTaskRequest),
        "listTasks": ("list_tasks", a2a_pb2.ListTasksRequest),
        "cancelTask": ("cancel_task", a2a_pb2.CancelTaskRequest),
        "resubscribeTask": ("subscribe", a2a_pb2.SubscribeToTaskRequest),
        "createTaskPushNotificationConfig": (
            "create_task_push_notification_config",
            a2a_pb2.TaskPushNotificationConfig,
        ),
        "getTaskPushNotificationConfig": (
            "get_task_push_notification_config",
            a2a_pb2.GetTaskPushNotificationConfigRequest,
        ),
        "listTaskPushNotificationConfig": (
            "list_task_push_notification_configs",
            a2a_pb2.ListTaskPushNotificationConfigsRequest,
        ),
        "deleteTaskPushNotificationConfig": (
            "delete_task_push_notification_config",
            a2a_pb2.DeleteTaskPushNotificationConfigRequest,
        ),
    }

    def __init__(self, url, key, binding):
        self.url, self.key, self.binding, self.read = url, key, binding, None
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def call(self, name, request):
        values = Values()

        async def run():
            try:
                async for value in self._yielded(name, request):
                    values.queue.put({} if value is None else MessageToDict(value))
                values.queue.put(ENDED)
            except Exception as error:
                values.queue.put(Refused(type(error).__name__, str(error)))

        asyncio.run_coroutine_threadsafe(run(), self.loop)
        return values

    async def _yielded(self, name, request):
        async with httpx.AsyncClient(timeout=TIME_LIMIT, trust_env=False) as http:
            if name == "card" or self.read is None:
                self.read = await A2ACardResolver(http, self.url).get_agent_card()
            if name == "card":
                yield self.read
                return
            method, kind = self.REQUESTS[name]
            streaming = name != "sendMessage"
            bindings = [self.binding]
            config = ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=bindings)
            client = ClientFactory(config).create(self.read, [AuthInterceptor(Key(self.key))])
            given = getattr(client, method)(ParseDict(request, kind()))
            if not hasattr(given, "__aiter__"):
                yield await given
                return
            async for value in given:
                yield value.task if name == "sendMessage" else value

    def end(self):
        self.loop.call_soon_threadsafe(self.loop.stop)


class JavaScript(Caller):
    """`@a2a-js/sdk` from npm."""

    def __init__(self, url, key, binding):
        # This client resolves the address of the card as a browser resolves a link.
        command = ["node", HERE / "client.mjs", f"{url}/", key or "", binding]
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.calls = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.child.stdout:
            answer = json.loads(line)
            values = self.calls[answer["id"]].queue
            if "failed" in answer:
                values.put(Refused(answer["failed"], answer["message"]))
            else:
                values.put(ENDED if "ended" in answer else answer["value"])

    def call(self, name, request):
        number, values = len(self.calls), Values()
        self.calls[number] = values
        self.child.stdin.write(json.dumps({"id": number, "call": name, "request": request}) + "\n")
        self.child.stdin.flush()
        return values

    def end(self):
        self.child.kill()
        self.child.wait(timeout=10)


CLIENTS = {"python": Python, "javascript": JavaScript}
BINDINGS = ["JSONRPC", "HTTP+JSON"]
