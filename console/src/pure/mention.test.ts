import assert from "node:assert/strict";
import { test } from "node:test";
import { completing, matching, mentionsIn } from "./mention.ts";

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
    ["mail@ann.example", ""], ["@ann/echos", ""], ["@annie", ""], ["@bob.", "4"], ["@bob.c", ""], ["é@ann", ""], ["@@ann", ""], ["", ""], ["@ann @ann", "3"],
  ] as const) assert.equal(ids(mentionsIn(text, people).found), expected, text);
});

test("finds names that only one has, and says which word is nobody", () => {
  const all = [...people, { id: "5", name: "Jörg (Ops)", handle: "jo" }, { id: "6", name: "Twin", handle: "ann/twin" }, { id: "7", name: "twin", handle: "bob.b/twin" }, { id: "8", name: "ann", handle: "bob.b/ann" }];
  for (const [text, expected, nobody] of [
    ["@Echo hi", "1", ""], ["@echo two, hi", "2", ""], ["@Ann Lee and @Bob.", "34", ""], ["@Jörg (Ops): hi", "5", ""], ["@ann hi", "3", ""],
    ["@Twin hi", "", "Twin"], ["@ann/twin hi", "6", ""], ["@th", "", "th"], ["@Echoes", "", "Echoes"], ["@echo or @Ümit.", "1", "Ümit"], ["@Jörg", "", "Jörg"],
    ["mail@th.example @ - @@th", "", ""], ["@ann.lee", "", "ann.lee"],
  ] as const) {
    const { found, stray } = mentionsIn(text, all);
    assert.deepEqual([ids(found), stray], [expected, nobody], text);
  }
  assert.deepEqual(mentionsIn("@a", []), { found: [], stray: "a" });
});

test("completes what is typed at the caret", () => {
  assert.deepEqual(completing("hi @an", 6), { from: 3, query: "an" });
  assert.deepEqual(completing("@", 1), { from: 0, query: "" });
  assert.equal(completing("mail@an", 7), null);
  assert.deepEqual(completing("@Jö", 3), { from: 0, query: "Jö" });
  assert.equal(completing("é@an", 4), null);
  assert.equal(completing("@an x", 5), null);
  assert.deepEqual(completing("@an x", 3), { from: 0, query: "an" });
});

test("agents come first, beginnings before the rest", () => {
  assert.equal(ids(matching(people, "")), "1234".slice(0, 2) + "34");
  assert.equal(ids(matching(people, "an")), "312");
  assert.equal(ids(matching(people, "two")), "2");
  assert.equal(ids(matching(people, "zzz")), "");
});
