// The caller's rooms, the most recently used first.

import { batch, computed, signal } from "@preact/signals";
import { ApiError } from "../pure/errors.ts";
import type { Id, Message } from "../pure/message.ts";
import type { ListedChatView, UnreadView as Unread } from "../wire/api.ts";
import { call } from "../wire/call.ts";
import { listen } from "../wire/link.ts";
import { onLeave } from "../wire/session.ts";
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

const PARTS = ["last_message", "membership", "unread"] as const;
const MOST_PREVIEWED = 1000;

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
    query: { limit: 100, include: ["agent_rooms", ...PARTS], cursor, sort_by: "updated_at", order: "desc" },
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
  const { data } = await call("findChat", { path: { chat_id: id }, query: { include: [...PARTS] } });
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

/** Mutes or unmutes a room. Mentions in a muted room are still counted. */
export async function mute(id: Id, muted: boolean): Promise<void> {
  try { take({ id, unread: (await call("markChatRead", { path: { chat_id: id }, body: { muted } })).data.unread }); } catch (cause) { complain(cause); }
}

/** Marks all rooms as read. What changes is pushed as well, unless the socket is away. */
export async function markAll(): Promise<void> {
  try {
    for (let hasMore = true; hasMore;) {
      const { data } = await call("markAllChatsRead", {});
      take(...data.rooms.filter(room => roomOf(room.id)));
      hasMore = data.has_more;
    }
  } catch (cause) { complain(cause); }
}

/** The number that a room shows: in a muted one, only mentions count. */
export const countOf = ({ unread }: Room): number => (unread ? (unread.muted ? unread.mentions : unread.count) : 0);

/** The server tells what has happened in a room, at most once a second. */
function changed(room: Room): void {
  // The server read the row before the caller left the room.
  if (gone.value.has(room.id) && !isObserved(room)) return;
  // What is on the screen is marked soon.
  const isRead = openRoom.value === room.id && watch.isReading();
  take(isRead && room.unread ? { ...room, unread: { ...room.unread, count: 0, mentions: 0 } } : room);
  stirs.value++;
}

/** Starts to listen for changes of the list. */
export function start(me: Id): void {
  let again = false;
  void load();
  listen(`user_rooms:${me}`, {
    room_added: ({ id }: { id: Id }) => {
      gone.value = new Set([...gone.value].filter(one => one !== id));
      void load();
    },
    room_removed: ({ id }: { id: Id }) => {
      markGone(id);
      // It may be seen still, through an agent.
      if (openRoom.value === id) void findAgain(id);
    },
    room_changed: changed,
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
  known.value = new Map();
  gone.value = new Set();
  next.value = null;
  isLoading.value = true;
  openRoom.value = null;
});
