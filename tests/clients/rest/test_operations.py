"""Every operation of one published REST client, against a running server."""

from importlib import metadata

import httpx
import kit as kits
import pytest
import recipes

# What this server does not serve, as the README says: delegated tokens.
NOT_HERE = {"exchange_delegated_token"}

PACKAGE = kits.load()
OPERATIONS = kits.operations(PACKAGE)
SERVED = sorted(set(OPERATIONS) - NOT_HERE)

# How many operations of a client are served. Bulk deletion came with 0.0.28 of band-client-rest.
COUNTS = {"band_rest": 64, "thenvoi_rest": 58}
BULK_DELETION = 3

# Files came later.
FILES = 2

# How many operations the newest client has.
NEWEST, ALL = ("band-client-rest", "0.0.51"), 70


def test_every_operation_has_a_recipe():
    missing = [name for name in SERVED if recipes.find(name) is None]
    assert not missing, f"operations nobody calls: {missing}"
    has_bulk = "human_api_bulk_deletions" in OPERATIONS.values()
    has_files = "agent_api_files" in OPERATIONS.values()
    expected = COUNTS[PACKAGE.__name__] + has_bulk * BULK_DELETION + has_files * FILES
    assert len(SERVED) == expected, "operations came or went: correct COUNTS"


def test_the_newest_client_lacks_only_what_is_named():
    if not any((one.name, one.version) == NEWEST for one in metadata.distributions()):
        pytest.skip("an older client")
    assert len(OPERATIONS) == ALL
    assert set(OPERATIONS) - set(SERVED) == NOT_HERE


def test_what_is_left_out_is_not_here(server):
    document = httpx.get(f"{server.url}/api/v1/openapi.json", trust_env=False).json()
    here = {(method, kits.shape(path)) for path, methods in document["paths"].items() for method in methods}
    assert all(kits.route(PACKAGE, name) in here for name in SERVED), "routes of the client are not understood"
    served = sorted(name for name in NOT_HERE & set(OPERATIONS) if kits.route(PACKAGE, name) in here)
    assert not served, f"served by now; remove them from NOT_HERE: {served}"


@pytest.mark.parametrize("operation", SERVED)
def test_operation(kit, operation):
    recipes.find(operation)(kit)
    assert operation in kit.called, "the recipe did not call its operation"
