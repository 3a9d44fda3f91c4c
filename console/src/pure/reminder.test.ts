import assert from "node:assert/strict";
import { test } from "node:test";
import { said, stamp } from "./reminder.ts";

test("a text is shown with handles, and in part", () => {
  const mentions = [{ id: "7", handle: "ann/bot", name: "Bot", kind: "mention", type: "Agent" }];
  assert.equal(said({ content: "@[[7]] look\n again", mentions }), "@ann/bot look again");
  assert.equal(said({ content: "@[[8]]", mentions }), "@[[8]]");
  const long = said({ content: "x".repeat(300), mentions: [] });
  assert.equal(long.length, 121);
  assert.ok(long.endsWith("…"));
});

test("a time is that of a field", () => {
  assert.equal(stamp(new Date(2026, 0, 2, 3, 4, 59).getTime()), "2026-01-02T03:04");
  assert.equal(new Date(stamp(Date.UTC(2026, 10, 29, 17, 5))).getTime(), Date.UTC(2026, 10, 29, 17, 5));
});
