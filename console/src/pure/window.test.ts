import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "./message.ts";
import { append, EMPTY, MOST, prepend, remove, reread, rowBefore, update, type Window } from "./window.ts";

const at = (number: number): Message => ({
  id: `m${number}`, content: "", message_type: "text", sender_id: "u", sender_type: "User", sender_name: "Ann", chat_room_id: "r", attachments: [],
  inserted_at: new Date(number * 1000).toISOString(), updated_at: new Date(number * 1000).toISOString(), metadata: {}, sequence: number + 1,
});
const span = (from: number, to: number): Message[] => Array.from({ length: to - from }, (_, index) => at(from + index));
const numberOf = (row: Message): number => Number(row.id.slice(1));
const numbers = (window: Window): number[] => window.rows.map(numberOf);

/** The same numbers every run. */
function* random(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

test("keeps at most the newest or the oldest 300, and says that there are more", () => {
  const full = append(EMPTY, span(0, 350), false);
  assert.deepEqual([full.rows.length, numbers(full)[0], full.older], [MOST, 50, true]);
  const back = prepend(full, span(0, 50), false);
  assert.deepEqual([numbers(back)[0], numbers(back).at(-1), back.older, back.newer], [0, 299, false, true]);
});

test("takes a row once, in the order of the room", () => {
  const window = append(append(EMPTY, [at(1), at(2), at(4)], false), [at(5), at(2), at(3)], false);
  assert.deepEqual(numbers(window), [1, 2, 3, 4, 5]);
  assert.deepEqual(rowBefore(window, { ...at(2), id: "step" })?.id, "m2");
  assert.equal(rowBefore(window, at(0)), undefined);
});

test("an older state of a row is not taken", () => {
  const newer = { ...at(1), content: "new", updated_at: new Date(9000).toISOString() };
  const window = append(EMPTY, [newer], false);
  assert.equal(update(window, at(1)), window);
  assert.equal(append(window, [at(1)], false).rows[0]!.content, "new");
});

test("reading a part again removes what is gone there, and only there", () => {
  const window = append(EMPTY, span(0, 10), false);
  const read = [at(3), { ...at(5), content: "edited" }, at(6)];
  const after = reread(window, read);
  assert.deepEqual(numbers(after), [0, 1, 2, 3, 5, 6, 7, 8, 9]);
  assert.equal(after.rows[4]!.content, "edited");
  assert.equal(reread(window, [at(20)]), window);
});

test("random pages, pushes, and deletions never break order, bounds, or uniqueness", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const dice = random(seed);
    const roll = (most: number): number => Math.floor(dice.next().value * most);
    let room = span(0, 200 + roll(800));
    let window: Window = { rows: room.slice(-100), older: true, newer: false };
    for (let step = 0; step < 60; step++) {
      const ids = new Map(room.map((row, index) => [row.id, index]));
      const first = ids.get(window.rows[0]?.id ?? "") ?? 0;
      const last = ids.get(window.rows.at(-1)?.id ?? "") ?? room.length - 1;
      switch (roll(4)) {
        case 0: window = prepend(window, room.slice(Math.max(0, first - 100), first), first > 100); break;
        case 1: window = append(window, room.slice(last + 1, last + 101), last + 101 < room.length); break;
        case 2: {
          const row = at(room.length === 0 ? 0 : numberOf(room.at(-1)!) + 1);
          room = [...room, row];
          if (!window.newer) window = append(window, [row], false);
          break;
        }
        default: {
          const gone = window.rows[roll(window.rows.length)];
          if (!gone || window.rows.length < 3) break;
          room = room.filter(row => row.id !== gone.id);
          window = remove(window, gone.id);
        }
      }
      const seen = numbers(window);
      assert.ok(seen.length <= MOST);
      assert.deepEqual(seen, [...new Set(seen)].sort((a, b) => a - b), `seed ${seed}`);
      // Nothing between the first and the last row is missing.
      const from = room.findIndex(row => row.id === window.rows[0]!.id);
      assert.deepEqual(seen, room.slice(from, from + seen.length).map(numberOf), `seed ${seed}`);
      if (!window.newer) assert.equal(seen.at(-1), numberOf(room.at(-1)!));
    }
  }
});
