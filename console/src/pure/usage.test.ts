import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, day, level, money, percent, tokens } from "./usage.ts";

test("all four kinds of tokens count", () => {
  assert.equal(tokens({ input_tokens: 1, output_tokens: 20, cache_read_tokens: 300, cache_write_tokens: 4000 }), 4321);
});

test("a cost is readable however small it is", () => {
  const english = (text: string): string => text.replace(",", ".");
  assert.equal(english(money("1.250000", "USD")), "1.25 USD");
  assert.equal(english(money("0.000120", "EUR")), "0.00012 EUR");
  assert.equal(english(money("0.000000", "EUR")), "0.00 EUR");
});

test("a budget warns at 80 % and at 100 %", () => {
  assert.deepEqual([0, 79, 80, 99, 100, 250].map(used => level(used, 100)), ["low", "low", "near", "near", "over", "over"]);
  assert.deepEqual([[0, 100], [1, 100_000], [99_999, 100_000], [100, 100], [250, 100]].map(([used, amount]) => percent(used!, amount!)), [0, 1, 99, 100, 250]);
});

test("days are those of UTC", () => {
  const late = Date.parse("2026-03-01T23:59:59Z");
  assert.equal(day(late), "2026-03-01");
  assert.equal(day(late, 1), "2026-02-28");
  assert.equal(day(Number.NaN), "");
});

test("only what was changed is sent", () => {
  assert.deepEqual(changed({ name: "Ann", limit: null, tags: ["a"] }, { name: "Ann", limit: 3, tags: ["a"] }), { limit: 3 });
  assert.deepEqual(changed({}, { limit: null }), {});
});
