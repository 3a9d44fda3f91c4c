import assert from "node:assert/strict";
import { test } from "node:test";
import { canDo, filtersOf, frontier, groupsOf, merge, retryable, sinceOf, viewOf, type Item } from "./work.ts";

const query = (text: string): URLSearchParams => new URLSearchParams(text);
const item = (number: number, more: Partial<Item> = {}): Item => ({
  age_ms: 0, attempts: [], chat_room_id: "r", current_attempt: 0, flags: [], inserted_at: `2026-01-01T00:00:${String(number).padStart(2, "0")}.000000Z`,
  message_id: `m${number}`, sequence: number, state: "new", sender: { id: "u", type: "User" },
  agent: { id: "a", handle: "ann/writer", name: "Writer", connected: false, paused: false, stopped: false }, ...more,
});
const failed = (number: number, error: string, name = "Writer"): Item => {
  const one = item(number, { state: "failed" });
  return { ...one, agent: { ...one.agent, name }, attempts: [{ attempt_number: 1, status: "failed", started_at: one.inserted_at, completed_at: `2026-01-01T01:00:0${number}.000000Z`, error }] };
};

test("an address asks for states and flags, each with a request of its own", () => {
  assert.deepEqual(filtersOf(query("")), [{ flag: "failing" }, { flag: "stuck" }, { flag: "unanswered" }, { flag: "held" }]);
  assert.deepEqual(filtersOf(query("state=new,delivered&agent=a")), [{ agent_id: "a", state: "new" }, { agent_id: "a", state: "delivered" }]);
  assert.deepEqual(filtersOf(query("state=open&room=r&root=m&error=+x+")), [{ chat_id: "r", root: "m", error: "x" }]);
  assert.deepEqual(filtersOf(query("state=failed&flag=failing")), [{ state: "failed", flag: "failing" }]);
  assert.deepEqual(filtersOf(query("state=nonsense")).length, 4);
  assert.deepEqual(filtersOf(query("state=failed&error=x&scope=organization")), [{ state: "failed" }]);
  assert.deepEqual([viewOf(query("")), viewOf(query("flag=stuck&agent=a")), viewOf(query("flag=failing"))], ["needy", "stuck", undefined]);
});

test("what has nothing to retry is not asked for", () => {
  assert.deepEqual(retryable([{ state: "new" }, { state: "processing" }, { state: "dead" }]), [{ state: "processing", flag: "stuck" }, { state: "dead" }]);
  assert.deepEqual(retryable([{ flag: "unanswered", agent_id: "a" }]), [{ flag: "unanswered", agent_id: "a", state: "delivered" }]);
  assert.deepEqual(retryable([{ chat_id: "r" }]), [{ chat_id: "r", state: "failed" }, { chat_id: "r", state: "delivered" }, { chat_id: "r", flag: "stuck" }]);
  assert.deepEqual(retryable([{ state: "processing", flag: "failing" }]), []);
});

test("parts are merged by age, without what could have something missing before it", () => {
  const parts = [{ rows: [item(1), item(5)], cursor: "more" }, { rows: [item(1), item(2), item(7)], cursor: undefined }];
  assert.deepEqual(merge(parts).map(one => one.sequence), [1, 2, 5]);
  assert.equal(frontier(parts), item(5).inserted_at);
  assert.deepEqual(merge(parts.map(part => ({ ...part, cursor: undefined }))).map(one => one.sequence), [1, 2, 5, 7]);
  assert.equal(frontier([{ rows: [], cursor: undefined }]), undefined);
});

test("errors that differ in numbers are one group", () => {
  const groups = groupsOf([failed(1, "Error 529: the model is busy\n at x"), failed(2, "Error 530: the model is busy", "Reader"), failed(3, "KeyError"), item(4), failed(5, "KeyError")]);
  assert.deepEqual(groups.map(one => [one.text, one.error, one.count, one.agents]), [
    ["KeyError", "KeyError", 2, ["Writer"]],
    ["Error #: the model is busy", ": the model is busy", 2, ["Writer", "Reader"]],
  ]);
  assert.deepEqual([groups[1]!.first, groups[1]!.last].map(one => one.slice(17, 19)), ["01", "02"]);
  // Nothing that could be looked for.
  assert.equal(groupsOf([failed(1, "500"), failed(2, "502")])[0]!.error, "");
});

test("what can be done follows from the state", () => {
  assert.deepEqual(canDo("new", [], null), { retry: false, deadLetter: true, reassign: true, sendAgain: false, interrupt: false });
  assert.deepEqual(canDo("processing", [], null), { retry: false, deadLetter: true, reassign: false, sendAgain: false, interrupt: true });
  assert.equal(canDo("processing", ["stuck"], null).retry, true);
  assert.deepEqual(Object.values(canDo("dead", [], "m")), [false, false, false, false, false]);
  assert.equal(sinceOf(failed(1, "x")), "2026-01-01T01:00:01.000000Z");
  assert.equal(sinceOf(item(1)), item(1).inserted_at);
});
