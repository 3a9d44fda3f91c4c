// Where go-to leads: rooms beyond the part of the list that was read, and people.

import { computed, signal } from "@preact/signals";
import { call } from "../wire/call.ts";
import { onLeave } from "../wire/session.ts";
import { complain } from "./notices.ts";
import { peers, type Peer } from "./people.ts";
import { gone, next, rooms, type Room } from "./rooms.ts";

const MOST_ROOMS = 10_000;
const FRESH_MS = 60_000;
let readAt = 0;
/** What was asked for in the name of another user is not taken. */
let turn = 0;

const further = signal<Room[]>([]);
export const others = signal<Peer[]>([]);
export const isReading = signal(false);
/** All rooms that are known; the list of the sidebar, which follows what happens, comes first. */
export const everyRoom = computed(() => {
  const shown = new Set(rooms.value.map(room => room.id));
  return [...rooms.value, ...further.value.filter(room => !shown.has(room.id) && !gone.value.has(room.id))];
});

/** Reads what is missing. The sidebar does not grow by it. */
export async function load(): Promise<void> {
  if (isReading.value || Date.now() - readAt < FRESH_MS) return;
  isReading.value = true;
  const mine = turn;
  try {
    void peers().then(list => { if (mine === turn) others.value = list; }, cause => { if (mine === turn) complain(cause); });
    const found: Room[] = [];
    for (let cursor = next.value; cursor && found.length < MOST_ROOMS;) {
      const { data, metadata } = await call("listChats", { query: { limit: 100, include: ["agent_rooms"], cursor, sort_by: "updated_at", order: "desc" } });
      found.push(...data);
      // What was read before stays until all is read again.
      if (found.length > further.value.length) further.value = [...found];
      cursor = metadata.next_cursor ?? null;
    }
    further.value = found;
    readAt = Date.now();
  } catch (cause) { if (mine === turn) complain(cause); } finally { if (mine === turn) isReading.value = false; }
}

onLeave(() => {
  turn++;
  readAt = 0;
  isReading.value = false;
  further.value = [];
  others.value = [];
});
