import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST_WAITING, Queue } from "./queue.ts";
import type { Message } from "./message.ts";

const message = (content: string): Message => ({
  id: "m", content, message_type: "text", sender_id: "u", sender_type: "User", sender_name: "Ann", chat_room_id: "r", attachments: [], metadata: {},
  inserted_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:00Z",
});

test("events are taken once, in their order", () => {
  const queue = new Queue();
  queue.put({ kind: "created", message: message("a") });
  queue.put({ kind: "updated", message: message("b") });
  queue.put({ kind: "deleted", id: "m" });
  assert.deepEqual(queue.take().map(one => one.kind), ["created", "updated", "deleted"]);
  assert.equal(queue.isEmpty, true);
});

test("more than fits is dropped, and that is known", () => {
  for (const [count, content] of [[MOST_WAITING + 1, "x"], [9, "x".repeat(500_000)]] as const) {
    const queue = new Queue();
    for (let at = 0; at < count; at++) queue.put({ kind: "created", message: message(content) });
    assert.equal(queue.isLost, true);
    queue.put({ kind: "created", message: message("after") });
    assert.deepEqual(queue.take(), []);
    assert.equal(queue.isEmpty, false);
  }
});
