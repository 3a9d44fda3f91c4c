"""The scene of each test, and the clients."""

import pytest
from callers import BINDINGS, CLIENTS
from scene import Scene


@pytest.fixture
def scene(world):
    return Scene(world)


@pytest.fixture
def callers():
    """Starts clients, and ends them after the test."""
    started = []

    def start(name, url, key, binding):
        started.append(CLIENTS[name](url, key, binding))
        return started[-1]

    yield start
    for caller in started:
        caller.end()


@pytest.fixture(params=[f"{client}-{binding}" for client in CLIENTS for binding in BINDINGS])
def client(request, scene, callers):
    """Starts the client under test: of the person at the listed agent, unless other ones are named."""
    name, binding = request.param.split("-", 1)

    def start(url=None, key=scene.key):
        return callers(name, url or scene.url, key, binding)

    return start
