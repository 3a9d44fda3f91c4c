// The caller's rooms, the most recently used first.

import { batch, computed, signal } from "@preact/signals";
import { ApiError } from "../pure/errors.ts";
import { isText, mentionsOf, type Id, type Message } from "../pure/message.ts";
import type { ListedChatView, UnreadView as Unread } from "../wire/api.ts";
import { call } from "../wire/call.ts";
import { listen } from "../wire/link.ts";
import { onLeave, user } from "../wire/session.ts";
import { complain } from "./notices.ts";
import { dropOutbox } from "./outbox.ts";

export type Room = ListedChatView;

const known = signal<ReadonlyMap<Id, Room>>(new Map());
/** Counts the times that work in some room may have changed. */
export const stirs = signal(0);
export const isLoading = signal(true);
export const next = signal<string | null>(null);
export const openRoom = signal<Id | null>(null);
/** Set by the open room: whether somebody looks at its end. */
export const watch = { isReading: (): boolean => false };
/** Rooms that the caller was removed from, or that were deleted, while this page was open. */
export const gone = signal<ReadonlySet<Id>>(new Set());

const usedAt = (room: Room): string => room.last_message_at ?? room.inserted_at;
export const rooms = computed(() => [...known.value.values()].sort((a, b) => (usedAt(a) < usedAt(b) ? 1 : -1)));
export const roomOf = (id: Id): Room | undefined => known.value.get(id);
export const isObserved = (room: Room): boolean => room.membership === "via_agent";
export const isOwner = (room: Room): boolean => room.my_role === "owner";

/** The rooms whose messages are listened to, so that the list moves. The server limits topics and joins. */
const MOST_HEARD = 100;
const MOST_PREVIEWED = 1000;
const heard = new Map<Id, () => void>();

export function take(...list: (Partial<Room> & { id: Id })[]): void {
  const all = new Map(known.value);
  for (const room of list) all.set(room.id, short({ ...all.get(room.id), ...room } as Room));
  known.value = all;
  if (list.some(room => gone.value.has(room.id))) gone.value = new Set([...gone.value].filter(id => !all.has(id)));
}

/** The preview of a room needs the beginning of its last message only. */
function short(room: Room): Room {
  const { last_message } = room;
  return last_message && last_message.content.length > MOST_PREVIEWED
    ? { ...room, last_message: { ...last_message, content: last_message.content.slice(0, MOST_PREVIEWED) } } : room;
}

export function drop(id: Id): void {
  heard.get(id)?.();
  heard.delete(id);
  const all = new Map(known.value);
  if (all.delete(id)) known.value = all;
}

/** The caller is no longer in the room. */
export function markGone(id: Id): void {
  drop(id);
  dropOutbox(id);
  gone.value = new Set(gone.value).add(id);
}

async function page(cursor?: string) {
  return call("listChats", {
    // A cursor remembers the order, and the parts are asked for again.
    query: { limit: 100, include: ["agent_rooms", "last_message", "membership", "unread"], ...(cursor ? { cursor } : {}), sort_by: "updated_at", order: "desc" },
  });
}

/** Reads the first page again; rooms that are gone from it are gone. */
export async function load(): Promise<void> {
  try {
    const { data, metadata } = await page();
    const open = openRoom.value;
    if (open && roomOf(open) && !data.some(one => one.id === open)) void findAgain(open);
    batch(() => {
      const isAll = !metadata.has_more;
      // The list is in the order of changes, so what changed after its last row and is not in it is gone.
      const from = isAll ? "" : data.at(-1)!.updated_at;
      for (const room of rooms.value) if (room.updated_at > from && !data.some(one => one.id === room.id)) drop(room.id);
      take(...data);
      if (isAll || next.value === null) next.value = metadata.next_cursor ?? null;
      isLoading.value = false;
      stirs.value++;
    });
    hear();
  } catch (cause) {
    isLoading.value = false;
    complain(cause);
  }
}

export async function loadMore(): Promise<void> {
  if (!next.value) return;
  try {
    const { data, metadata } = await page(next.value);
    take(...data);
    next.value = metadata.next_cursor ?? null;
  } catch (cause) { complain(cause); }
}

/** Finds one room, also one that is not in the part of the list that was read. */
export async function find(id: Id): Promise<Room> {
  const { data } = await call("findChat", { path: { chat_id: id }, query: { include: ["unread"] } });
  take(data);
  return roomOf(id)!;
}

/** Checks whether the caller can still see a room. If not, its open page says so. */
export async function findAgain(id: Id): Promise<void> {
  try { await find(id); } catch (cause) {
    if (cause instanceof ApiError && cause.status === 404) markGone(id);
  }
}

/** Calling it again with the same key, after an answer was lost, creates nothing twice. */
export async function create(title: string, participants: Id[], idempotencyKey: string): Promise<Id> {
  const { data } = await call("createChat", { idempotencyKey, body: { chat: title ? { title } : {} } });
  take({ ...data, membership: "participant", my_role: "owner", via_agent_ids: [] });
  for (const id of participants) {
    await call("addParticipant", { path: { chat_id: data.id }, body: { participant: { participant_id: id } } }).catch(complain);
  }
  void find(data.id).catch(() => undefined);
  hear();
  return data.id;
}

/** Marks a room as read up to a message, or that message and later ones as unread. */
export async function mark(id: Id, message: Message, isUnread = false): Promise<Unread | undefined> {
  const { unread } = roomOf(id) ?? {};
  if (!unread || (!isUnread && message.sequence! <= unread.read_sequence)) return;
  const { data } = await call("markChatRead", { path: { chat_id: id }, body: { message_id: message.id, unread: isUnread } });
  // Another page may have read on meanwhile.
  const known = roomOf(id)?.unread;
  if (known && (isUnread || data.unread.read_sequence >= known.read_sequence)) take({ id, unread: data.unread });
  return data.unread;
}

function hear(): void {
  const wanted = new Set(rooms.value.slice(0, MOST_HEARD).map(room => room.id));
  for (const [id, leave] of heard) {
    if (wanted.has(id)) continue;
    leave();
    heard.delete(id);
  }
  for (const id of wanted) {
    if (heard.has(id)) continue;
    heard.set(id, listen(`chat_room:${id}`, {
      message_created: (message: Message) => arrived(id, message),
      message_updated: () => { touch(id); stirs.value++; },
      message_deleted: () => touch(id),
      event_created: () => touch(id),
    }));
  }
}

function arrived(id: Id, message: Message): void {
  touch(id);
  stirs.value++;
  if (!isText(message)) return;
  take({ id, last_message: message, last_message_at: message.inserted_at });
  const me = user.value?.id;
  const unread = roomOf(id)?.unread;
  // What is on the screen is marked soon, and a mark may arrive before what it covers.
  if (!unread || message.sender_id === me || message.sequence! <= unread.read_sequence || (openRoom.value === id && watch.isReading())) return;
  const isForMe = mentionsOf(message).some(one => one.id === me);
  take({ id, unread: { ...unread, count: unread.count + 1, mentions: unread.mentions + Number(isForMe) } });
}

// The state of a room's work is read again after something happened in it, a few rooms at a time.
const TOUCH_MS = 1500;
const MOST_TOUCHED = 8;
const touched = new Set<Id>();
let timer: ReturnType<typeof setTimeout> | undefined;

export function touch(id: Id): void {
  touched.add(id);
  timer ??= setTimeout(() => {
    timer = undefined;
    const [ids, rest] = [[...touched].slice(0, MOST_TOUCHED), [...touched].slice(MOST_TOUCHED)];
    touched.clear();
    for (const one of ids) if (known.value.has(one)) void find(one).catch(() => undefined);
    for (const one of rest) touch(one);
  }, TOUCH_MS);
}

/** Starts to listen for changes of the list. */
export function start(me: Id): void {
  let again = false;
  void load();
  listen(`user_rooms:${me}`, {
    room_added: () => void load(),
    room_removed: ({ id }: { id: Id }) => {
      markGone(id);
      // It may be seen still, through an agent.
      if (openRoom.value === id) void findAgain(id);
    },
    room_updated: (room: Partial<Room> & { id?: Id }) => {
      if (room.id) take({ ...room, id: room.id });
      stirs.value++;
    },
    room_read: ({ id, unread }: { id: Id; unread: Unread }) => { if (roomOf(id)) take({ id, unread }); },
  }, () => {
    // After a loss; all pages lose the server at the same time, so each waits a moment.
    if (again) setTimeout(() => void load(), Math.random() * 1000);
    again = true;
  });
}

onLeave(() => {
  heard.clear();
  touched.clear();
  known.value = new Map();
  gone.value = new Set();
  next.value = null;
  isLoading.value = true;
  openRoom.value = null;
});
