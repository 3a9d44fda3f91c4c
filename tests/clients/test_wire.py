"""What clients other than the Python ones send, byte for byte, over plain HTTP.

Each row is a request as some published client makes it, and the status it relies on.
"""

import httpx
import pytest

JSON = {"Content-Type": "application/json"}
NOBODY = "00000000-0000-4000-8000-000000000000"


class Scene:
    """A person, an agent with its key, a room with both, and one message for the agent."""

    def __init__(self, world):
        self.url = world.server.url
        self.human = world.human
        self.agent = self.human.register_agent("Echo")
        self.room = self.human.open_room(self.agent.agent_id).id
        self.keys = {"human": self.human.http.headers["X-API-Key"], "agent": self.agent.api_key, "bad": "thnv_u_1_no"}
        self.message = self.say()

    def say(self):
        body = {"message": {"content": "Hello", "mentions": [{"id": self.agent.agent_id}]}}
        return self.human.post(f"/chats/{self.room}/messages", body)["id"]

    def fill(self, value):
        if isinstance(value, str):
            for name in ("room", "message", "human_id", "agent_id"):
                value = value.replace("{" + name + "}", self.known(name))
            return value
        if isinstance(value, dict):
            return {key: self.fill(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.fill(inner) for inner in value]
        return value

    def known(self, name):
        ids = {"room": self.room, "message": self.message, "human_id": self.human.id}
        return (ids | {"agent_id": self.agent.agent_id})[name]

    def ask(self, who, method, path, body=None, headers=None):
        sent = dict(headers or {})
        if who in self.keys:
            sent["X-API-Key"] = self.keys[who]
        elif who is not None:
            sent["Authorization"] = self.keys[who.removeprefix("raw ")]
        return httpx.request(
            method, self.url + self.fill(path), json=self.fill(body), headers=sent, timeout=20, trust_env=False
        )


@pytest.fixture
def scene(world):
    return Scene(world)


CHAT = "/api/v1/agent/chats/{room}"
MINE = "/api/v1/me/chats/{room}"


def mention(**more):
    return {"message": {"content": "Hi", "mentions": [more]}}


ROWS = [
    # A POST without a body that says it has JSON, and one that says nothing.
    ("n8n processing", "agent", "POST", CHAT + "/messages/{message}/processing", None, JSON, 200),
    ("processing again", "agent", "POST", CHAT + "/messages/{message}/processing", None, None, 200),
    ("n8n processed", "agent", "POST", CHAT + "/messages/{message}/processed", None, JSON, 200),
    # Nulls where a client has nothing to say.
    ("room, task_id null", "agent", "POST", "/api/v1/agent/chats", {"chat": {"task_id": None}}, None, 201),
    ("room, empty object", "agent", "POST", "/api/v1/agent/chats", {"chat": {}}, None, 201),
    ("room, no body", "agent", "POST", "/api/v1/agent/chats", None, JSON, 201),
    ("human room", "human", "POST", "/api/v1/me/chats", {"chat": {}}, None, 201),
    (
        "event, metadata null",
        "agent",
        "POST",
        CHAT + "/events",
        {"event": {"content": "hm", "message_type": "thought", "metadata": None}},
        None,
        201,
    ),
    ("contact, message null", "agent", "POST", "/api/v1/agent/contacts/add", {"handle": "no-one", "message": None}, None, 404),
    # Mentions as the clients write them.
    ("handle null", "agent", "POST", CHAT + "/messages", mention(id="{human_id}", handle=None), None, 201),
    ("handle empty", "agent", "POST", CHAT + "/messages", mention(id="{human_id}", handle=""), None, 201),
    ("id and name", "human", "POST", MINE + "/messages", mention(id="{agent_id}", name="Echo"), None, 201),
    ("handle only", "agent", "POST", CHAT + "/messages", mention(handle="@Ann"), None, 201),
    ("username", "agent", "POST", CHAT + "/messages", mention(id="{human_id}", username="ann"), None, 201),
    ("kind null", "agent", "POST", CHAT + "/messages", mention(id="{human_id}", kind=None), None, 422),
    ("unknown property", "agent", "POST", "/api/v1/agent/chats", {"chat": {"colour": "red"}}, None, 400),
    # Credentials, and the paths that have no interface of their own.
    ("n8n credential test", "agent", "GET", "/api/v1/test", None, None, 200),
    ("the same, human", "human", "GET", "/api/v1/test", None, None, 200),
    ("the same, bad key", "bad", "GET", "/api/v1/test", None, None, 401),
    ("n8n agents", "human", "GET", "/api/v1/agents", None, None, 200),
    ("bare key", "raw human", "GET", "/api/v1/agents", None, None, 200),
    ("bare key, short path", "raw human", "GET", "/v1/agents", None, None, 200),
    ("bare bad key", "raw bad", "GET", "/v1/agents", None, None, 401),
    ("thenvoi-cli health", None, "GET", "/health", None, None, 200),
    ("health report", None, "GET", "/api/v1/health", None, None, 200),
    ("thenvoi-cli root", None, "GET", "/", None, None, 200),
    ("no key", None, "GET", "/api/v1/agent/me", None, None, 401),
    ("wrong interface", "human", "GET", "/api/v1/agent/me", None, None, 403),
    ("wrong interface", "agent", "GET", "/api/v1/me/profile", None, None, 403),
    ("no such room", "agent", "GET", f"/api/v1/agent/chats/{NOBODY}", None, None, 404),
]


def test_requests_as_clients_write_them(scene):
    """All rows on one server, in order; every refusal carries its request id."""
    wrong = []
    for name, who, method, path, body, headers, status in ROWS:
        answer = scene.ask(who, method, path, body, headers)
        if answer.status_code != status:
            wrong.append(f"{name}: {answer.status_code}, not {status}: {answer.text}")
        elif status >= 400 and not answer.json()["error"]["request_id"]:
            wrong.append(f"{name}: a refusal without request id")
    assert not wrong, "\n".join(wrong)


def test_a_page_of_a_hundred_is_a_page_of_a_hundred(scene):
    """Clients that stop at the first short page must not be given one too early."""
    sent = {scene.message} | {scene.say() for _ in range(100)}
    pages = {
        ("agent", CHAT + "/messages"): 101,
        ("agent", CHAT + "/context"): 101,
        ("human", MINE + "/messages?message_type=text"): 101,
    }
    for (who, path), total in pages.items():
        found = []
        for page, rows in ((1, 100), (2, total - 100)):
            mark = "&" if "?" in path else "?"
            answer = scene.ask(who, "GET", f"{path}{mark}page={page}&page_size=100")
            assert answer.status_code == 200, answer.text
            metadata = answer.json()["metadata"]
            assert (metadata["page"], metadata["page_size"], metadata["total_pages"]) == (page, 100, 2)
            assert None not in [metadata[key] for key in ("page", "page_size", "total_count", "total_pages")]
            assert len(answer.json()["data"]) == rows, path
            found += [row["id"] for row in answer.json()["data"]]
        assert set(found) == sent and len(found) == total


def test_lists_an_older_client_pages_say_no_null(scene):
    """A page member that is not known is left out: one client throws on a null."""
    for who, path in (
        ("agent", "/api/v1/agent/chats"),
        ("agent", "/api/v1/agent/peers"),
        ("agent", CHAT + "/messages"),
        ("human", "/api/v1/me/chats"),
        ("human", "/api/v1/me/agents"),
        ("human", MINE + "/participants"),
    ):
        metadata = scene.ask(who, "GET", path).json()["metadata"]
        nulls = [name for name, value in metadata.items() if value is None and name != "next_cursor"]
        assert not nulls, f"{path}: {nulls}"
