"""Every operation of one published REST client, against a running server."""

import httpx
import kit as kits
import pytest
import recipes

# What this server does not serve, as the README says: tasks and board, files, delegated
# tokens and deletion in bulk.
NOT_HERE = {
    "agent_api_chat_tasks",
    "agent_api_delegation",
    "agent_api_files",
    "human_api_bulk_deletions",
}

PACKAGE = kits.load()
OPERATIONS = kits.operations(PACKAGE)
SERVED = sorted(name for name, part in OPERATIONS.items() if part not in NOT_HERE)

# How many operations of a client are served; the same in all versions of a client.
COUNTS = {"band_rest": 57, "thenvoi_rest": 58}


def test_every_operation_has_a_recipe():
    missing = [name for name in SERVED if recipes.find(name) is None]
    assert not missing, f"operations nobody calls: {missing}"
    assert len(SERVED) == COUNTS[PACKAGE.__name__], "operations came or went: correct COUNTS"


def test_what_is_left_out_is_not_here(server):
    document = httpx.get(f"{server.url}/api/v1/openapi.json", trust_env=False).json()
    here = {(method, kits.shape(path)) for path, methods in document["paths"].items() for method in methods}
    assert all(kits.route(PACKAGE, name) in here for name in SERVED), "routes of the client are not understood"
    served = sorted({part for name, part in OPERATIONS.items() if kits.route(PACKAGE, name) in here} & NOT_HERE)
    assert not served, f"served by now; remove them from NOT_HERE: {served}"


@pytest.mark.parametrize("operation", SERVED)
def test_operation(kit, operation):
    recipes.find(operation)(kit)
    assert operation in kit.called, "the recipe did not call its operation"
