import assert from "node:assert/strict";
import test from "node:test";
import { byMinute, folded, points, size } from "./throughput.ts";

test("steps become minutes from the newest on", () => {
  // A minute and 20 seconds since the start.
  const minutes = byMinute([1, 2, 3, 4, 5, 6, 7, 8], 10);
  assert.equal(minutes.length, 60);
  assert.deepEqual(minutes.slice(-3), [null, 3, 33]);
  assert.deepEqual(byMinute([1, 2, 3, 4, 5, 6, 7, 8], 10, true).slice(-3), [null, 2, 8]);
  assert.deepEqual(new Set(byMinute([], 10)), new Set([null]));
  assert.deepEqual(byMinute(Array(360).fill(1), 10), Array(60).fill(6));
  assert.deepEqual(byMinute([5, 7], 60).slice(-3), [null, 5, 7]);
});

test("a table has a row for some minutes", () => {
  const minutes = [null, null, 1, 2, 3, 4];
  assert.deepEqual(folded(minutes, 2), [null, 3, 7]);
  assert.deepEqual(folded(minutes, 3), [1, 9]);
  assert.deepEqual(folded(minutes, 2, true), [null, 2, 4]);
});

test("a line begins where something is known", () => {
  assert.equal(points([null, 0, 5, 10], 10, 90, 40), "30,40 60,20 90,0");
  assert.equal(points([0, 0], 0, 90, 40), "0,40 90,40");
  assert.equal(points([null, null, 5], 10, 90, 40), "45,20 90,20");
  assert.equal(points([null], 1, 90, 40), "");
});

test("sizes have their unit", () => {
  assert.deepEqual([0, 999, 1000, 14_800, 356_352, 1_400_000_000].map(bytes => size(bytes).replace("\u00a0", " ")), ["0 B", "999 B", "1 kB", "15 kB", "356 kB", "1.4 GB"]);
});
