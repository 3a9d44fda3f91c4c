"""An agent that answers every message with the words it was sent. It needs no model."""

import asyncio
import os

from band import Agent, configure_logging_from_env
from band.core.simple_adapter import SimpleAdapter

URL = os.environ.get("BAND_REST_URL", "http://127.0.0.1:4000")


class Echo(SimpleAdapter):
    async def on_message(self, msg, tools, *context, **details):
        # An answer has to mention somebody; here it is whoever asked.
        await tools.send_message(f"You said: {msg.content}", mentions=[{"id": msg.sender_id}])


def run(adapter):
    configure_logging_from_env()
    agent = Agent.create(
        adapter,
        agent_id=os.environ["BAND_AGENT_ID"],
        api_key=os.environ["BAND_API_KEY"],
        rest_url=URL,
        ws_url=URL.replace("http", "ws", 1) + "/api/v1/socket/websocket",
    )
    asyncio.run(agent.run())


if __name__ == "__main__":
    run(Echo())
