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

# Paths that are on their way. A recipe below one is left out for as long as the server
# does not know the path, and runs from the moment it does.
AWAITED = {
    "agent_api_memories": "agent/memories",
    "human_api_memories": "me/memories",
}

OPERATIONS = kits.operations(kits.load())
SERVED = sorted(name for name, part in OPERATIONS.items() if part not in NOT_HERE)


def test_every_operation_has_a_recipe():
    missing = [name for name in SERVED if not callable(getattr(recipes, name, None))]
    assert not missing, f"operations nobody calls: {missing}"
    assert len(SERVED) >= 50, "the operations of the client were not found"


@pytest.mark.parametrize("operation", SERVED)
def test_operation(kit, operation):
    awaited = AWAITED.get(OPERATIONS[operation])
    if awaited is not None and not served(kit, awaited):
        pytest.skip(f"the server does not serve {awaited} yet")
    getattr(recipes, operation)(kit)
    assert operation in kit.called, "the recipe did not call its operation"


def served(kit, path):
    caller = kit.ann if path.startswith("me/") else kit.agent(kit.ann)
    answer = httpx.get(
        f"{kit.url}/api/v1/{path}", headers={"X-API-Key": caller.key}, trust_env=False, timeout=20
    )
    return answer.status_code != 404
