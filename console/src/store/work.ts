// What became of a message at an agent, and what can be done about it: by the owner of the agent, or by an admin of the
// organization.

import { ApiError } from "../pure/errors.ts";
import type { Id, State } from "../pure/message.ts";
import type { Item, WorkState } from "../pure/work.ts";
import type { ReceiptView, RetriedWorkView } from "../wire/api.ts";
import { call, type Scope } from "../wire/call.ts";
import { isMine, present } from "./agents.ts";

/** One message at one agent. */
export interface Place { scope: Scope; room: Id; message: Id; agent: Id }

export type { Scope };

export interface Standing {
  receipt: ReceiptView | null;
  /** Only for those who answer for the agent. */
  item: Item | null;
  /** How many messages of the room wait behind this one. */
  behind: number;
}

const MOST_BEHIND = 100;

const where = ({ message, agent }: Place) => ({ message_id: message, agent_id: agent });
export const answersFor = ({ scope, agent }: Place): boolean => scope === "organization" || isMine(agent);

export async function standing(place: Place): Promise<Standing> {
  const { scope, room, message, agent } = place;
  const isOwn = answersFor(place);
  const [receipts, item, open] = await Promise.all([
    call("listReceipts", { path: { chat_id: room, message_id: message } }).catch((cause: unknown) => {
      // An admin may be in another room.
      if (scope === "organization" && cause instanceof ApiError && (cause.status === 403 || cause.status === 404)) return null;
      throw cause;
    }),
    isOwn ? find(place) : null,
    isOwn ? call("listWork", { scope, query: { agent_id: agent, chat_id: room, limit: MOST_BEHIND } }) : null,
  ]);
  const receipt = receipts?.data.find(one => one.id === agent) ?? null;
  if (receipt) present([{ id: agent, online: receipt.connected }]);
  const isOpen = item && ["delivered", "new", "processing", "failed"].includes(item.state);
  const behind = isOpen ? (open?.data ?? []).filter(one => one.sequence > item.sequence && one.state !== "dead" && one.state !== "held").length : 0;
  return { receipt, item, behind };
}

export async function find(place: Place): Promise<Item> {
  return (await call("findWork", { scope: place.scope, path: where(place) })).data;
}

/** What can be done with one message at one agent. */
export type Deed = { kind: "retry" | "sendAgain" } | { kind: "deadLetter"; reason: string } | { kind: "reassign"; to: Id; reason: string };

/** Does it if the work is in the state that was shown. */
export async function change(place: Place, ifState: State, deed: Deed): Promise<Item & Partial<RetriedWorkView>> {
  const { scope } = place;
  const path = where(place);
  const if_state = ifState as WorkState;
  switch (deed.kind) {
    case "retry": return (await call("retryWork", { scope, path, body: { if_state } })).data;
    case "deadLetter": return (await call("deadLetterWork", { scope, path, body: { if_state, reason: deed.reason } })).data;
    case "sendAgain": return (await call("sendWorkAgain", { scope, path, body: { if_state } })).data;
    case "reassign": return (await call("reassignWork", { scope, path, body: { if_state, agent_id: deed.to, ...(deed.reason ? { reason: deed.reason } : {}) } })).data;
  }
}
