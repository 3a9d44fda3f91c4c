"""A model for tests, on this machine: it speaks the APIs of OpenAI and Anthropic, streamed or not.

    model.py QUESTION ANSWER ADDRESS_FILE

Clients find it with OPENAI_BASE_URL and ANTHROPIC_BASE_URL. Asked the question, with a tool that sends messages, it sends the answer with that tool to the user `admin`. When it has
the result of the tool, it has nothing more to do. It refuses everything else, so a framework that loses the question or
the tools fails.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

QUESTION, ANSWER = sys.argv[1:3]
TOOL = "band_send_message"
DONE = "Done."

# How the result of a tool is marked in each of the APIs.
RESULTS = ('role": "tool', 'type": "function_call_output', 'type": "tool_result')


class Refused(Exception):
    """The request is not what an agent sends that was asked the question."""


def tool_call(request, tools):
    """The name and the arguments of the call that answers, from the tools by name; None once it was made."""
    has_result = any(f'"{mark}"' in request for mark in RESULTS)
    if has_result or not tools:
        return None
    if QUESTION not in request:
        raise Refused(f"the question is missing: {request}")
    name = next((name for name in tools if name.endswith(TOOL)), None)
    if name is None:
        raise Refused(f"no tool sends messages: {sorted(tools)}")
    values = {"content": ANSWER, "mentions": ["@admin"]}
    missing = set(tools[name].get("required", [])) - values.keys()
    if missing:
        raise Refused(f"unknown arguments of {name}: {missing}")
    return name, values


def completions(request):
    """The answer to POST /v1/chat/completions: one document, or the chunks of a stream."""
    functions = [tool["function"] for tool in request.get("tools", [])]
    call = tool_call(json.dumps(request["messages"]), {one["name"]: one["parameters"] for one in functions})
    if call is None:
        message, reason = {"role": "assistant", "content": DONE}, "stop"
    else:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        calls = [{"index": 0, "id": "call_1", "type": "function", "function": function}]
        message, reason = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
    head = {"id": "chatcmpl-1", "created": 0, "model": request["model"]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not request.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return head | {"object": "chat.completion", "choices": [choice], "usage": usage}
    head["object"] = "chat.completion.chunk"
    chunks = [
        head | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        head | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        head | {"choices": [], "usage": usage},
    ]
    return [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]


def responses(request):
    """The answer to POST /v1/responses: one document, or the events of a stream."""
    tools = {tool["name"]: tool["parameters"] for tool in request.get("tools", [])}
    call = tool_call(json.dumps(request["input"]), tools)
    if call is None:
        part = {"type": "output_text", "text": DONE, "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
        begin, place = item | {"content": []}, {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        steps = [
            place | {"type": "response.content_part.added", "part": part | {"text": ""}},
            place | {"type": "response.output_text.delta", "delta": DONE, "logprobs": []},
            place | {"type": "response.output_text.done", "text": DONE, "logprobs": []},
            place | {"type": "response.content_part.done", "part": part},
        ]
    else:
        values = json.dumps(call[1])
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": call[0], "arguments": values}
        begin, place = item | {"arguments": ""}, {"item_id": "fc_1", "output_index": 0}
        steps = [
            place | {"type": "response.function_call_arguments.delta", "delta": values},
            place | {"type": "response.function_call_arguments.done", "arguments": values, "name": call[0]},
        ]
    item |= {"status": "completed"}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    head = {"id": "resp_1", "object": "response", "created_at": 0, "model": request["model"], "tools": []}
    head |= {"parallel_tool_calls": False, "tool_choice": "auto", "error": None, "incomplete_details": None}
    answer = head | {"status": "completed", "output": [item], "usage": usage}
    if not request.get("stream"):
        return answer
    events = [
        {"type": "response.created", "response": head | {"status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": begin | {"status": "in_progress"}},
        *steps,
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": answer},
    ]
    return events_of([event | {"sequence_number": number} for number, event in enumerate(events)])


def events_of(events):
    """Events as a stream has them, named by their type."""
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]


def messages(request):
    """The answer to POST /v1/messages: one document, or the events of a stream."""
    tools = {tool["name"]: tool.get("input_schema", {}) for tool in request.get("tools", [])}
    call = tool_call(json.dumps(request["messages"]), tools)
    if call is None:
        block, reason = {"type": "text", "text": DONE}, "end_turn"
    else:
        block, reason = {"type": "tool_use", "id": "toolu_1", "name": call[0], "input": call[1]}, "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "usage": usage}
    message |= {"stop_sequence": None}
    if not request.get("stream"):
        return message | {"content": [block], "stop_reason": reason}
    if call is None:
        begin, delta = block | {"text": ""}, {"type": "text_delta", "text": DONE}
    else:
        begin, delta = block | {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    events = [
        {"type": "message_start", "message": message | {"content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": begin},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return events_of(events)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        apis = {"/v1/chat/completions": completions, "/v1/responses": responses, "/v1/messages": messages}
        try:
            if (api := apis.get(self.path.partition("?")[0])) is None:
                raise Refused(f"unknown: {self.path}")
            answer = api(json.loads(body))
        except Refused as refused:
            print(refused, file=sys.stderr)
            return self.send(400, "application/json", json.dumps({"error": {"message": str(refused)}}))
        if isinstance(answer, list):
            return self.send(200, "text/event-stream", "".join(answer))
        return self.send(200, "application/json", json.dumps(answer))

    def send(self, status, kind, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Path(sys.argv[3]).write_text(f"http://127.0.0.1:{server.server_port}")
    server.serve_forever()
