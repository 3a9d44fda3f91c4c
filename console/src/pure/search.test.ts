import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, partsOf } from "./search.ts";

test("highlights_are_counted_in_code_points", () => {
  const shown = (snippet: string, ...ranges: [number, number][]) =>
    partsOf(snippet, ranges.map(([start, end]) => ({ start, end }))).map(({ text, isHit }) => (isHit ? `[${text}]` : text)).join("");
  assert.equal(shown("deploy it", [0, 6]), "[deploy] it");
  assert.equal(shown("😀 deploy 東京", [2, 8], [9, 11]), "😀 [deploy] [東京]");
  assert.equal(shown("nothing"), "nothing");
  assert.equal(shown("", [0, 0]), "");
  assert.equal(shown("short", [3, 99]), "sho[rt]");
});

test("texts_are_asked_for_unless_a_kind_is", () => {
  assert.equal(asked('"open quote'), 'kind:text "open quote');
  assert.equal(asked("plan kind:thought"), "plan kind:thought");
  assert.equal(asked('"a kind: b"'), 'kind:text "a kind: b"');
  assert.equal(asked("mankind:x"), "kind:text mankind:x");
});
