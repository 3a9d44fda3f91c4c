import assert from "node:assert/strict";
import { test } from "node:test";
import { completing, matching, mentionedIn } from "./mention.ts";

const people = [
  { id: "1", name: "Echo", handle: "ann/echo" },
  { id: "2", name: "Echo two", handle: "ann/echo-2" },
  { id: "3", name: "Ann Lee", handle: "ann" },
  { id: "4", name: "Bob", handle: "bob.b" },
];
const ids = (list: { id: string }[]): string => list.map(one => one.id).join("");

test("finds whole handles only, the longest one, in the order of the text", () => {
  for (const [text, expected] of [
    ["@ann/echo hi", "1"], ["@ann/echo-2 hi", "2"], ["@ann/echo, and @ann.", "13"], ["(@bob.b)", "4"], ["@bob.b.", "4"], ["@ANN/Echo", "1"],
    ["mail@ann.example", ""], ["@ann/echos", ""], ["@annie", ""], ["@bob", ""], ["@@ann", ""], ["", ""], ["@ann @ann", "3"],
  ] as const) assert.equal(ids(mentionedIn(text, people)), expected, text);
});

test("completes what is typed at the caret", () => {
  assert.deepEqual(completing("hi @an", 6), { from: 3, query: "an" });
  assert.deepEqual(completing("@", 1), { from: 0, query: "" });
  assert.equal(completing("mail@an", 7), null);
  assert.equal(completing("@an x", 5), null);
  assert.deepEqual(completing("@an x", 3), { from: 0, query: "an" });
});

test("agents come first, beginnings before the rest", () => {
  assert.equal(ids(matching(people, "")), "1234".slice(0, 2) + "34");
  assert.equal(ids(matching(people, "an")), "312");
  assert.equal(ids(matching(people, "two")), "2");
  assert.equal(ids(matching(people, "zzz")), "");
});
