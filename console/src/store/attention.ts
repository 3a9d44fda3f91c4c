// How much waits for the user: the number beside Inbox.

import { effect, signal } from "@preact/signals";
import { call } from "../wire/call.ts";
import { link } from "../wire/link.ts";
import { onLeave, phase } from "../wire/session.ts";
import { stirs } from "./rooms.ts";
import { go, place } from "./route.ts";

/** Empty if nothing does. */
export const attention = signal("");
/** Counts the times that work, or what waits, may have changed. */
export const workChanges = signal(0);

const EVERY_MS = 5000;
/** Work becomes unanswered or stuck without an event. */
const WITHOUT_EVENT_MS = 60_000;
const MOST = 99;

let timer: ReturnType<typeof setTimeout> | undefined;
let readAt = 0;
let isStale = false;
let isFirst = true;

/** Reads it soon, and not too often. */
export function refreshAttention(): void {
  timer ??= setTimeout(() => void read(), Math.max(200, readAt + EVERY_MS - Date.now()));
}

/** Leads from the first page to the inbox, once after the log-in. On a phone, the first page is the sidebar, with its number. */
function lead(isNeeded: boolean): void {
  if (isFirst && isNeeded && place.value.path === "/" && !matchMedia("(max-width: 46rem)").matches && !document.activeElement?.closest("input, dialog")) go("/inbox", true);
  isFirst = false;
}

async function read(): Promise<void> {
  timer = undefined;
  isStale = document.visibilityState !== "visible";
  if (isStale || phase.value !== "in") return;
  readAt = Date.now();
  workChanges.value++;
  try {
    const { data, metadata } = await call("listAttention", { query: { limit: MOST } });
    lead(data.length > 0);
    attention.value = data.length === 0 ? "" : metadata.has_more ? `${MOST}+` : String(data.length);
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
  isFirst = true;
  attention.value = "";
});
