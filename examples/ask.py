"""Asks an agent a question in a room, and prints the answer. Needs nothing but Python.

    PARLANCE_KEY=thnv_u_… BAND_AGENT_ID=… python3 examples/ask.py "Are you there?"

The first call makes a room, adds the agent, and prints the room's id; --room continues there.
"""

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.request

URL = os.environ.get("BAND_REST_URL", "http://127.0.0.1:4000")
PATIENCE_SECONDS = 60


def call(path, body=None):
    """One request as the human whose key is in PARLANCE_KEY; a body makes it a POST."""
    request = urllib.request.Request(
        f"{URL}/api/v1/me/{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"X-API-Key": os.environ["PARLANCE_KEY"], "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as refused:
        sys.exit(f"{refused.code}: {json.load(refused)['error']['message']}")
    except urllib.error.URLError as failed:
        sys.exit(f"No answer from {URL}: {failed.reason}. Is the server running?")


def main():
    arguments = argparse.ArgumentParser(description="Ask an agent a question and print its answer.")
    arguments.add_argument("question")
    arguments.add_argument("--room", help="id of a room that the agent is in; default: make one")
    arguments = arguments.parse_args()
    missing = [name for name in ("PARLANCE_KEY", "BAND_AGENT_ID") if name not in os.environ]
    if missing:
        sys.exit(f"Set {' and '.join(missing)} first; see README.md.")
    agent = os.environ["BAND_AGENT_ID"]

    room = arguments.room
    if room is None:
        room = call("chats", {"chat": {}})["id"]
        call(f"chats/{room}/participants", {"participant": {"participant_id": agent}})
        print(f"Room: {room}")
    message = {"content": arguments.question, "mentions": [{"id": agent}]}
    question = call(f"chats/{room}/messages", {"message": message})["id"]

    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        for message in call(f"chats/{room}/messages"):  # newest first
            if message["id"] == question:
                break
            if message["sender_id"] == agent and message["message_type"] == "text":
                print(f"{message['sender_name']}: {message['content']}")
                return
        time.sleep(0.2)
    sys.exit("No answer yet. Is the agent running?")


if __name__ == "__main__":
    main()
