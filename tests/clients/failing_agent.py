"""The agent of agent.py, whose handler fails at the messages that a file names.

POISON_FILE names the file; it holds the tokens of the messages.
"""

import os
from pathlib import Path

from agent import Echo, run

POISON = Path(os.environ["POISON_FILE"])


class FailingEcho(Echo):
    async def on_message(self, msg, tools, *context, **details):
        if any(token in msg.content for token in POISON.read_text().split()):
            raise RuntimeError("OPENAI_API_KEY is not set")
        await super().on_message(msg, tools, *context, **details)


if __name__ == "__main__":
    run(FailingEcho())
