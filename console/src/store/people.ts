// The people and agents of one room, and those who could be added to it.

import { computed, signal } from "@preact/signals";
import type { Id } from "../pure/message.ts";
import type { ParticipantView, PeerView } from "../wire/api.ts";
import { call } from "../wire/call.ts";
import { listen } from "../wire/link.ts";
import { find } from "./rooms.ts";

export type Person = ParticipantView;
export type Peer = PeerView;
export type RoomRole = "owner" | "admin" | "member";

interface Presence { id: Id; online: boolean; connection_status?: string | null }

const MOST = 1000;

export class People {
  readonly byId = signal<ReadonlyMap<Id, Person>>(new Map());
  readonly all = computed(() => [...this.byId.value.values()]);
  readonly agents = computed(() => this.all.value.filter(one => one.type === "Agent"));
  #leave: (() => void) | null = null;

  constructor(readonly room: Id) {}

  open(): void {
    const reload = (): void => { void this.load(); void find(this.room).catch(() => undefined); };
    this.#leave = listen(`room_participants:${this.room}`, {
      participant_presence_changed: (one: Presence) => this.#present([one]),
      participant_added: reload,
      participant_removed: reload,
      participant_updated: reload,
      room_title_changed: () => void find(this.room).catch(() => undefined),
    }, answer => {
      void this.load().then(() => this.#present((answer as { participant_presence?: Presence[] }).participant_presence ?? []));
    });
    void this.load();
  }

  close(): void { this.#leave?.(); }

  async load(): Promise<void> {
    try {
      const people = new Map<Id, Person>();
      let cursor: string | null | undefined;
      do {
        const { data, metadata } = await call("listParticipants", { path: { chat_id: this.room }, query: { limit: 100, cursor: cursor ?? undefined } });
        for (const one of data) people.set(one.id, one);
        cursor = metadata.has_more ? metadata.next_cursor : null;
      } while (cursor && people.size < MOST);
      this.byId.value = people;
    } catch { /* The list that is shown stays; every join reads it again. */ }
  }

  async add(id: Id): Promise<void> {
    const { data } = await call("addParticipant", { path: { chat_id: this.room }, body: { participant: { participant_id: id } } });
    this.byId.value = new Map(this.byId.value).set(data.id, data);
  }

  async setRole(id: Id, role: RoomRole): Promise<void> {
    const { data } = await call("setParticipantRole", { path: { chat_id: this.room, participant_id: id }, body: { participant: { role } } });
    this.byId.value = new Map(this.byId.value).set(data.id, data);
  }

  async remove(id: Id): Promise<void> {
    await call("removeParticipant", { path: { chat_id: this.room, participant_id: id } });
    const people = new Map(this.byId.value);
    people.delete(id);
    this.byId.value = people;
  }

  #present(list: Presence[]): void {
    const people = new Map(this.byId.value);
    for (const { id, online, connection_status } of list) {
      const one = people.get(id);
      if (one) people.set(id, { ...one, online, connection_status: connection_status ?? null });
    }
    this.byId.value = people;
  }
}

/** The people and agents that the caller can add to `room`. */
export async function peers(room?: Id): Promise<Peer[]> {
  const all: Peer[] = [];
  for (let page = 1; page <= 5; page++) {
    const { data, metadata } = await call("listPeers", { query: { page, page_size: 100, ...(room ? { not_in_chat: room } : {}) } });
    all.push(...data);
    if (page >= (metadata.total_pages ?? 0)) break;
  }
  return all;
}
