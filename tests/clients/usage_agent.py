"""The agent of agent.py, which reports tokens with the client's own emit_usage.

Each turn is two calls of a model, which are summed as the adapters of the client do it. The counts
depend on the length of the message, so that no two turns need be alike.
"""

from typing import ClassVar

from agent import Echo, run
from band.core.types import Emit, TurnUsage


class MeteredEcho(Echo):
    SUPPORTED_EMIT: ClassVar = frozenset({Emit.USAGE})

    async def on_message(self, msg, tools, *context, **details):
        length = len(msg.content)
        call = TurnUsage(input_tokens=length, output_tokens=7, cache_read_tokens=3)
        again = TurnUsage(input_tokens=2 * length, output_tokens=1, cache_write_tokens=5)
        try:
            await super().on_message(msg, tools, *context, **details)
        finally:
            await self.emit_usage(tools, call + again)
            await self.emit_usage(tools, TurnUsage())


if __name__ == "__main__":
    run(MeteredEcho())
