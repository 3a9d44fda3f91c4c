"""Calls operations of a published REST client and judges each answer.

Nothing here knows one version: what a client has is found by looking at it. Every answer
is read twice, as the JSON that came over the wire and as the client's own model, and the
two have to say the same.
"""

import asyncio
import importlib.util
import inspect
import itertools
import json
import re
import subprocess
import typing
from dataclasses import dataclass
from functools import cached_property

import httpx
import pydantic

PACKAGES = ("band_rest", "thenvoi_rest")

# What a version of the client must find in `data`, present and not null.
AGENT_ME = "id name handle owner_uuid inserted_at updated_at feature_flags description"
PEER = "id handle name type source is_contact online"
ROOM = "id inserted_at updated_at"
MESSAGE = "id content message_type sender_id sender_type inserted_at"
SENT = "id success recipients chat_room_id"
STATUS = "id status attempt_number success chat_room_id"
EVENT = "id message_type success chat_room_id"
TASK = (
    "id chat_room_id number subject detail state overall_status assignments created_by inserted_at updated_at"
)
JOB = "id resource_type status total processed succeeded failed force results inserted_at"
MEMBER = "id type role status name handle"
AGENT_CONTACT = "id handle type inserted_at online"
CONTACT = "id contact_id contact_type status inserted_at online"
REQUEST = "id status requester_id recipient_id inserted_at"
MEMORY = "id content system type segment scope status inserted_at"
MY_AGENT = "id name is_external inserted_at updated_at"
USER = "id email handle role"
REQUIRED = {
    "get_agent_me": AGENT_ME,
    "list_agent_peers": PEER,
    "list_my_peers": PEER,
    "create_agent_chat": ROOM,
    "get_agent_chat": ROOM,
    "list_agent_chats": ROOM,
    "rename_agent_chat": ROOM,
    "create_my_chat_room": ROOM,
    "get_my_chat_room": ROOM,
    "list_my_chats": ROOM,
    "list_agent_messages": MESSAGE,
    "get_agent_next_message": MESSAGE,
    "get_agent_chat_context": MESSAGE,
    "list_my_chat_messages": MESSAGE,
    "create_agent_chat_message": SENT,
    "send_my_chat_message": SENT,
    "mark_agent_message_processing": STATUS,
    "mark_agent_message_processed": STATUS,
    "mark_agent_message_failed": STATUS,
    "create_agent_chat_event": EVENT,
    "list_chat_tasks": TASK,
    "create_chat_task": TASK,
    "get_chat_task": TASK,
    "update_chat_task": TASK,
    "get_chat_task_history": "event actor at payload",
    "get_chat_board": "chat_room_id",
    "put_chat_board": "chat_room_id",
    "upload_agent_chat_file": "id name bytes content_type",
    "bulk_delete_my_agents": JOB,
    "bulk_delete_my_chats": JOB,
    "show_my_bulk_deletion": JOB,
    "list_agent_chat_participants": MEMBER,
    "add_agent_chat_participant": MEMBER,
    "remove_agent_chat_participant": MEMBER,
    "list_my_chat_participants": MEMBER,
    "add_my_chat_participant": MEMBER,
    "remove_my_chat_participant": MEMBER,
    "list_agent_contacts": AGENT_CONTACT,
    "list_my_contacts": CONTACT,
    "create_contact_request": REQUEST,
    "list_received_contact_requests": REQUEST,
    "list_sent_contact_requests": REQUEST,
    "create_agent_memory": MEMORY,
    "get_agent_memory": MEMORY,
    "list_agent_memories": MEMORY,
    "supersede_agent_memory": MEMORY,
    "archive_agent_memory": MEMORY,
    "get_user_memory": MEMORY + " updated_at",
    "list_user_memories": MEMORY + " updated_at",
    "supersede_user_memory": MEMORY + " updated_at",
    "archive_user_memory": MEMORY + " updated_at",
    "restore_user_memory": MEMORY + " updated_at",
    "list_my_agents": MY_AGENT,
    "get_my_profile": USER,
    "update_my_profile": USER,
    "resolve_handle": "id name type handle",
    "delete_my_agent": "id name executions_deleted",
}


def load():
    """The one client package of this environment."""
    found = [name for name in PACKAGES if importlib.util.find_spec(name)]
    assert len(found) == 1, f"one client an environment, not {found}"
    return importlib.import_module(found[0])


def operations(package):
    """Every public operation, `name of the sub-client`.`name of the method`."""
    client = package.RestClient(api_key="none", base_url="http://127.0.0.1:1")
    found = {}
    for part in dir(client):
        if part.startswith("_"):
            continue
        for name in dir(getattr(client, part)):
            method = getattr(getattr(client, part), name)
            if not name.startswith("_") and name != "with_raw_response" and inspect.ismethod(method):
                assert name not in found, f"two operations are called {name}"
                found[name] = part
    return found


def source(package, name):
    """The client's own code of an operation."""
    client = package.RestClient(api_key="none", base_url="http://127.0.0.1:1")
    return inspect.getsource(getattr(getattr(client, operations(package)[name]).with_raw_response, name))


def route(package, name):
    """The method and the path of an operation, as its code names them."""
    code = source(package, name)
    path, method = re.search(r'\.(?:request|stream)\(\s*f?"([^"]*)"', code), re.search(r'method="(\w+)"', code)
    return method[1].lower(), shape(path[1])


def shape(path):
    """A path without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", path.strip("/"))


@dataclass(frozen=True)
class Answer:
    """One success: the status, the JSON, and what the client made of it."""

    status: int
    body: dict | None
    parsed: object

    @property
    def data(self):
        return self.body["data"]

    @property
    def ids(self):
        return [row["id"] for row in self.data]


def same(raw, parsed, at=""):
    """Fails where the client's model does not hold what came over the wire."""
    if isinstance(raw, dict):
        for key, value in raw.items():
            missing = object()
            held = parsed.get(key, missing) if isinstance(parsed, dict) else getattr(parsed, key, missing)
            if held is not missing and not callable(held):
                same(value, held, f"{at}/{key}")
    elif isinstance(raw, list):
        assert len(raw) == len(parsed), f"{at}: {len(parsed)} of {len(raw)} rows were parsed"
        for index, (row, held) in enumerate(zip(raw, parsed)):
            same(row, held, f"{at}/{index}")
    elif raw is None or isinstance(parsed, (str, bool, int, float)):
        assert raw == parsed, f"{at}: {raw!r} was parsed as {parsed!r}"
    else:
        assert parsed is not None, f"{at}: {raw!r} was lost"


def complete(name, data):
    """Fails where a field is missing without which some version of the client breaks."""
    fields = REQUIRED.get(name, "").split()
    for row in data if isinstance(data, list) else [data]:
        missing = [field for field in fields if row.get(field) is None]
        assert not missing, f"{name} answers without {missing}: {row}"


def envelope(response):
    """Every refusal has the same shape; without `request_id` no client can read it."""
    error = response.json()["error"]
    for field in ("code", "message", "request_id"):
        assert isinstance(error[field], str) and error[field], f"{field} of {error}"
    assert isinstance(error.get("details", {}), dict), f"details of {error}"
    # Published clients expect no details of this code.
    if response.status_code == 422 and error["code"] != "task_not_active":
        assert error.get("details"), f"a 422 without details: {error}"
    return error


class Caller:
    """One key, whose operations are attributes: `ann.list_my_chats(page=1)`."""

    def __init__(self, kit, key, **known):
        self.kit, self.key = kit, key
        self.__dict__.update(known)
        self.responses = responses = []
        if kit.asynchronous:
            http = httpx.AsyncClient(trust_env=False, timeout=20, event_hooks={"response": [_read_later(responses)]})
            kind = kit.package.AsyncRestClient
        else:
            http = httpx.Client(trust_env=False, timeout=20, event_hooks={"response": [_read_now(responses)]})
            kind = kit.package.RestClient
        self.http = http
        self.client = kind(api_key=key, base_url=kit.url, httpx_client=http)

    def close(self):
        if self.kit.asynchronous:
            self.kit.loop.run_until_complete(self.http.aclose())
        else:
            self.http.close()

    def __getattr__(self, name):
        if name.startswith("_") or name not in self.kit.operations:
            raise AttributeError(name)
        method = getattr(getattr(self.client, self.kit.operations[name]), name)

        def call(headers=None, **arguments):
            self.kit.called.add(name)
            hints = typing.get_type_hints(method)
            sent = {key: model(hints.get(key), value) for key, value in arguments.items()}
            self.responses.clear()
            options = {"max_retries": 0, **({"additional_headers": headers} if headers else {})}
            parsed = method(**sent, request_options=options)
            if inspect.isasyncgen(parsed):
                parsed = self.kit.loop.run_until_complete(_whole(parsed))
            elif inspect.isgenerator(parsed):
                parsed = b"".join(parsed)
            elif inspect.isawaitable(parsed):
                parsed = self.kit.loop.run_until_complete(parsed)
            response = self.responses[-1]
            body = response.json() if response.content and not isinstance(parsed, bytes) else None
            if body is not None:
                same(body, parsed)
                if "data" in body:
                    complete(name, body["data"])
            return Answer(response.status_code, body, parsed)

        call.operation, call.caller = name, self
        return call


async def _whole(chunks):
    return b"".join([chunk async for chunk in chunks])


def _read_now(into):
    def keep(response):
        response.read()
        into.append(response)

    return keep


def _read_later(into):
    async def keep(response):
        await response.aread()
        into.append(response)

    return keep


def model(hint, value):
    """Plain objects become the model the client's own signature asks for."""
    if isinstance(value, dict) and inspect.isclass(hint) and issubclass(hint, pydantic.BaseModel):
        return hint(**value)
    return value


class Kit:
    """The client under test, one server, and the people a recipe needs."""

    def __init__(self, package, server, asynchronous=False):
        self.package, self.server, self.asynchronous = package, server, asynchronous
        self.url = server.url
        self.operations = operations(package)
        self.called = set()
        self.callers = []
        self.loop = asyncio.new_event_loop() if asynchronous else None

    names = itertools.count(1)

    def close(self):
        for caller in self.callers:
            caller.close()
        if self.loop is not None:
            self.loop.close()

    def takes(self, name, *parameters):
        """Whether this version has the operation, and all of these parameters for it."""
        if name not in self.operations:
            return False
        client = self.package.RestClient(api_key="none", base_url=self.url)
        known = inspect.signature(getattr(getattr(client, self.operations[name]), name)).parameters
        return all(parameter in known for parameter in parameters)

    def caller(self, key, **known):
        caller = Caller(self, key, **known)
        self.callers.append(caller)
        return caller

    def user(self, name="ann"):
        """A user of its own organization, made by the command line while the server runs."""
        handle = f"{name}-{next(self.names)}"
        command = [self.server.binary, "user", "create", "--handle", handle, "--name", name.title() + " Doe"]
        command += ["--email", f"{handle}@example.org", "--json"]
        made = subprocess.run(command, env=self.server.environment, capture_output=True, text=True, timeout=30)
        assert made.returncode == 0, f"user create failed: {made.stdout}{made.stderr}"
        made = json.loads(made.stdout)
        return self.caller(made["api_key"], id=made["user"]["id"], handle=handle, email=f"{handle}@example.org")

    @cached_property
    def ann(self):
        return self.user("ann")

    @cached_property
    def bob(self):
        """Somebody of another organization."""
        return self.user("bob")

    def agent(self, owner, name="Weather Bot"):
        made = owner.register_my_agent(agent={"name": name, "description": "Says how the weather is."})
        assert made.status == 201
        agent = self.caller(made.data["credentials"]["api_key"], id=made.data["agent"]["id"], name=name, owner=owner)
        agent.handle = agent.get_agent_me().data["handle"]
        return agent

    def room(self, owner, *others, title="A room"):
        """A room of a user or of an agent, with these participants."""
        human = owner.kit.is_human(owner)
        made = (owner.create_my_chat_room if human else owner.create_agent_chat)(chat={"title": title})
        add = owner.add_my_chat_participant if human else owner.add_agent_chat_participant
        for other in others:
            add(chat_id=made.data["id"], participant={"participant_id": other.id})
        return made.data["id"]

    @staticmethod
    def is_human(caller):
        return not hasattr(caller, "owner")

    def everything(self, caller, name, size=2, **arguments):
        """All ids of a list, page by page and, where the client can, by cursor as well."""
        call, by_page = getattr(caller, name), []
        for page in itertools.count(1):
            answer = call(**arguments, page=page, page_size=size)
            metadata = answer.body["metadata"]
            assert (metadata["page"], metadata["page_size"]) == (page, size), metadata
            assert len(answer.data) <= size
            by_page += answer.ids
            if page >= metadata["total_pages"]:
                break
            assert len(answer.data) == size, "a short page that is not the last"
        assert metadata["total_count"] == len(by_page) == len(set(by_page))
        if self.takes(name, "cursor", "limit"):
            assert self.by_cursor(call, size, arguments) == by_page
        return by_page

    @staticmethod
    def by_cursor(call, size, arguments):
        found, seen, cursor = [], set(), None
        while True:
            answer = call(**arguments, limit=size, **({"cursor": cursor} if cursor else {}))
            metadata = answer.body["metadata"]
            assert metadata["limit"] == size and len(answer.data) <= size
            found += answer.ids
            assert metadata["has_more"] == (metadata.get("next_cursor") is not None)
            if not metadata["has_more"]:
                return found
            cursor = metadata["next_cursor"]
            assert cursor not in seen, "the same cursor twice"
            seen.add(cursor)

    def refused(self, status, code, call, /, **arguments):
        """The call raises the client's own class for this status, and names the code."""
        name = call.operation
        errors = importlib.import_module(f"{self.package.__name__}.core.api_error")
        try:
            answer = call(**arguments)
        except errors.ApiError as error:
            caught = error
        else:
            raise AssertionError(f"{name}({arguments}) was answered {answer.status} {answer.body}")
        assert caught.status_code == status, f"{name}: {caught.status_code} {caught.body}"
        expected = ERRORS[status] if self.lists(name, status) else "ApiError"
        assert type(caught).__name__ == expected, f"{name}: {type(caught).__name__}, not {expected}"
        error = envelope(call.caller.responses[-1])
        assert error["code"] == code, f"{name}: {error}"
        return error

    def lists(self, name, status):
        """Whether this version has a class of its own for the status of the operation."""
        return f"status_code == {status}:" in source(self.package, name)


ERRORS = {
    400: "BadRequestError",
    401: "UnauthorizedError",
    403: "ForbiddenError",
    404: "NotFoundError",
    409: "ConflictError",
    422: "UnprocessableEntityError",
}
