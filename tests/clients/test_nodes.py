"""Agents on the published client, spread over three servers on one PostgreSQL with NATS between them.

Connections go through a balancer, as they would behind a proxy: each to the next server that takes it. Servers, NATS
and PostgreSQL are killed, stopped and restarted meanwhile, and every message is answered.
"""

import itertools
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from harness import PATIENT, AgentProcess, Human, Process, Server, free_port, talking, wait_for

# The program that gives a test a PostgreSQL of its own.
WITH_POSTGRES = os.environ.get("PARLANCE_TEST_WITH_POSTGRES")
pytestmark = pytest.mark.skipif(
    WITH_POSTGRES is None, reason="several servers need PostgreSQL: PARLANCE_TEST_STORE=postgres"
)

# Longer than the others believe in a server of which they hear nothing.
STOPPED_SECONDS = 10.0


class Nats(Process):
    """A NATS of one's own."""

    def __init__(self, directory):
        program = shutil.which("nats-server", path=os.environ["PATH"] + ":/usr/sbin")
        assert program, "this test needs NATS: install nats-server (Debian: apt-get install nats-server)"
        self.port = free_port()
        command = [program, "--addr", "127.0.0.1", "--port", self.port]
        super().__init__("nats-server", command, dict(os.environ), directory / "nats.log")
        self.url = f"nats://127.0.0.1:{self.port}"

    def start(self):
        self.spawn()

        def takes_connections():
            self.assert_running()
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        wait_for("NATS takes connections", takes_connections)


class Postgres:
    """A PostgreSQL of one's own, so that nobody else is met by its restart."""

    def __init__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.keeper = subprocess.Popen([WITH_POSTGRES], **pipes)
        self.url = self.keeper.stdout.readline().strip()
        assert self.url, "PostgreSQL does not start"

    def restart(self):
        """As after a crash: connections break, and nobody is waited for."""
        print("restart", file=self.keeper.stdin, flush=True)
        assert self.keeper.stdout.readline() == "restarted\n", "PostgreSQL does not start again"

    def end(self):
        self.keeper.communicate()


class Exchange:
    """What a client asks over one connection; what gets no answer of success is kept as failed."""

    def __init__(self, failed):
        self.failed = failed
        self.request = b""

    def asked(self, data):
        self.request += data

    def answered(self, data):
        # An answer may come in pieces, of which the first says how the request went. What a socket sends is no request.
        request, self.request = self.request, b""
        if b" HTTP/1.1\r\n" in request and not data.startswith((b"HTTP/1.1 1", b"HTTP/1.1 2")):
            self.failed.append(request)

    def over(self):
        self.answered(b"")


class Balancer:
    """Hands each connection to the next server that takes it, and knows which requests came to nothing."""

    def __init__(self, servers):
        self.failed = []
        self.addresses = [server.address.rsplit(":", 1) for server in servers]
        self.turns = itertools.count()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.hand_on, args=(client,), daemon=True).start()

    def hand_on(self, client):
        turn = next(self.turns)
        for step in range(len(self.addresses)):
            host, port = self.addresses[(turn + step) % len(self.addresses)]
            try:
                server = socket.create_connection((host, int(port)), timeout=2)
            except OSError:
                continue
            server.settimeout(None)
            exchange = Exchange(self.failed)
            ways = (client, server, exchange.asked), (server, client, exchange.answered)
            for one, other, note in ways:
                carry = threading.Thread(target=self.carry, args=(one, other, note, exchange.over), daemon=True)
                carry.start()
            return
        client.close()

    def has_failed(self, *words):
        """Whether a request of an agent about one of these has got no answer of success."""
        return any(
            b"/api/v1/agent/" in request and any(word.encode() in request for word in words)
            for request in list(self.failed)
        )

    @staticmethod
    def carry(one, other, note, over):
        try:
            while data := one.recv(65536):
                note(data)
                other.sendall(data)
        except OSError:
            pass
        over()
        # Both ends see that it is over, whoever has ended it.
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def end(self):
        self.listener.close()


class Fleet:
    """Three servers, what they stand on, and what stands before them."""

    def __init__(self, directory):
        self.directory = directory
        self.agents = []
        self.nats = Nats(directory)
        self.postgres = Postgres()
        self.servers = []
        for number in (1, 2, 3):
            place = directory / f"server-{number}"
            place.mkdir()
            server = Server(Path(os.environ["CLIENTS_PROGRAM"]), place)
            server.environment |= {
                "PARLANCE_DATABASE_URL": self.postgres.url,
                "PARLANCE_NATS_URL": self.nats.url,
                "PARLANCE_REDELIVERY_AFTER_MS": "1000",
            }
            self.servers.append(server)
        self.balancer = Balancer(self.servers)
        self.human = None

    def start(self):
        self.nats.start()
        for server in self.servers:
            server.start()
        self.human = Human(self.balancer.url, self.servers[0].create_user())

    def agent(self, credentials):
        log = self.directory / f"agent-{len(self.agents) + 1}.log"
        agent = AgentProcess(self.balancer.url, credentials, log, settings=PATIENT)
        self.agents.append(agent)
        return agent

    def logs(self):
        return [process.log for process in (*self.servers, *self.agents)]

    def end(self):
        for process in (*self.agents, *self.servers, self.nats, self.postgres):
            process.end()
        self.balancer.end()
        for server in self.servers:
            server.http.close()
        if self.human is not None:
            self.human.http.close()


@pytest.fixture
def fleet(request, tmp_path):
    from conftest import WORLD

    fleet = Fleet(tmp_path)
    request.node.stash[WORLD] = fleet
    try:
        fleet.start()
        yield fleet
    finally:
        fleet.end()


def test_every_message_is_answered_while_servers_come_and_go(fleet, note):
    """NATS and PostgreSQL are restarted, a server is killed, another stands still: nothing is lost or stays unanswered.

    As with one server, an answer comes twice where an agent was not told that its request is done: such answers are
    counted, and there are no others.
    """
    agents, rooms = [], []
    for number in range(3):
        credentials = fleet.human.register_agent(f"Echo {number}")
        agent = fleet.agent(credentials)
        agent.start()
        agents.append(agent)
        rooms += [(agent, fleet.human.open_room(credentials.agent_id)) for _ in range(2)]
    for agent in agents:
        agent.let_socket_live()
    with talking([room for _, room in rooms], pause_seconds=0.1):
        # The pauses let each thing happen while messages are under way; nothing is waited for.
        time.sleep(1)
        fleet.nats.kill()
        time.sleep(2)
        fleet.nats.start()
        time.sleep(3)
        fleet.postgres.restart()
        time.sleep(4)
        fleet.servers[1].kill()
        time.sleep(2)
        fleet.servers[1].start()
        time.sleep(6)
        fleet.servers[2].child.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_SECONDS)
        fleet.servers[2].child.send_signal(signal.SIGCONT)
        time.sleep(3)

    outcomes = [room.wait_until_settled(agent, within=120) for agent, room in rooms]
    messages = sum(len(outcome.statuses) for outcome in outcomes)
    repeated = [token for outcome in outcomes for token in outcome.more_than_once()]
    unknown = sum(len(room.uncertain) for _, room in rooms)
    note(f"answered twice: {len(repeated)} of {messages}; sent without a 201: {unknown}")
    assert messages > 50, "hardly anything was said"
    ids = {}
    for _, room in rooms:
        ids |= room.ids()
    unasked = [token for token in repeated if not fleet.balancer.has_failed(token, ids[token])]
    assert not unasked, f"answered twice, though all that its agent asked for was done: {unasked}"
