// How the caller gets in: API keys and sessions.

import { signal } from "@preact/signals";
import type { Id } from "../pure/message.ts";
import type { CreatedKeyView, KeyView, OpenSessionView, Operations } from "../wire/api.ts";
import { call } from "../wire/call.ts";
import { onLeave } from "../wire/session.ts";
import { Paged } from "./paged.ts";

export type Key = KeyView;
export type NewKey = Operations["createApiKey"]["body"]["api_key"];

export const keys = new Paged<Key>(one => one.id, cursor => call("listApiKeys", { query: { limit: 50, ...(cursor ? { cursor } : {}) } }));

export async function createKey(wanted: NewKey): Promise<CreatedKeyView> {
  const { data } = await call("createApiKey", { body: { api_key: wanted } });
  keys.put(data.api_key);
  return data;
}

export async function revoke(id: Id): Promise<void> {
  await call("revokeApiKey", { path: { key_id: id } });
  keys.drop(id);
}

export const sessions = signal<OpenSessionView[] | null>(null);

export async function loadSessions(): Promise<void> {
  sessions.value = (await call("listSessions", {})).data;
}

export async function endSession(id: Id): Promise<void> {
  await call("endSession", { path: { session_id: id } });
  sessions.value = sessions.value?.filter(one => one.id !== id) ?? null;
}

export async function endOthers(): Promise<void> {
  await call("endOtherSessions", {});
  await loadSessions();
}

onLeave(() => {
  keys.clear();
  sessions.value = null;
});
