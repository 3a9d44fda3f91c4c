"""The agent of agent.py, which hands on what it is sent to the next agent of a ring."""

import os

from agent import Echo, run


class Ring(Echo):
    async def on_message(self, msg, tools, *context, **details):
        await tools.send_message("And you?", mentions=[{"id": os.environ["RING_NEXT"]}])


if __name__ == "__main__":
    run(Ring())
