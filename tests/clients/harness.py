"""What a person would do by hand: start the server, make a user, start an agent, talk.

Nothing here waits for a length of time. `wait_for` looks for a fact until a deadline;
the few pauses that remain are paces or rules of the client, and say so.
"""

import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"

# Settings of the client, read by it from the environment. By default a room asks for
# missed work once in one to two minutes, and a message whose turn failed once is given
# up until the agent starts anew: an answer that could not be posted because the server
# was down is such a failed turn. Tests that stop the server inside a turn shorten the
# first and raise the second; all others run the client as it comes.
PATIENT = {
    "IDLE_RESYNC_SECONDS": "1",
    "IDLE_RESYNC_MAX_SECONDS": "1",
    "MAX_MESSAGE_RETRIES": "10",
}

# For tests in which the agent is to be woken by its socket and by nothing else.
NEVER_ASKS = {"IDLE_RESYNC_SECONDS": "86400", "IDLE_RESYNC_MAX_SECONDS": "86400"}

# A socket that lived for less than five seconds counts as flapping: the client then
# waits 2, 10, 60 and more seconds before it connects again, and gives up for good after
# ten such sockets in a minute. No setting changes this, so sockets live longer here.
SOCKET_LIFE_SECONDS = 5.5

# The client doubles its pause before connecting again up to half a minute, and forgets
# earlier pauses only once a socket has lived for a whole minute. A new process starts
# from the beginning, which keeps many restarts of the server affordable.
RESTARTS_PER_AGENT_PROCESS = 5


def wait_for(what, probe, within=30.0, every=0.1, last_seen=lambda: ""):
    """Returns the first true result of `probe`, or fails when the deadline has passed."""
    deadline = time.monotonic() + within
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within:.0f} s: {what} {last_seen()}")
        time.sleep(every)


def free_port():
    """A port on which nothing listens, below those of outgoing connections, and above those of the Rust tests."""
    while True:
        port = random.randrange(30_000, 32_768)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Process:
    """A child process whose output is appended to one log file across restarts."""

    def __init__(self, name, command, environment, log):
        self.name = name
        self.command = [str(part) for part in command]
        self.environment = environment
        self.log = log
        self.child = None
        log.touch()

    def spawn(self):
        with self.log.open("ab") as out:
            self.child = subprocess.Popen(
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def assert_running(self):
        code = self.child.poll()
        assert code is None, f"{self.name} ended by itself with status {code}"
        return True

    def send_and_reap(self, sent, within):
        self.child.send_signal(sent)
        return self.child.wait(timeout=within)

    def kill(self):
        self.assert_running()
        self.send_and_reap(signal.SIGKILL, within=10)

    def end(self):
        """Ends the process whatever its state; for tear-down."""
        if self.child is None or self.child.poll() is not None:
            return
        try:
            self.send_and_reap(signal.SIGTERM, within=10)
        except subprocess.TimeoutExpired:
            self.send_and_reap(signal.SIGKILL, within=10)

    def log_text(self):
        return self.log.read_text(errors="replace")


class Server(Process):
    """`parlance serve` on a port and a data directory that stay the same."""

    def __init__(self, binary, directory):
        data = directory / "data"
        data.mkdir()
        self.binary = binary
        self.address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.address}"
        self.http = httpx.Client(base_url=self.url, timeout=2, trust_env=False)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PARLANCE_")}
        environment = inherited | {
            "PARLANCE_LISTEN": self.address,
            "PARLANCE_DATA_DIR": str(data),
        }
        super().__init__("server", [binary, "serve"], environment, directory / "server.log")

    def start(self):
        self.spawn()

        def healthy():
            self.assert_running()
            try:
                return self.http.get("/health").status_code == 200
            except httpx.TransportError:
                return False

        wait_for("the server is healthy", healthy)

    def stop(self):
        """Asks the server to end, as a service manager does, and waits until it has."""
        self.assert_running()
        status = self.send_and_reap(signal.SIGTERM, within=30)
        assert status == 0, f"the server ended with status {status} when asked to stop"

    def restart_with(self, **settings):
        """Ends the server and starts it with these settings beside its own."""
        self.stop()
        self.environment = self.environment | settings
        self.start()

    def create_user(self):
        command = [self.binary, "user", "create", "--handle", "ann"]
        command += ["--email", "ann@example.org", "--name", "Ann", "--json"]
        made = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=30
        )
        assert made.returncode == 0, f"user create failed: {made.stdout}{made.stderr}"
        return json.loads(made.stdout)


@dataclass(frozen=True)
class Credentials:
    agent_id: str
    api_key: str


class AgentProcess(Process):
    """agent.py, or a variant of it, in a process of its own."""

    def __init__(self, url, credentials, log, script="agent.py", settings=None):
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("BAND_")}
        environment = inherited | {
            "BAND_REST_URL": url,
            "BAND_AGENT_ID": credentials.agent_id,
            "BAND_API_KEY": credentials.api_key,
            "NO_PROXY": "127.0.0.1",
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": str(EXAMPLES),
            **(settings or {}),
        }
        place = EXAMPLES if script == "agent.py" else HERE
        super().__init__("agent", [sys.executable, place / script], environment, log)
        self.connected_at = None

    def start(self):
        starts = self.log_text().count("Agent started: ")
        self.spawn()
        self.wait_for_log("Agent started: ", times=starts + 1)
        self.connected_at = time.monotonic()

    def wait_for_log(self, text, times=1, within=60.0):
        def seen():
            self.assert_running()
            return self.log_text().count(text) >= times

        wait_for(f"the agent logs {text!r} ({times})", seen, within)

    def reconnects(self):
        return self.log_text().count("WebSocket reconnected")

    def wait_for_reconnect(self, after):
        """Waits until the socket has come back once more than `after` times."""
        self.wait_for_log("WebSocket reconnected", times=after + 1)
        self.connected_at = time.monotonic()

    def let_socket_live(self):
        """Stays within the client's own rule on flapping; see SOCKET_LIFE_SECONDS."""
        time.sleep(max(0.0, self.connected_at + SOCKET_LIFE_SECONDS - time.monotonic()))


class Human:
    """Ann, who talks to the server over plain HTTP."""

    def __init__(self, url, created):
        self.id = created["user"]["id"]
        self.http = httpx.Client(
            base_url=f"{url}/api/v1/me",
            headers={"X-API-Key": created["api_key"]},
            timeout=20,
            trust_env=False,
        )

    def post(self, path, body):
        answer = self.http.post(path, json=body)
        assert answer.status_code == 201, f"POST {path}: {answer.status_code} {answer.text}"
        return answer.json()["data"]

    def register_agent(self, name):
        description = "Answers with the words it was sent."
        data = self.post("/agents/register", {"agent": {"name": name, "description": description}})
        return Credentials(data["agent"]["id"], data["credentials"]["api_key"])

    def open_room(self, agent_id):
        room = self.post("/chats", {"chat": {}})["id"]
        self.post(f"/chats/{room}/participants", {"participant": {"participant_id": agent_id}})
        return Room(self, room, agent_id)


TOKEN = re.compile(r"\bm-[0-9a-f]{32}\b")


@dataclass
class Room:
    """One conversation, and what is known about each message sent into it.

    Every message carries a token of its own, which its answer repeats. A message is
    `accepted` once its 201 has arrived. One whose answer got lost is `uncertain`: it may
    be stored or not, and only the room can tell.
    """

    human: Human
    id: str
    agent_id: str
    accepted: set[str] = field(default_factory=set)
    uncertain: set[str] = field(default_factory=set)

    def say(self):
        """Sends one message, which has to be accepted, if need be after a rate limit."""

        def accepted():
            token = self.try_to_say()
            assert token not in self.uncertain, "the server gave no clear answer"
            return token if token in self.accepted else None

        return wait_for("a message is accepted", accepted, every=1.0)

    def try_to_say(self):
        """Sends one message at a time when the server may be killed any moment."""
        token = f"m-{uuid.uuid4().hex}"
        body = {"message": {"content": f"Hello {token}", "mentions": [{"id": self.agent_id}]}}
        try:
            answer = self.human.http.post(f"/chats/{self.id}/messages", json=body)
        except httpx.TransportError:
            self.uncertain.add(token)
            return token
        if answer.status_code == 201:
            self.accepted.add(token)
        elif answer.status_code >= 500:
            self.uncertain.add(token)
        else:
            assert answer.status_code == 429, f"refused: {answer.status_code} {answer.text}"
        return token

    def read(self):
        """All messages, page by page."""
        messages, cursor = [], None
        while True:
            query = {"limit": 100} | ({"cursor": cursor} if cursor else {})
            page = self.human.http.get(f"/chats/{self.id}/messages", params=query)
            assert page.status_code == 200, f"GET messages: {page.status_code} {page.text}"
            messages += page.json()["data"]
            metadata = page.json()["metadata"]
            if not metadata["has_more"]:
                return messages
            assert metadata["next_cursor"] != cursor, "the same cursor twice"
            cursor = metadata["next_cursor"]

    def ids(self):
        """The id of every message that was sent, by its token."""
        sent = [message for message in self.read() if message["sender_id"] == self.human.id]
        return {TOKEN.search(message["content"])[0]: message["id"] for message in sent}

    def pushed(self):
        """The tokens of the messages that a socket of the agent took."""
        sent = [message for message in self.read() if message["sender_id"] == self.human.id]
        return {
            TOKEN.search(message["content"])[0]
            for message in sent
            if message["metadata"]["delivery_status"].get(self.agent_id, {}).get("delivered_at")
        }

    def outcome(self):
        """What became of every message that exists in the room."""
        statuses, answers = {}, Counter()
        for message in self.read():
            token = TOKEN.search(message["content"])
            if message["message_type"] != "text" or token is None:
                continue
            metadata = message["metadata"] or {}
            if message["sender_id"] == self.human.id:
                assert token[0] not in statuses, f"{token[0]} is stored twice"
                delivery = metadata.get("delivery_status", {}).get(self.agent_id, {})
                statuses[token[0]] = delivery.get("status", "none")
            elif message["sender_id"] == self.agent_id:
                mentioned = [mention["id"] for mention in metadata["mentions"]]
                assert mentioned == [self.human.id], f"an answer mentions {mentioned}"
                answers[token[0]] += 1
        lost = self.accepted - statuses.keys()
        assert not lost, f"accepted with 201 and not in the room: {sorted(lost)}"
        strange = (statuses.keys() | answers.keys()) - self.accepted - self.uncertain
        assert not strange, f"never sent, or refused: {sorted(strange)}"
        return Outcome(statuses, answers)

    def wait_until_settled(self, agent, within=60.0):
        """Waits until every message in the room is answered and its delivery processed.

        The agent works through a room in order, so one more message at the end is a
        fence: a late second answer to an earlier one comes before the answer to it.
        """
        self.say()
        seen = None

        def settled():
            nonlocal seen
            agent.assert_running()
            seen = self.outcome()
            return not seen.open()

        wait_for(
            "every message is answered and processed",
            settled,
            within,
            every=0.5,
            last_seen=lambda: seen.open(),
        )
        return seen


@dataclass(frozen=True)
class Outcome:
    """The delivery status of every message stored, and how often it was answered."""

    statuses: dict[str, str]
    answers: Counter

    def open(self):
        return {
            token: f"{status}, {self.answers[token]} answers"
            for token, status in self.statuses.items()
            if status != "processed" or self.answers[token] == 0
        }

    def more_than_once(self):
        return {token: count for token, count in self.answers.items() if count > 1}

    def assert_each_answered_once(self):
        wrong = {token: self.answers[token] for token in self.statuses if self.answers[token] != 1}
        assert not wrong, f"not answered exactly once: {wrong}"


@contextmanager
def talking(rooms, pause_seconds=0.05):
    """Keeps sending into the rooms, one after another, from a thread of its own."""
    enough = threading.Event()

    def talk():
        while True:
            for room in rooms:
                room.try_to_say()
                # The pace of the sender.
                if enough.wait(pause_seconds):
                    return

    with ThreadPoolExecutor(max_workers=1) as pool:
        speaker: Future = pool.submit(talk)
        try:
            yield
        finally:
            enough.set()
        speaker.result(timeout=60)


class World:
    """One server with one human, and the agents that belong to a test."""

    def __init__(self, binary, directory):
        self.directory = directory
        self.server = Server(binary, directory)
        self.agents = []
        self.human = None

    def start(self):
        self.server.start()
        self.human = Human(self.server.url, self.server.create_user())

    def logs(self):
        return [process.log for process in (self.server, *self.agents)]

    def agent(self, credentials, **options):
        """An agent process, not yet started."""
        log = self.directory / f"agent-{len(self.agents) + 1}.log"
        agent = AgentProcess(self.server.url, credentials, log, **options)
        self.agents.append(agent)
        return agent

    def end(self):
        for process in (*self.agents, self.server):
            process.end()
        self.server.http.close()
        if self.human is not None:
            self.human.http.close()

    def interrupt_while_talking(self, agent, rooms, stop_server, times, chance):
        """Restarts of the server at random moments while messages are being sent."""
        for done in range(times):
            if done and done % RESTARTS_PER_AGENT_PROCESS == 0:
                for room in rooms:
                    room.wait_until_settled(agent)
                agent.end()
                agent.start()
            agent.let_socket_live()
            before = agent.reconnects()
            with talking(rooms):
                # The moments are meant to be random; nothing is being waited for.
                time.sleep(chance.uniform(0.2, 1.5))
                stop_server()
                self.server.start()
                time.sleep(chance.uniform(0.0, 0.5))
            agent.wait_for_reconnect(before)
