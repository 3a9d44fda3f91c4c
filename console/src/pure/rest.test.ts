import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ApiError, explain, faultOf } from "./errors.ts";
import { visible } from "./visible.ts";
import { w } from "../words.ts";
import { brief, clock, duration, since } from "./when.ts";

test("durations are short", () => {
  for (const [ms, text] of [[0, "0.0 s"], [430, "0.4 s"], [12_000, "12 s"], [60_000, "1 min"], [185_000, "3 min 5 s"], [7_440_000, "2 h 4 min"]] as const) assert.equal(duration(ms), text);
});

test("a time of another year has the year", () => {
  const now = new Date(2026, 10, 26, 12).valueOf();
  const at = (year: number, month: number, day: number): string => new Date(year, month, day, 9).toISOString();
  assert.equal(since(at(2026, 10, 26), now), clock(at(2026, 10, 26)));
  for (const [instant, hasYear] of [[at(2026, 0, 1), false], [at(2025, 11, 31), true], [at(2027, 0, 1), true]] as const) {
    assert.equal(/20\d\d/.test(brief(instant, now)), hasYear, instant);
    assert.equal(since(instant, now), `${brief(instant, now)}, ${clock(instant)}`);
  }
});

test("faults stand at their field, others are one sentence", () => {
  const fault = new ApiError(422, "validation_error", "Request validation failed", { "/agent/name": ["can't be blank"], name: ["has already been taken"], available_handles: ["ann"] });
  assert.equal(faultOf(fault, "name"), "Can't be blank. Has already been taken");
  assert.equal(faultOf(fault, "description"), "");
  assert.match(explain(fault), /name: can't be blank/);
  assert.match(explain(new ApiError(500, "internal_error", "Something failed.", {}, "abc")), /abc/);
  assert.equal(explain(new ApiError(409, "conflict", "It is processed already.")), "It is processed already.");
});

test("every reason that the server holds a delivery for has its words", () => {
  const source = readFileSync(join(process.env["CONSOLE_SOURCES"]!, "../../crates/domain/src/delivery/state/intervention.rs"), "utf8");
  const reasons = /HeldBy \{([^}]*)\}/.exec(source)![1]!;
  const names = [...reasons.matchAll(/^\s*\w+ = "(\w+)",$/gm)].map(match => match[1]!);
  assert.ok(names.length >= 12);
  assert.deepEqual(Object.keys(w.delivery.holds).sort(), names.sort());
  assert.doesNotMatch(w.delivery.held(w.delivery.holds["room_tokens"]!), /loop guard/);
});

test("controls of writing direction are shown", () => {
  assert.equal(visible("safe\u202eexe"), "safe⟨U+202E⟩exe");
});

test("no source hands a text to an HTML parser, or sets a style in markup", () => {
  const forbidden = /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|new Function|srcdoc=|\sstyle=/;
  const visit = (directory: string): void => {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) visit(path);
      else if (/\.(tsx?|html)$/.test(entry.name) && !entry.name.endsWith(".test.ts")) assert.doesNotMatch(readFileSync(path, "utf8"), forbidden, path);
    }
  };
  visit(process.env["CONSOLE_SOURCES"]!);
});
