import assert from "node:assert/strict";
import { test } from "node:test";
import { addEarlier, addStep, fold, MOST_KEPT, MOST_STEPS, spread, START } from "./fold.ts";
import type { Message } from "./message.ts";

const NOON = Date.parse("2026-01-01T12:00:00Z");
const make = (id: string, second: number, message_type = "text", sender_id = "ann", sender_type = "User"): Message => ({
  id, content: id, message_type, sender_id, sender_type, sender_name: sender_id, chat_room_id: "r", attachments: [], metadata: {},
  inserted_at: new Date(NOON + second * 1000).toISOString(), updated_at: new Date(NOON + second * 1000).toISOString(),
});
const shown = (rows: Message[], events: Message[], isAll = true): string[] =>
  fold(rows, spread(rows, events, isAll, false)).map(row => `${row.kind} ${row.kind === "steps" ? `${row.sender} ${row.events.length}` : row.kind === "text" ? `${row.message.id}${row.isContinued ? "+" : ""}` : ""}`.trim());

test("steps are one line for each agent, between the texts that they lie between", () => {
  const rows = [make("t1", 0), make("t2", 10)];
  const events = [make("e1", 1, "thought", "echo"), make("e2", 2, "thought", "scout"), make("e3", 3, "tool_call", "echo"), make("e4", 11, "error", "echo")];
  assert.deepEqual(shown(rows, events), ["day", "text t1", "steps echo 2", "steps scout 1", "text t2", "steps echo 1"]);
});

test("a line stands before the first unread text, which has a heading of its own", () => {
  const rows = [make("t1", 0), make("t2", 10), make("t3", 20)];
  const kinds = (first?: string): string[] => fold(rows, new Map(), first).map(row => row.kind === "text" ? `${row.message.id}${row.isContinued ? "+" : ""}` : row.kind);
  assert.deepEqual(kinds("t2"), ["day", "t1", "new", "t2", "t3+"]);
  assert.deepEqual(kinds(), ["day", "t1", "t2+", "t3+"]);
});

test("texts of one sender in a row share a heading for five minutes", () => {
  assert.deepEqual(shown([make("a", 0), make("b", 60), make("c", 400), make("d", 410, "text", "bob")], []), ["day", "text a", "text b+", "text c", "text d"]);
});

test("steps that were not read are offered where an agent answers", () => {
  const rows = [make("t1", 0), make("t2", 10, "text", "echo", "Agent"), make("t3", 20), make("t4", 30, "text", "echo", "Agent")];
  assert.deepEqual(fold(rows, spread(rows, [make("e", 25, "thought", "echo")], false, false)).map(row => row.kind === "steps" && row.isPartial).filter(Boolean), [true]);
  assert.deepEqual(shown(rows, [make("e", 25, "thought", "echo")], false), ["day", "text t1", "unknown", "text t2", "text t3", "steps echo 1", "text t4"]);
});

test("a page of steps belongs to the rows behind it only", () => {
  const rows = [make("t1", 0), make("t2", 10)];
  assert.deepEqual([...spread(rows, [make("e", -5, "thought", "echo")], true, true).keys()].includes(START), false);
  assert.equal(spread(rows, [make("e", -5, "thought", "echo")], true, false).get(START)?.events.length, 1);
});

test("a step is counted once, and old ones are dropped and counted", () => {
  let gap = addStep(undefined, make("e0", 0, "thought", "echo"));
  assert.equal(addStep(gap, gap.events[0]!), gap);
  for (let at = 1; at < MOST_STEPS + 25; at++) gap = addStep(gap, make(`e${at}`, at, "thought", "echo"));
  assert.deepEqual([gap.events.length, gap.dropped, gap.events[0]!.id], [MOST_STEPS, 25, "e25"]);
});

test("of a long step, the beginning is kept", () => {
  const long = { ...make("e", 0, "tool_result", "echo"), content: "x".repeat(16_000), metadata: { big: "y".repeat(16_000) } };
  const [kept] = addStep(undefined, long).events;
  assert.deepEqual([kept!.content.length, kept!.metadata, kept!.characters], [MOST_KEPT, {}, 16_000]);
  const short = make("e", 0, "thought", "echo");
  assert.equal(addStep(undefined, short).events[0], short);
});

test("earlier steps are put in front until all are there", () => {
  const rows = [make("t1", 0), make("t2", 1000)];
  const step = (at: number): Message => make(`e${at}`, at, "thought", "echo");
  let gap = addStep({ events: [], dropped: 5, complete: false }, step(50));
  const line = (): unknown => fold(rows, new Map([["t1", gap]])).flatMap(row => (row.kind === "steps" ? [row.events.length, row.hasEarlier] : []));
  assert.deepEqual(line(), [1, true]);
  gap = addEarlier(gap, [step(48), step(49), step(50)], false);
  assert.deepEqual([gap.events.map(event => event.id), gap.dropped, gap.complete], [["e48", "e49", "e50"], 3, false]);
  gap = addEarlier(gap, [step(47)], true);
  assert.deepEqual([gap.dropped, gap.complete, line()], [0, true, [4, false]]);
});
