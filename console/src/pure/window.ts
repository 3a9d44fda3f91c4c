// A bounded window on the rows of a room. However long the room is, the page keeps at most `MOST` of them.

import { isStale, type Id, type Message } from "./message.ts";

export const MOST = 300;
export const PAGE = 100;

/** Oldest first. `older` and `newer` say whether the room has more on that side. */
export interface Window { rows: Message[]; older: boolean; newer: boolean }

export const EMPTY: Window = { rows: [], older: false, newer: false };

const placeOf = (row: Message): number => row.sequence ?? Number.MAX_SAFE_INTEGER;

/** The last row before a message, whatever came in between. */
export const rowBefore = (window: Window, message: Message): Message | undefined =>
  window.rows.findLast(row => placeOf(row) <= placeOf(message));

/** Puts an older page in front of the window; the far end is let go. */
export function prepend(window: Window, page: Message[], older: boolean): Window {
  const known = new Set(window.rows.map(row => row.id));
  const rows = [...page.filter(row => !known.has(row.id)), ...window.rows];
  return { rows: rows.slice(0, MOST), older, newer: window.newer || rows.length > MOST };
}

/** Puts a newer page behind the window; the far end is let go. */
export function append(window: Window, page: Message[], newer: boolean): Window {
  let rows = [...window.rows];
  const place = new Map(rows.map((row, index) => [row.id, index]));
  for (const row of page) {
    const index = place.get(row.id);
    if (index !== undefined) {
      if (!isStale(rows[index]!, row)) rows[index] = row;
      continue;
    }
    place.set(row.id, rows.length);
    rows.push(row);
  }
  // Events of two servers can arrive in another order than they happened.
  rows.sort((a, b) => placeOf(a) - placeOf(b));
  const older = window.older || rows.length > MOST;
  rows = rows.slice(-MOST);
  return { rows, older, newer };
}

/** Takes a newer state of a row that is in the window. */
export function update(window: Window, row: Message): Window {
  const index = window.rows.findIndex(one => one.id === row.id);
  if (index < 0 || isStale(window.rows[index]!, row)) return window;
  return { ...window, rows: window.rows.with(index, row) };
}

export function remove(window: Window, id: Id): Window {
  const rows = window.rows.filter(row => row.id !== id);
  return rows.length === window.rows.length ? window : { ...window, rows };
}

/**
 * Brings the part of the window that `read` covers up to date: what `read` has is taken, and what it lacks between its
 * first and its last row is gone.
 */
export function reread(window: Window, read: Message[]): Window {
  const found = new Set(read.map(row => row.id));
  const places = window.rows.flatMap((row, index) => (found.has(row.id) ? [index] : []));
  const first = places[0];
  const last = places.at(-1);
  if (first === undefined || last === undefined) return window;
  const from = read.findIndex(row => row.id === window.rows[first]!.id);
  const to = read.findIndex(row => row.id === window.rows[last]!.id);
  const rows = [...window.rows.slice(0, first), ...read.slice(from, to + 1), ...window.rows.slice(last + 1)];
  return { ...window, rows: rows.slice(0, MOST), newer: window.newer || rows.length > MOST };
}
