import assert from "node:assert/strict";
import { test } from "node:test";
import { layout, type TreeMessage } from "./tree.ts";

const message = (id: string, cause: string | null, type = "text", sender = "u"): TreeMessage => ({
  id, cause_id: cause, hop: 0, content: id, message_type: type, sender_id: sender, sender_type: "Agent", sender_name: sender, chat_room_id: "r", attachments: [], metadata: {},
  inserted_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:00Z",
});
const shape = (messages: TreeMessage[]) => layout(messages).map(row => (row.kind === "steps" ? `${row.depth} ${row.line.events.length} steps` : `${row.depth} ${row.message.id}${row.above ? ` < ${row.above.id}` : row.above === null ? " < ?" : ""}`));

test("each message is below the one that it follows from", () => {
  assert.deepEqual(shape([message("a", null), message("b", "a"), message("c", "a"), message("d", "b")]), ["0 a", "1 b", "2 d", "1 c < a"]);
});

test("steps of one agent are one row, before what was said", () => {
  assert.deepEqual(shape([message("a", null), message("s", "a", "thought", "x"), message("b", "a"), message("t", "a", "tool_call", "x"), message("u", "a", "thought", "y")]), ["0 a", "1 2 steps", "1 1 steps", "1 b"]);
});

test("a message whose cause is not listed says so", () => {
  assert.deepEqual(shape([message("b", "elsewhere"), message("c", "b")]), ["0 b < ?", "1 c"]);
});

test("trees can be deep", () => {
  const rows = layout(Array.from({ length: 20_000 }, (_, at) => message(`m${at}`, at === 0 ? null : `m${at - 1}`)));
  assert.equal(rows.at(-1)!.depth, 19_999);
});
