"""Webhooks, with the published agent without a socket and the published libraries that verify requests."""

import json
import subprocess
from pathlib import Path

import pytest
import standardwebhooks
import svix
from scene import replaced

HERE = Path(__file__).parent


class Refused(Exception):
    """A library from npm has refused a request."""


def from_npm(library):
    class Verifier:
        def __init__(self, secret):
            self.secret = secret

        def verify(self, body, headers):
            asked = {"library": library, "secret": self.secret, "headers": headers, "body": body.decode()}
            command = ["node", HERE / "verify.mjs"]
            answer = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, timeout=60)
            assert answer.returncode == 0, answer.stderr
            answer = json.loads(answer.stdout)
            if "refused" in answer:
                raise Refused(answer["refused"])
            return answer["event"]

    return Verifier


VERIFIERS = {
    "standardwebhooks": standardwebhooks.Webhook,
    "svix": svix.Webhook,
    "npm-standardwebhooks": from_npm("standardwebhooks"),
    "npm-svix": from_npm("svix"),
}
REFUSALS = (standardwebhooks.WebhookVerificationError, svix.WebhookVerificationError, Refused)


def test_a_serverless_agent_answers(scene, receiver):
    """The documented receiver answers, with no bridge; the message is processed, and its delivery has ended."""
    waiting = scene.say("before it started")
    receiver()
    scene.wait_until(waiting, "delivered")
    message = scene.say("Hello")
    delivery = scene.wait_until(message, "delivered")
    assert (delivery["attempts"], delivery["last_status"]) == (1, 200)
    assert len(scene.texts()) == 2
    assert any("Hello" in text for text in scene.texts())
    record = scene.state(message)
    assert (record["status"], len(record["attempts"])) == ("processed", 1)


def test_a_turn_that_fails_is_repeated(scene, receiver):
    """The receiver answers with an error; the same message comes again, and is answered once."""

    def failing(text):
        answering = "        await tools.send_message("
        raising = "        import pathlib\n        seen = pathlib.Path(__file__).with_name('seen')\n"
        raising += "        if not seen.exists():\n            seen.touch()\n            raise ValueError('at first')\n"
        return replaced(text, answering, raising + answering)

    receiver(failing)
    message = scene.say("Hello")
    waiting = scene.wait_until(message, "waiting")
    assert waiting["last_status"] == 500
    assert scene.state(message)["status"] == "failed"
    delivery = scene.wait_until(message, "delivered")
    assert delivery["attempts"] == 2
    record = scene.state(message)
    assert (record["status"], len(record["attempts"])) == ("processed", 2)
    assert len(scene.texts()) == 1


@pytest.mark.parametrize("library", VERIFIERS)
def test_published_libraries_verify(scene, requests, library):
    """Requests are signed according to Standard Webhooks, with both secrets after a rotation, and not with another one."""
    (url, kept), verifier = requests, VERIFIERS[library]
    scene.hook(url)
    old = scene.secret
    message = scene.say("Hello")
    scene.wait_until(message, "delivered")
    head, body = kept[0]
    event = verifier(old).verify(body, head)
    assert event is None or event["payload"]["id"] == message
    with pytest.raises(REFUSALS):
        verifier(old).verify(body.replace(b"Hello", b"Hallo"), head)
    with pytest.raises(REFUSALS):
        verifier("whsec_" + "A" * 44).verify(body, head)
    answer = scene.human.http.post(f"{scene.path}/rotate-secret")
    new = answer.json()["data"]["secret"]
    assert new != old
    scene.wait_until(scene.say("Hello again"), "delivered")
    head, body = kept[1]
    for secret in (old, new):
        verifier(secret).verify(body, head)
