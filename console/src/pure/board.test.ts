import assert from "node:assert/strict";
import { test } from "node:test";
import { editOf, fits, grouped, isNewer, type Entry, type Task } from "./board.ts";

const task = (number: number, overall_status: string, subject = `Task ${number}`): Task => ({
  id: `t-${number}`, number, overall_status, subject, detail: "", state: "active", chat_room_id: "r", inserted_at: "1", updated_at: "2",
  created_by: { id: "u", type: "User", name: "Ann", handle: "ann" },
  assignments: [{ assignee: { id: "a", type: "Agent", name: "Scribe", handle: "ann/scribe" }, status: "pending", active_form: "", linked_native_id: "", updated_at: "1" }],
});

test("tasks are grouped by status in its order, and sorted by number", () => {
  const tasks = [task(3, "pending"), task(10, "blocked"), task(2, "pending"), task(4, "unknown")];
  assert.deepEqual(grouped(tasks, ["blocked", "completed", "pending"]).map(([status, list]) => [status, list.map(one => one.number)]), [["blocked", [10]], ["pending", [2, 3]]]);
  assert.deepEqual(tasks.map(one => one.number), [3, 10, 2, 4], "the list itself stays as it is");
});

test("the filter takes words in any order, numbers, and assignees", () => {
  const one = task(12, "pending", "Write the release notes");
  for (const words of ["", "notes write", "#12", "SCRIBE", "@ann/scribe notes", " release "]) assert.ok(fits(one, words), words);
  for (const words of ["#2", "code", "notes code"]) assert.equal(fits(one, words), false, words);
});

test("an older version does not replace a newer one", () => {
  const old = task(1, "pending");
  assert.equal(isNewer(undefined, old), false);
  assert.equal(isNewer(old, old), false);
  assert.equal(isNewer({ ...old, updated_at: "3" }, old), true);
});

test("edits are read from payloads, whatever these contain", () => {
  const entry = (payload: Record<string, unknown>): Entry => ({ event: "edited", actor: task(1, "").created_by, at: "1", payload });
  assert.deepEqual(editOf(entry({ subject: { from: "a", to: "b" } }), "subject"), { from: "a", to: "b" });
  for (const payload of [{}, { subject: null }, { subject: "x" }, { subject: { from: "a" } }]) assert.equal(editOf(entry(payload), "subject"), undefined);
});
