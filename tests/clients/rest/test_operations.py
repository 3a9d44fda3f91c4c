"""Every operation of one published REST client, against a running server."""

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

OPERATIONS = kits.operations(kits.load())
SERVED = sorted(name for name, part in OPERATIONS.items() if part not in NOT_HERE)


def test_every_operation_has_a_recipe():
    missing = [name for name in SERVED if not callable(getattr(recipes, name, None))]
    assert not missing, f"operations nobody calls: {missing}"
    assert len(SERVED) >= 50, "the operations of the client were not found"


@pytest.mark.parametrize("operation", SERVED)
def test_operation(kit, operation):
    getattr(recipes, operation)(kit)
    assert operation in kit.called, "the recipe did not call its operation"
