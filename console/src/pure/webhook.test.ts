import assert from "node:assert/strict";
import { test } from "node:test";
import { disabledAfter, hasSucceeded, latest, stageOf } from "./webhook.ts";

const sent = (status: string, last_status: number | null, last_error: string | null = null, last_attempt_at: string | null = null) =>
  ({ id: "d", chat_room_id: "c", message_id: "m", attempts: 1, inserted_at: "2026-07-01T10:00:00Z", status, last_status, last_error, last_attempt_at });

test("a failing webhook is disabled no sooner than three days after its first failure", () => {
  assert.equal(disabledAfter({ status: "failing", failing_since: "2026-07-01T10:00:00.000000Z" }), "2026-07-04T10:00:00.000Z");
  assert.equal(disabledAfter({ status: "active", failing_since: "2026-07-01T10:00:00Z" }), "2026-07-04T10:00:00.000Z");
  assert.equal(disabledAfter({ status: "active", failing_since: null }), null);
  assert.equal(disabledAfter({ status: "disabled", failing_since: "2026-07-01T10:00:00Z" }), null);
});

test("2xx is a success, and no answer is a failure", () => {
  assert.deepEqual([200, 204, 299].map(status => hasSucceeded(sent("delivered", status))), [true, true, true]);
  assert.deepEqual([199, 301, 410, 500].map(status => hasSucceeded(sent("waiting", status))), [false, false, false, false]);
  assert.equal(hasSucceeded(sent("waiting", null, "connection refused")), false);
  assert.equal(hasSucceeded(sent("sending", null)), null);
});

test("a delivery that waits says what it waits for", () => {
  assert.deepEqual([sent("waiting", null), sent("waiting", 500), sent("waiting", null, "timed out"), sent("waiting", 200), sent("sending", 500), sent("delivered", 200), sent("dropped", 404)].map(stageOf),
    ["waiting", "failed", "failed", "working", "sending", "delivered", "dropped"]);
  assert.equal(stageOf({ ...sent("waiting", 500), attempts: 0 }), "waiting");
});

test("the latest success and failure are found in any order", () => {
  const rows = [sent("delivered", 200, null, "2026-07-01T10:00:00.5Z"), sent("waiting", 500, null, "2026-07-01T12:00:00Z"), sent("delivered", 204, null, "2026-07-01T11:00:00Z"), sent("waiting", null, "timed out", "2026-07-01T09:00:00Z"), sent("sending", null)];
  assert.equal(latest(rows, true), "2026-07-01T11:00:00Z");
  assert.equal(latest(rows, false), "2026-07-01T12:00:00Z");
  assert.equal(latest([], true), null);
});
