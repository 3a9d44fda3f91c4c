// From the rows of a window and the steps between them to what the page draws.

import { dayKey } from "./when.ts";
import { isText, type Id, type Message } from "./message.ts";

/** The steps that follow a row, up to the next one. */
export interface Gap {
  events: Message[];
  /** Events that were dropped because there were too many. */
  dropped: number;
  /** Whether all are here. If none is, they are fetched when somebody asks for them. */
  complete: boolean;
}

/** The most steps that are kept between two rows. */
export const MOST_STEPS = 200;
/** The key of the gap in front of the first row. */
export const START = "start";

export type Row =
  | { kind: "day"; id: string; at: string }
  | { kind: "text"; id: string; message: Message; isContinued: boolean }
  | { kind: "attention"; id: string; message: Message }
  | { kind: "steps"; id: string; sender: Id; name: string; events: Message[]; dropped: number; isPartial: boolean }
  | { kind: "unknown"; id: string; after: Id };

/** Texts of one sender within five minutes share one heading. */
const TOGETHER_MS = 5 * 60_000;

export function fold(rows: Message[], gaps: ReadonlyMap<Id, Gap>): Row[] {
  const result: Row[] = [];
  let day = "";
  let heading: Message | null = null;

  const steps = (after: Id, next: Message | undefined): void => {
    const gap = gaps.get(after);
    if (gap && gap.events.length > 0) {
      for (const line of bySender(gap)) {
        const first = line.events[0]!;
        onDay(first.inserted_at, first.id);
        result.push({ kind: "steps", id: `steps-${after}-${line.sender}`, isPartial: !gap.complete, ...line });
      }
      heading = null;
    }
    // Agents report steps before their text, so only there is something to expect.
    if ((!gap || (!gap.complete && gap.events.length === 0)) && after !== START && next && isText(next) && next.sender_type === "Agent") {
      result.push({ kind: "unknown", id: `unknown-${after}`, after });
    }
  };
  const onDay = (at: string, id: Id): void => {
    if (dayKey(at) === day) return;
    day = dayKey(at);
    result.push({ kind: "day", id: `day-${id}`, at });
    heading = null;
  };

  steps(START, rows[0]);
  rows.forEach((message, index) => {
    onDay(message.inserted_at, message.id);
    if (isText(message)) {
      const isContinued = heading !== null && heading.sender_id === message.sender_id
        && Date.parse(message.inserted_at) - Date.parse(heading.inserted_at) < TOGETHER_MS;
      result.push({ kind: "text", id: message.id, message, isContinued });
      heading = message;
    } else {
      result.push({ kind: "attention", id: message.id, message });
      heading = null;
    }
    steps(message.id, rows[index + 1]);
  });
  return result;
}

function bySender(gap: Gap): { sender: Id; name: string; events: Message[]; dropped: number }[] {
  const lines = new Map<Id, { sender: Id; name: string; events: Message[]; dropped: number }>();
  for (const event of gap.events) {
    const line = lines.get(event.sender_id);
    if (line) line.events.push(event);
    else lines.set(event.sender_id, { sender: event.sender_id, name: event.sender_name, events: [event], dropped: 0 });
  }
  const all = [...lines.values()];
  if (all[0]) all[0].dropped = gap.dropped;
  return all;
}

/** Adds a step that was just reported. */
export function addStep(gap: Gap | undefined, event: Message): Gap {
  const before = gap ?? { events: [], dropped: 0, complete: true };
  if (before.events.some(one => one.id === event.id)) return before;
  const events = [...before.events, event];
  const excess = Math.max(0, events.length - MOST_STEPS);
  return { ...before, events: events.slice(excess), dropped: before.dropped + excess };
}

/**
 * Sorts steps (oldest first) into the gaps between rows. `isAll` says that the room has no older steps than these; if it
 * has, only the gaps behind the oldest step are complete.
 */
export function spread(rows: Message[], events: Message[], isAll: boolean, hasOlderRows: boolean): Map<Id, Gap> {
  const gaps = new Map<Id, Gap>();
  const from = events[0]?.inserted_at ?? "";
  for (const row of rows) {
    if (isAll || row.inserted_at >= from) gaps.set(row.id, { events: [], dropped: 0, complete: true });
  }
  let place = -1;
  for (const event of events) {
    while (place + 1 < rows.length && rows[place + 1]!.inserted_at <= event.inserted_at) place++;
    // In front of the first row, steps belong to a row that is not here.
    if (place < 0 && hasOlderRows) continue;
    const key = place < 0 ? START : rows[place]!.id;
    const gap = gaps.get(key) ?? { events: [], dropped: 0, complete: isAll };
    gaps.set(key, addStep(gap, event));
  }
  return gaps;
}
