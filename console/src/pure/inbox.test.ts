import assert from "node:assert/strict";
import { test } from "node:test";
import { isLate, waysOf } from "./inbox.ts";

test("ways_are_those_that_are_known_in_order", () => {
  assert.deepEqual(waysOf({ answers: ["dismiss", "decline", "approve"] }), ["approve", "decline", "dismiss"]);
  assert.deepEqual(waysOf({ answers: ["retry", "dead_letter", "something new"] }), []);
});

test("an_item_is_late_from_its_time_on", () => {
  const until = "2026-07-01T10:00:00Z";
  assert.deepEqual([isLate(until, Date.parse(until) - 1), isLate(until, Date.parse(until))], [false, true]);
});
