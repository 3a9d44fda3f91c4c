"""The server of a whole run, and the recipe kit of each test."""

import os
from pathlib import Path

import pytest
from harness import Server
from kit import Kit, load


def pytest_generate_tests(metafunc):
    if "turn" in metafunc.fixturenames:
        full = metafunc.config.getoption("full")
        turns = ["sync", "async", "sync again", "async again"] if full else ["sync"]
        metafunc.parametrize("turn", turns)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    root = Path(__file__).parents[3]
    binary = Path(os.environ.get("PARLANCE_BIN", root / "target/release/parlance"))
    if not binary.is_file():
        pytest.exit(f"no server at {binary}; build it or set PARLANCE_BIN", returncode=2)
    server = Server(binary, tmp_path_factory.mktemp("server"))
    try:
        server.start()
        yield server
        server.stop()
    finally:
        server.end()
        server.http.close()


@pytest.fixture
def kit(server, turn):
    kit = Kit(load(), server, asynchronous=turn.startswith("async"))
    yield kit
    kit.close()
