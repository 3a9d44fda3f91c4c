"""Options, the server of each test, and the logs of a test that failed."""

import os
import random
import signal
from pathlib import Path

import pytest
from harness import World

WORLD = pytest.StashKey[World]()
NOTES = pytest.StashKey[list]()
LOG_LINES = 200


def pytest_addoption(parser):
    group = parser.getgroup("parlance")
    group.addoption("--full", action="store_true", help="30 restarts at random moments, not 3")
    group.addoption("--seed", type=int, help="repeat the random moments of an earlier run")


def pytest_configure(config):
    config.stash[NOTES] = []
    # A run that is told to end still ends the processes it started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture
def restarts(request):
    """How often the random tests stop the server."""
    return 30 if request.config.getoption("full") else 3


@pytest.fixture
def note(request):
    """Adds a line to the summary at the end, for passing tests as well."""
    return lambda line: request.config.stash[NOTES].append(f"{request.node.name}: {line}")


@pytest.fixture
def chance(request, note):
    seed = request.config.getoption("seed")
    if seed is None:
        seed = random.SystemRandom().randrange(1_000_000)
    note(f"seed {seed}")
    return random.Random(seed)


@pytest.fixture
def world(request, tmp_path):
    root = Path(__file__).parents[2]
    binary = Path(os.environ.get("PARLANCE_BIN", root / "target/release/parlance"))
    if not binary.is_file():
        pytest.exit(f"no server at {binary}; build it or set PARLANCE_BIN", returncode=2)
    world = World(binary, tmp_path)
    request.node.stash[WORLD] = world
    try:
        world.start()
        yield world
    finally:
        world.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    world = item.stash.get(WORLD, None)
    if report.failed and world is not None:
        for log in world.logs():
            lines = log.read_text(errors="replace").splitlines()
            title = f"{log} (last {LOG_LINES} of {len(lines)} lines)"
            report.sections.append((title, "\n".join(lines[-LOG_LINES:])))
    return report


def pytest_terminal_summary(terminalreporter, config):
    if config.stash[NOTES]:
        terminalreporter.section("notes")
        for line in config.stash[NOTES]:
            terminalreporter.write_line(line)
