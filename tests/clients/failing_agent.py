"""The agent of agent.py, whose handler raises on one message: the one that contains FAILS_ON."""

import os

from agent import Echo, run


class FailingEcho(Echo):
    async def on_message(self, msg, tools, *context, **details):
        if os.environ["FAILS_ON"] in msg.content:
            raise RuntimeError("OPENAI_API_KEY is not set")
        await super().on_message(msg, tools, *context, **details)


if __name__ == "__main__":
    run(FailingEcho())
