"""Notifications, taken by programs of others: an SMTP server, a browser's decryption, and a verifier of webhooks."""

import base64
import json
import threading
from email import policy
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import http_ece
import httpx
import pytest
import standardwebhooks
from aiosmtpd.controller import Controller
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from harness import free_port, wait_for

TITLE = "Caf\u00e9 <b>&\" \U0001f47e"


class Mailbox:
    """Keeps the messages that it gets, as a program of mail reads them."""

    def __init__(self):
        self.messages = []
        self.refuses = False

    async def handle_RCPT(self, _server, _session, envelope, address, _options):
        if self.refuses:
            return "550 5.1.1 No such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server, _session, envelope):
        self.messages.append(BytesParser(policy=policy.default).parsebytes(envelope.content))
        return "250 OK"


@pytest.fixture
def mailbox():
    mailbox = Mailbox()
    port = free_port()
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    mailbox.url = f"smtp://127.0.0.1:{port}"
    yield mailbox
    controller.stop()


@pytest.fixture
def requests():
    """A web server that keeps the path, the headers, and the body of each request."""
    kept = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            kept.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", kept
    server.shutdown()


class Scene:
    """An agent in a room with a person."""

    def __init__(self, world, **settings):
        settings = {"WEBHOOKS_ALLOW_PRIVATE": "127.0.0.1", "RATE_LIMITS": "false"} | settings
        world.server.restart_with(**{f"PARLANCE_{name}": value for name, value in settings.items()})
        self.world, self.human = world, world.human
        self.agent = self.human.register_agent("Echo")
        self.room = self.human.open_room(self.agent.agent_id)
        answer = self.human.http.patch(f"/chats/{self.room.id}", json={"chat": {"title": TITLE}})
        assert answer.status_code == 200, answer.text
        self.http = httpx.Client(
            base_url=f"{world.server.url}/api/v1/agent",
            headers={"X-API-Key": self.agent.api_key},
            trust_env=False,
        )

    def channel(self, **body):
        return self.human.post("/notifications/channels", body)

    def ask(self, content):
        event = {"content": content, "message_type": "attention", "metadata": {"kind": "question"}}
        answer = self.http.post(f"/chats/{self.room.id}/events", json={"event": event})
        assert answer.status_code == 201, answer.text
        return answer.json()["data"]["id"]


def test_an_email_is_read_by_a_mail_program(world, mailbox):
    scene = Scene(world, SMTP_URL=mailbox.url, SMTP_FROM="Parlance <parlance@example.org>")
    channel = scene.channel(kind="email", content="excerpt")
    scene.ask("Which key?\r\n.\r\nBcc: x@evil.example\r\n\u65e5\u672c\u8a9e")
    wait_for("the message", lambda: mailbox.messages)
    message = mailbox.messages[0]
    assert message["to"] == "ann@example.org"
    assert message["subject"] == "A question waits for your answer"
    assert message["auto-submitted"] == "auto-generated"
    assert message["bcc"] is None and message["message-id"]
    text = message.get_content()
    assert f"Room: {TITLE}" in text and "Which key? . Bcc: x@evil.example \u65e5\u672c\u8a9e" in text, text
    mailbox.refuses = True
    scene.ask("And now?")

    def off():
        shown = scene.human.http.get(f"/notifications/channels/{channel['id']}").json()["data"]
        return shown if shown["status"] == "off" else None

    assert "No such user" in wait_for("the channel is off", off)["off_note"]
    assert len(mailbox.messages) == 1


def test_email_with_a_login_needs_encryption(world, mailbox):
    """The server does not start with credentials that it would send in the clear."""
    world.server.stop()
    world.server.environment |= {
        "PARLANCE_SMTP_URL": mailbox.url.replace("//", "//user:tiger-42@"),
        "PARLANCE_SMTP_FROM": "parlance@example.org",
    }
    world.server.spawn()
    wait_for("the reason", lambda: "smtp_url" in world.server.log_text())
    assert "tiger-42" not in world.server.log_text()


def test_a_webhook_is_verified(world, requests):
    url, kept = requests
    scene = Scene(world)
    secret = scene.channel(kind="webhook", url=f"{url}/in", content="title")["secret"]
    asked = scene.ask("secret text")
    wait_for("the request", lambda: kept)
    path, headers, body = kept[0]
    event = standardwebhooks.Webhook(secret).verify(body, headers)
    assert path == "/in" and event["type"] == "notification"
    item = event["data"]["items"][0]
    assert (item["message_id"], item["room_title"], item["excerpt"]) == (asked, TITLE, None)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(secret).verify(body + b" ", headers)


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def test_web_push_is_decrypted_and_its_signature_is_valid(world, requests):
    url, kept = requests
    scene = Scene(world, PUBLIC_URL="https://chat.example.org")
    key, auth = ec.generate_private_key(ec.SECP256R1()), b"0123456789abcdef"
    point = (serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    public = key.public_key().public_bytes(*point)
    server_key = scene.human.http.get("/notifications/web-push-key").json()["data"]["public_key"]
    scene.channel(kind="web_push", url=f"{url}/send/1", p256dh=encoded(public), auth=encoded(auth), content="title")
    scene.ask("secret text")
    wait_for("the request", lambda: kept)
    path, headers, body = kept[0]
    assert (path, headers["content-encoding"]) == ("/send/1", "aes128gcm")
    assert int(headers["ttl"]) > 0
    message = json.loads(http_ece.decrypt(body, private_key=key, auth_secret=auth, version="aes128gcm"))
    assert message["title"] == "A question waits for your answer"
    assert TITLE in message["body"] and "secret" not in message["body"]

    scheme, parts = headers["authorization"].split(" ", 1)
    parts = dict(part.strip().split("=", 1) for part in parts.split(","))
    assert scheme == "vapid" and parts["k"] == server_key
    signed, signature = parts["t"].rsplit(".", 1)
    signature = decoded(signature)
    halves = [int.from_bytes(half, "big") for half in (signature[:32], signature[32:])]
    verifier = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(server_key))
    verifier.verify(utils.encode_dss_signature(*halves), signed.encode(), ec.ECDSA(hashes.SHA256()))
    head, claims = (json.loads(decoded(part)) for part in signed.split("."))
    assert head == {"typ": "JWT", "alg": "ES256"}
    assert (claims["aud"], claims["sub"]) == (url, "https://chat.example.org")
