// From the rows of a window and the steps between them to what the page draws.

import { dayKey } from "./when.ts";
import { isText, type Id, type Message } from "./message.ts";

/** The steps that follow a row, up to the next one. */
export interface Gap {
  events: Step[];
  /** Events that were dropped because there were too many. */
  dropped: number;
  /** Whether all are here. If not, the earlier ones are fetched when somebody asks for them. */
  complete: boolean;
  /** Whether somebody asked; then more are kept. */
  isOpened?: boolean;
}

/** The most steps that are kept between two rows, and the most if somebody asks for earlier ones. */
export const MOST_STEPS = 200;
export const MOST_OPENED = 2000;
/** What is kept of the content of a step, and of its metadata as JSON; the rest is fetched when somebody asks. */
export const MOST_KEPT = 2048;

/** A step as it is kept: `characters` is the length of its content if some of it, or the metadata, is not kept. */
export type Step = Message & { characters?: number };

export function shortened(event: Message): Step {
  const { content } = event;
  const isWide = JSON.stringify(event.metadata).length > MOST_KEPT;
  if (content.length <= MOST_KEPT && !isWide) return event;
  return { ...event, content: content.slice(0, MOST_KEPT), metadata: isWide ? {} : event.metadata, characters: content.length };
}

/** Puts earlier steps in front of those of a gap. `isAll` says that there are none before them. */
export function addEarlier(gap: Gap | undefined, earlier: Message[], isAll: boolean): Gap {
  const known = new Set(gap?.events.map(event => event.id));
  const fresh = earlier.filter(event => !known.has(event.id)).map(shortened);
  return { events: [...fresh, ...(gap?.events ?? [])], dropped: isAll ? 0 : Math.max(0, (gap?.dropped ?? 0) - fresh.length), complete: isAll || (gap?.complete ?? false), isOpened: true };
}
/** The key of the gap in front of the first row. */
export const START = "start";

export type Row =
  | { kind: "day"; id: string; at: string }
  | { kind: "new"; id: string }
  | { kind: "text"; id: string; message: Message; isContinued: boolean }
  | { kind: "attention"; id: string; message: Message }
  | { kind: "steps"; id: string; sender: Id; name: string; after: Id; events: Step[]; dropped: number; isPartial: boolean; hasEarlier: boolean }
  | { kind: "unknown"; id: string; after: Id };

/** Texts of one sender within five minutes share one heading. */
const TOGETHER_MS = 5 * 60_000;

/** `firstUnread` is the text before which a line says that it is new. */
export function fold(rows: Message[], gaps: ReadonlyMap<Id, Gap>, firstUnread?: Id): Row[] {
  const result: Row[] = [];
  let day = "";
  let heading: Message | null = null;

  const steps = (after: Id, next: Message | undefined): void => {
    const gap = gaps.get(after);
    if (gap && gap.events.length > 0) {
      for (const line of bySender(gap)) {
        const first = line.events[0]!;
        onDay(first.inserted_at, first.id);
        // Those that are not here come before the first that is.
        const isFirst = line.events[0] === gap.events[0];
        const hasEarlier = isFirst && (!gap.complete || gap.dropped > 0) && gap.events.length < MOST_OPENED;
        result.push({ kind: "steps", id: `steps-${after}-${line.sender}`, after, isPartial: !gap.complete, hasEarlier, ...line });
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
    if (message.id === firstUnread) {
      result.push({ kind: "new", id: `new-${message.id}` });
      heading = null;
    }
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

function bySender(gap: Gap): { sender: Id; name: string; events: Step[]; dropped: number }[] {
  const lines = new Map<Id, { sender: Id; name: string; events: Step[]; dropped: number }>();
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
  const events = [...before.events, shortened(event)];
  const excess = Math.max(0, events.length - (before.isOpened ? MOST_OPENED : MOST_STEPS));
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
