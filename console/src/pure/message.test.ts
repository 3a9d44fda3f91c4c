import assert from "node:assert/strict";
import { test } from "node:test";
import { deliveriesOf, isStale, toolOf, usageOf, type Message } from "./message.ts";

const ECHO = { id: "a", handle: "ann/echo", name: "Echo", username: "ann/echo", kind: "mention" };
const attempt = (attempt_number: number, completed_at: string | null = null) =>
  ({ agent_id: "a", attempt_number, status: completed_at ? "failed" : "processing", started_at: "2026-01-01T00:00:01Z", completed_at, error: null });
function text(metadata: object, updated_at = "2026-01-01T00:00:00Z"): Message {
  return { id: "m", content: "", message_type: "text", sender_id: "u", sender_type: "User", sender_name: "Ann", chat_room_id: "r", attachments: [],
    inserted_at: "2026-01-01T00:00:00Z", updated_at, metadata: { mentions: [ECHO], ...metadata } };
}

test("a delivery without a record waits, and keeps the attempts before a retry", () => {
  assert.equal(deliveriesOf(text({}))[0]!.state, "new");
  const retried = deliveriesOf(text({ delivery_status: {}, attempts: [attempt(1, "2026-01-01T00:00:02Z")] }))[0]!;
  assert.deepEqual([retried.state, retried.attempt, retried.attempts.length], ["new", 1, 1]);
});

test("dead and held deliveries are distinguished from failed ones", () => {
  const state = (record: object) => deliveriesOf(text({ delivery_status: { a: { status: "failed", ...record } } }))[0]!.state;
  assert.equal(state({}), "failed");
  assert.equal(state({ dead_at: "2026-01-01T00:00:02Z", dead_reason: "no" }), "dead");
  assert.equal(state({ dead_at: "2026-01-01T00:00:02Z", held_by: "max_hops" }), "held");
});

test("people and references have no delivery", () => {
  const mentions = [{ ...ECHO, kind: "reference" }, { id: "p", handle: "bob", name: "Bob", kind: "mention" }];
  assert.equal(deliveriesOf(text({ mentions })).length, 0);
});

test("a step names its tool, and the tokens that it reports", () => {
  const step = (message_type: Message["message_type"], content: string, metadata = {}): Message => ({ ...text({}), message_type, content, metadata });
  const tool = (content: string) => toolOf(step("tool_call", content));
  assert.equal(tool('{"name": "band_send_message", "args": {}}'), "band_send_message");
  assert.equal(tool(' {"name":"search","args":{"name":"x'), "search");
  assert.equal(toolOf(step("tool_result", '{"name": "search", "output": "3"}')), "search");
  for (const content of ["search", '{"args": {"name": "x"}}', '{"name": 1}', '[{"name": "x"}]', ""]) assert.equal(tool(content), undefined, content);
  assert.equal(toolOf(step("thought", '{"name": "search"}')), undefined);
  const band_usage = { input_tokens: 240, output_tokens: 80 };
  assert.equal(usageOf(step("task", "Token usage", { band_usage })), band_usage);
  assert.equal(usageOf(step("task", "Token usage: input=240")), undefined);
  assert.equal(usageOf(step("thought", "", { band_usage })), undefined);
});

test("an older state is stale: an older edit, fewer attempts, or an attempt that is open again", () => {
  const failed = text({ attempts: [attempt(1, "2026-01-01T00:00:02Z")] });
  assert.equal(isStale(failed, text({ attempts: [attempt(1)] })), true);
  assert.equal(isStale(failed, text({ attempts: [] })), true);
  assert.equal(isStale(failed, text({ attempts: [attempt(1, "2026-01-01T00:00:02Z"), attempt(2)] })), false);
  assert.equal(isStale(text({}, "2026-01-02T00:00:00Z"), text({})), true);
  assert.equal(isStale(text({}), text({}, "2026-01-02T00:00:00Z")), false);
  // A retry takes the record away and keeps the attempts.
  assert.equal(isStale(failed, text({ delivery_status: {}, attempts: [attempt(1, "2026-01-01T00:00:02Z")] })), false);
});
