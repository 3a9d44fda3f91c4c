"""Files in a bucket of moto, a server of the S3 protocol."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import boto3
import httpx
import pytest
from botocore.exceptions import EndpointConnectionError
from harness import Process, Server, free_port, wait_for

MIB = 1024 * 1024
PREFIX = "rooms/files"


class Bucket(Process):
    """A service with one bucket, which keeps it in memory."""

    def __init__(self, directory):
        port = free_port()
        self.variables = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "an-id",
            "AWS_SECRET_ACCESS_KEY": "a-secret",
            "PARLANCE_FILES_BUCKET": f"s3://files/{PREFIX}",
        }
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port]
        environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        super().__init__("bucket", command, environment, directory / "bucket.log")
        self.s3 = boto3.client(
            "s3",
            endpoint_url=self.variables["AWS_ENDPOINT_URL"],
            region_name="eu-west-1",
            aws_access_key_id="an-id",
            aws_secret_access_key="a-secret",
        )

    def start(self):
        self.spawn()
        where = {"LocationConstraint": "eu-west-1"}

        def made():
            self.assert_running()
            try:
                return self.s3.create_bucket(Bucket="files", CreateBucketConfiguration=where)
            except EndpointConnectionError:
                return None

        wait_for("the bucket is made", made)

    def names(self):
        return sorted(row["Key"] for row in self.s3.list_objects_v2(Bucket="files").get("Contents", []))

    def unfinished(self):
        return self.s3.list_multipart_uploads(Bucket="files").get("Uploads", [])


@pytest.fixture
def bucket(world, tmp_path):
    bucket = Bucket(tmp_path)
    try:
        bucket.start()
        world.server.restart_with(**bucket.variables)
        yield bucket
    finally:
        bucket.end()


@pytest.fixture
def room(world):
    agent = world.human.register_agent("Reader")
    reader = httpx.Client(
        base_url=f"{world.server.url}/api/v1/agent",
        headers={"X-API-Key": agent.api_key},
        timeout=60,
        trust_env=False,
    )
    room = world.human.open_room(agent.agent_id)
    room.files, room.reader = f"/chats/{room.id}/files", reader
    return room


def noise(length):
    return random.Random(length).randbytes(length)


def put(room, name, content, digest, **options):
    headers = {"X-File-Name": name, "X-File-SHA256": digest}
    return room.human.http.put(room.files, content=content, headers=headers, **options)


def upload(room, name, content):
    answer = put(room, name, content, hashlib.sha256(content).hexdigest())
    assert answer.status_code in (200, 201), answer.text
    return answer.json()["data"]


def read(room, file, **options):
    return room.reader.get(f"{room.files}/{file['id']}", **options)


def members(room, count):
    """Clients of so many agents in the room."""
    clients = [room.reader]
    for number in range(1, count):
        agent = room.human.register_agent(f"Member {number}")
        room.human.post(f"/chats/{room.id}/participants", {"participant": {"participant_id": agent.agent_id}})
        headers = {"X-API-Key": agent.api_key}
        clients.append(httpx.Client(base_url=room.reader.base_url, headers=headers, timeout=60, trust_env=False))
    return clients


class HungUp(Exception):
    """The client goes away in the middle of its upload."""


def half_an_upload(room, go_on, failed):
    """Begins an upload of two parts and a rest, which waits in the second part; gives its thread.

    When it may go on, it hangs up, unless the server has gone. `failed` gets how it ended.
    """
    started = threading.Event()
    first, second = noise(7 * MIB), noise(4 * MIB)

    def pieces():
        yield first
        started.set()
        go_on.wait(30)
        yield second[:MIB]
        raise HungUp

    def send():
        try:
            put(room, "half", pieces(), hashlib.sha256(first + second).hexdigest())
        except (httpx.TransportError, HungUp) as error:
            failed.append(error)

    thread = threading.Thread(target=send)
    thread.start()
    assert started.wait(30)
    return thread


def test_files_of_every_size_come_back(world, bucket, room):
    for length in (1, 70_000, 5 * MIB, 12 * MIB + 1):
        content = noise(length)
        file = upload(room, f"{length}.bin", content)
        assert (file["bytes"], file["sha256"]) == (length, hashlib.sha256(content).hexdigest()), file
        whole = read(room, file)
        assert whole.status_code == 200 and whole.content == content
        middle = length // 2
        part = read(room, file, headers={"Range": f"bytes={middle}-{middle + 99}"})
        assert part.status_code == 206 and part.content == content[middle : middle + 100]
        again = upload(room, "again.bin", content)
        assert again["id"] == file["id"], "the same bytes are the same file"
    names = bucket.names()
    assert len(names) == 4 and all(name.startswith(f"{PREFIX}/") for name in names), names
    assert bucket.unfinished() == []


def test_an_upload_that_ends_early_leaves_nothing(world, bucket, room):
    go_on, failed = threading.Event(), []
    sending = half_an_upload(room, go_on, failed)
    wait_for("a part is stored", bucket.unfinished)
    go_on.set()
    sending.join()
    assert isinstance(failed[0], HungUp)
    wait_for("the upload is given up", lambda: bucket.unfinished() == [])
    assert bucket.names() == []


def test_a_kill_in_an_upload_leaves_no_file(world, bucket, room):
    go_on, failed = threading.Event(), []
    sending = half_an_upload(room, go_on, failed)
    wait_for("a part is stored", bucket.unfinished)
    world.server.kill()
    go_on.set()
    sending.join()
    assert isinstance(failed[0], httpx.TransportError)
    world.server.start()
    assert bucket.names() == []
    file = upload(room, "after.bin", noise(6 * MIB))
    assert read(room, file).content == noise(6 * MIB)


def test_a_bucket_that_is_away_is_told_and_stops_nothing_else(world, bucket, room):
    file = upload(room, "before.bin", noise(1000))
    bucket.kill()
    refused = put(room, "x", b"x", hashlib.sha256(b"x").hexdigest(), timeout=90)
    assert refused.status_code == 503 and "retry-after" in refused.headers, refused.text
    unread = read(room, file, timeout=90)
    assert unread.status_code == 503, unread.text
    room.say()
    doctor = subprocess.run(
        [world.server.binary, "doctor"], env=world.server.environment, capture_output=True, text=True
    )
    assert doctor.returncode == 1 and "s3://files/rooms/files" in doctor.stdout, doctor.stdout
    # The bucket comes back empty.
    bucket.start()
    upload(room, "after.bin", b"after")
    assert read(room, file).status_code == 503, "its contents are missing"


def test_downloads_from_a_bucket_that_hangs_keep_no_reads_waiting(world, bucket, room):
    file = upload(room, "before.bin", noise(1000))
    readers = members(room, 5)

    def download(reader):
        try:
            reader.get(f"{room.files}/{file['id']}", timeout=8)
        except httpx.TransportError:
            pass

    bucket.child.send_signal(signal.SIGSTOP)
    try:
        downloads = [threading.Thread(target=download, args=(reader,)) for reader in readers for _ in range(4)]
        for thread in downloads:
            thread.start()
        time.sleep(1)
        assert all(thread.is_alive() for thread in downloads)
        for _ in range(5):
            assert room.human.http.get("/chats", timeout=4).status_code == 200
            assert room.reader.get(f"/chats/{room.id}/messages/next", timeout=4).status_code in (200, 204)
    finally:
        bucket.child.send_signal(signal.SIGCONT)
    for thread in downloads:
        thread.join()


def resident(server):
    """The memory of a server, in bytes."""
    status = Path(f"/proc/{server.child.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def test_many_transfers_take_little_memory(world, bucket, room):
    """Uploads and downloads of 24 MiB each, which do not fit into what they may take together."""
    readers = members(room, 6)

    def transfer(number, reader):
        content = noise(24 * MIB + number)
        digest = hashlib.sha256(content).hexdigest()
        headers = {"X-File-Name": f"{number}.bin", "X-File-SHA256": digest}
        answer = reader.put(room.files, content=content, headers=headers)
        assert answer.status_code == 201, answer.text
        path = f"{room.files}/{answer.json()['data']['id']}"

        def download(_):
            read = hashlib.sha256()
            with reader.stream("GET", path) as streamed:
                for piece in streamed.iter_bytes():
                    read.update(piece)
            assert read.hexdigest() == digest

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(download, range(4)))

    upload(room, "before.bin", noise(MIB))
    before, most = resident(world.server), 0
    with ThreadPoolExecutor(len(readers)) as pool:
        transfers = [pool.submit(transfer, *one) for one in enumerate(readers)]
        while wait(transfers, 0.02).not_done:
            most = max(most, resident(world.server))
        for one in transfers:
            one.result()
    assert most - before < 100 * MIB, f"{(most - before) / MIB:.0f} MiB more"


def test_the_variables_can_be_in_a_file(world, bucket, room, tmp_path):
    file = upload(room, "kept.bin", b"kept")
    settings = tmp_path / "settings.env"
    settings.write_text("".join(f"{name}={value}\n" for name, value in bucket.variables.items()))
    out = tmp_path / "out"
    command = [world.server.binary, "--env-file", settings, "export"]
    command += ["--to", tmp_path / "archive", "--files", out]
    environment = {k: v for k, v in world.server.environment.items() if k not in bucket.variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (copied,) = [path for path in out.rglob("*") if path.is_file()]
    assert (copied.name, copied.read_bytes()) == (file["id"], b"kept")


def test_a_wrong_name_is_told_at_the_start(world, bucket):
    world.server.stop()
    environment = world.server.environment | {"PARLANCE_FILES_BUCKET": "s3://other"}
    started = subprocess.run(
        [world.server.binary, "serve"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert started.returncode == 1 and "s3://other" in started.stderr, started
    assert "AWS_ACCESS_KEY_ID" in started.stderr and "a-secret" not in started.stderr, started
    world.server.start()


def test_an_archive_has_the_files_of_a_bucket(world, bucket, room, tmp_path):
    file = upload(room, "kept.bin", noise(9 * MIB))
    out = tmp_path / "out"
    command = [world.server.binary, "export", "--to", tmp_path / "archive", "--files", out]
    done = subprocess.run(command, env=world.server.environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (copied,) = [path for path in out.rglob("*") if path.is_file()]
    assert copied.name == file["id"] and copied.read_bytes() == noise(9 * MIB)


@pytest.mark.skipif(os.environ.get("PARLANCE_TEST_STORE") != "postgres", reason="several servers need PostgreSQL")
def test_what_one_server_stores_another_one_reads(world, bucket, room, tmp_path):
    world.server.restart_with(PARLANCE_CLUSTER_MODE="multi")
    (tmp_path / "second").mkdir()
    second = Server(world.server.binary, tmp_path / "second")
    # The data directory names the database.
    second.environment = world.server.environment | {"PARLANCE_LISTEN": second.address}
    try:
        second.start()
        file = upload(room, "shared.bin", noise(6 * MIB))
        room.reader.base_url = f"{second.url}/api/v1/agent"
        assert read(room, file).content == noise(6 * MIB)
    finally:
        second.end()
