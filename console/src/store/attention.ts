// How much work needs somebody: the number beside Work.

import { effect, signal } from "@preact/signals";
import { needy } from "../pure/work.ts";
import { call } from "../wire/call.ts";
import { link } from "../wire/link.ts";
import { onLeave, phase } from "../wire/session.ts";
import { stirs } from "./rooms.ts";

/** Empty if nothing does. */
export const attention = signal("");
/** Counts the times that work may have changed. */
export const workChanges = signal(0);

const EVERY_MS = 5000;
/** Work becomes unanswered or stuck without an event. */
const WITHOUT_EVENT_MS = 60_000;
const LIMIT = 100;

let timer: ReturnType<typeof setTimeout> | undefined;
let readAt = 0;
let isStale = false;

/** Reads it soon, and not too often. */
export function refreshAttention(): void {
  timer ??= setTimeout(() => void read(), Math.max(200, readAt + EVERY_MS - Date.now()));
}

async function read(): Promise<void> {
  timer = undefined;
  isStale = document.visibilityState !== "visible";
  if (isStale || phase.value !== "in") return;
  readAt = Date.now();
  workChanges.value++;
  try {
    // Held work is not part of the open work.
    const [open, held] = await Promise.all([call("listWork", { query: { limit: LIMIT } }), call("listWork", { query: { limit: LIMIT, state: "held" } })]);
    attention.value = needy({ rows: open.data, isMore: open.metadata.has_more }, { rows: held.data, isMore: held.metadata.has_more });
  } catch { /* The number that is shown stays. */ }
}

document.addEventListener("visibilitychange", () => { if (isStale && document.visibilityState === "visible") refreshAttention(); });
setInterval(() => { if (phase.value === "in") refreshAttention(); }, WITHOUT_EVENT_MS);

let wasOpen = false;
effect(() => {
  const isOpen = link.value.kind === "open";
  if (isOpen && !wasOpen) refreshAttention();
  wasOpen = isOpen;
});

effect(() => { if (stirs.value > 0 && phase.peek() === "in") refreshAttention(); });

onLeave(() => {
  clearTimeout(timer);
  timer = undefined;
  readAt = 0;
  attention.value = "";
});
