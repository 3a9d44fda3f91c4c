"""What generated requests need to get past the door: keys, and ids of things that are there.

The runner puts them into the environment. A third of the generated ids is left as it is, so
that things that are not there are asked for too.
"""

import json
import os
import re
import zlib

import schemathesis
from schemathesis.openapi.checks import UseAfterFree

SCENE = json.loads(os.environ["PARLANCE_SCENE"])
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Key:
    """The key of the interface that an operation belongs to."""

    def __init__(self, key):
        self.key = key

    def get(self, case, ctx):
        return self.key

    def set(self, case, data, ctx):
        case.headers = case.headers or {}
        case.headers["X-API-Key"] = data


@schemathesis.auth().apply_to(path_regex="^/api/v1/agent/")
class AgentKey(Key):
    def __init__(self):
        super().__init__(SCENE["agent_key"])


@schemathesis.auth().apply_to(path_regex="^(/v1/|/api/v1/(me/|auth/password|agents|chats|test))")
class UserKey(Key):
    def __init__(self):
        super().__init__(SCENE["user_key"])


@schemathesis.auth().apply_to(path_regex="^/api/v1/operator/")
class OperatorKey(Key):
    def __init__(self):
        super().__init__(SCENE["operator_key"])


@schemathesis.hook
def map_path_parameters(ctx, path_parameters):
    """Real ids in the place of two thirds of the generated ones."""
    deletes = ctx.operation.method.upper() == "DELETE"
    if not path_parameters or (deletes and ctx.operation.path.endswith(("{chat_id}", "{agent_id}"))):
        return path_parameters
    ids = SCENE["agent_ids" if ctx.operation.path.startswith("/api/v1/agent/") else "user_ids"]
    for name, value in path_parameters.items():
        known = ids.get(name)
        if known and isinstance(value, str) and UUID.fullmatch(value) and zlib.crc32(value.encode()) % 3:
            path_parameters[name] = known
    return path_parameters


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """The keys in use must live to the end, and those whose keys they are."""
    path = case.operation.path
    ends = case.method.upper() == "DELETE" or path.endswith(("/rotate-key", "/api-key/regenerate", "/disable"))
    if ends and ("/me/" in path or "/operator/" in path):
        for name, used in SCENE["used_ids"].items():
            if (case.path_parameters or {}).get(name) in used:
                case.path_parameters[name] = SCENE["user_ids"][name]


@schemathesis.hook
def filter_failure(ctx, failure, case, response):
    """An agent that deletes a memory supersedes it, and it is still shown, also by other operations."""
    superseded = failure.operation == "DELETE /api/v1/agent/memories/{memory_id}"
    return not (superseded and isinstance(failure, UseAfterFree))
