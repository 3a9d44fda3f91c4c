// How the caller gets in: API keys and sessions.

import type { Id } from "../pure/message.ts";
import type { CreatedKeyView, KeyView, OpenSessionView, Operations } from "../wire/api.ts";
import { call } from "../wire/call.ts";
import { onLeave } from "../wire/session.ts";
import { Paged } from "./paged.ts";

export type Key = KeyView;
export type NewKey = Operations["createApiKey"]["body"]["api_key"];

export const keys = new Paged<Key>(one => one.id, cursor => call("listApiKeys", { query: { limit: 50, cursor: cursor ?? undefined } }));

/** A retry with the same idempotency key replaces the API key whose response was lost. */
export async function createKey(idempotencyKey: string, wanted: NewKey): Promise<CreatedKeyView> {
  const { data } = await call("createApiKey", { idempotencyKey, body: { api_key: wanted } });
  keys.put(data.api_key);
  return data;
}

export async function revoke(id: Id): Promise<void> {
  await call("revokeApiKey", { path: { key_id: id } });
  keys.drop(id);
}

export const sessions = async (): Promise<OpenSessionView[]> => (await call("listSessions", {})).data;
export const endSession = (id: Id) => call("endSession", { path: { session_id: id } });
export const endOthers = () => call("endOtherSessions", {});

onLeave(() => keys.clear());
