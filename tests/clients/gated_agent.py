"""The agent of agent.py, held inside its handler until a file appears.

A turn has then been claimed and its answer not yet posted, for as long as a test
likes, so that a kill can be placed exactly there.

GATE_DIR names a directory. The file `entered` is written when the first message
reaches the handler; every message waits until the file `open` exists. The file `cancelled`
is written when a waiting handler is cancelled.
"""

import asyncio
import os
from pathlib import Path

from agent import Echo, run

GATE = Path(os.environ["GATE_DIR"])


class GatedEcho(Echo):
    async def on_message(self, msg, tools, *context, **details):
        (GATE / "entered").touch()
        try:
            async with asyncio.timeout(120):
                while not (GATE / "open").exists():
                    await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            (GATE / "cancelled").touch()
            raise
        await super().on_message(msg, tools, *context, **details)


if __name__ == "__main__":
    run(GatedEcho())
