// What became of a message at an agent, and what its owner can do about it.

import type { Id } from "../pure/message.ts";
import type { ReceiptView, RetriedWorkView, WorkItemView } from "../wire/api.ts";
import { call } from "../wire/call.ts";
import { isMine, noteDisconnect, present } from "./agents.ts";

export interface Standing {
  receipt: ReceiptView | null;
  /** Only for the owner of the agent. */
  item: WorkItemView | null;
  /** How many messages of the room wait behind this one. */
  behind: number;
}

const MOST_BEHIND = 100;

export async function standing(room: Id, message: Id, agent: Id): Promise<Standing> {
  const [receipts, item, open] = await Promise.all([
    call("listReceipts", { path: { chat_id: room, message_id: message } }),
    isMine(agent) ? call("findWork", { path: { message_id: message, agent_id: agent } }) : null,
    isMine(agent) ? call("listWork", { query: { agent_id: agent, chat_id: room, limit: MOST_BEHIND } }) : null,
  ]);
  if (item) noteDisconnect(item.data);
  const receipt = receipts.data.find(one => one.id === agent) ?? null;
  if (receipt) present([{ id: agent, online: receipt.connected }]);
  const isOpen = item && ["delivered", "new", "processing", "failed"].includes(item.data.state);
  const behind = isOpen ? (open?.data ?? []).filter(one => one.sequence > item.data.sequence && one.state !== "dead" && one.state !== "held").length : 0;
  return { receipt, item: item?.data ?? null, behind };
}

type State = "new" | "delivered" | "processing" | "failed" | "dead" | "held";

export const retry = async (message: Id, agent: Id, ifState: State): Promise<RetriedWorkView> =>
  (await call("retryWork", { path: { message_id: message, agent_id: agent }, body: { if_state: ifState } })).data;

export async function deadLetter(message: Id, agent: Id, ifState: State, reason: string): Promise<void> {
  await call("deadLetterWork", { path: { message_id: message, agent_id: agent }, body: { if_state: ifState, reason } });
}

export async function sendAgain(message: Id, agent: Id): Promise<void> {
  await call("sendWorkAgain", { path: { message_id: message, agent_id: agent }, body: {} });
}
