import assert from "node:assert/strict";
import { test } from "node:test";
import { find, prepared, type Target } from "./goto.ts";

const target = (id: string, name: string, at = "", also = ""): Target => ({ id, name, also, at });
const ids = (list: Target[], query: string, most = 50): string => find(prepared(list), query, most).map(one => one.id).join("");

test("all of the name, its beginning, a word in it, inside, in this order", () => {
  const list = [target("a", "Complaints"), target("b", "The launch plan"), target("c", "Planning"), target("d", "Plan"), target("e", "Rooms")];
  assert.equal(ids(list, "plan"), "dcb");
  assert.equal(ids(list, "lain"), "a");
  assert.equal(ids(list, "PLAN "), "dcb");
  assert.equal(ids(list, "zzz"), "");
});

test("the last used comes first among equals, and nothing typed shows the last used", () => {
  const list = [target("a", "Plan one", "2026-01-01"), target("b", "Plan two", "2026-03-01"), target("c", "Plan three", "2026-02-01"), target("d", "Plan")];
  assert.equal(ids(list, "plan"), "dbca");
  assert.equal(ids(list, ""), "bcad");
  assert.equal(ids(list, "", 2), "bc");
});

test("the handle is searched after the name, and words in any order", () => {
  const list = [target("a", "Echo", "", "@ann/echo"), target("b", "Annual report"), target("c", "Budget of the year", "2026-01-01")];
  assert.equal(ids(list, "ann"), "ba");
  assert.equal(ids(list, "ann/"), "a");
  assert.equal(ids(list, "year budget"), "c");
  assert.equal(ids(list, "year plan"), "");
});

test("words of any language begin behind what is no letter", () => {
  const list = [target("a", "Große Über-Sicht"), target("b", "xüber")];
  assert.equal(ids(list, "über"), "ab");
  assert.equal(ids(list, "sicht"), "a");
  assert.equal(ids([target("a", "aplan plan")], "plan"), "a");
  // The first place is inside of a word, a later one begins a word.
  assert.equal(ids([target("a", "xplan"), target("b", "xplan plan")], "plan"), "ba");
});

test("texts with signs of regular expressions are only texts", () => {
  assert.equal(ids([target("a", "a+b (c) [d]")], "b (c"), "a");
  assert.equal(ids([target("a", "abc")], ".*"), "");
});

test("two thousand are found within a frame", () => {
  const all = prepared(Array.from({ length: 2000 }, (_, at) => target(String(at), `Room ${at} about something or other`, `2026-01-${at}`)));
  find(all, "other", 50);
  const begun = process.cpuUsage();
  for (let count = 0; count < 10; count++) find(all, "room 19", 50);
  const took = process.cpuUsage(begun).user / 10_000;
  assert.ok(took < 100, `${took} ms of the processor`);
});
