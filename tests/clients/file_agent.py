"""An agent that calls the file tools of the client, as its model would.

Whoever asks it to share gets a file to PEER, the handle of another such agent. That agent reads the file and shares one of
its own, and the first one tells PERSON what it read there. A picture is answered with its digest.
"""

import base64
import hashlib
import os
from typing import ClassVar

from agent import run
from band.core.simple_adapter import SimpleAdapter
from band.core.types import Capability

TOOLS = {"band_list_room_files", "band_read_room_file", "band_send_room_file"}


class Sharer(SimpleAdapter):
    SUPPORTED_CAPABILITIES: ClassVar = frozenset({Capability.FILES})

    def __init__(self):
        super().__init__(capabilities=Capability.FILES)
        self.began = False

    async def on_message(self, msg, tools, *context, **details):
        call = tools.execute_tool_call
        schemas = tools.get_tool_schemas("openai", capabilities=self.features.capabilities)
        offered = TOOLS & {schema["function"]["name"] for schema in schemas}
        if offered != TOOLS:
            await self.tell(tools, f"I have {len(offered)} of the file tools.")
        elif "please share" in msg.content.lower():
            self.began = True
            await self.share(call, "Written by the one who was asked: ü")
        else:
            files = (await call("band_list_room_files", {}))["data"]
            newest = [file for file in files if file["name"] != self.file_name()][-1]
            read = await call("band_read_room_file", {"file_id": newest["id"]})
            if "content" in read:
                picture = base64.b64decode(read["content"][0]["data"])
                await self.tell(tools, f"Saw {hashlib.sha256(picture).hexdigest()}")
            elif self.began:
                await self.tell(tools, f"Read {read['name']} ({read['content_type']}): {read['text']}")
            else:
                await self.share(call, f"Answer to: {read['text']}")

    def file_name(self):
        return f"{self.agent_name} notes.txt"

    async def share(self, call, text):
        file = {"filename": self.file_name(), "content": text, "mentions": [os.environ["PEER"]]}
        shared = await call("band_send_room_file", file)
        assert shared["attachment"]["bytes"] == len(text.encode()), shared

    async def tell(self, tools, text):
        await tools.send_message(text, mentions=[os.environ["PERSON"]])


if __name__ == "__main__":
    run(Sharer())
