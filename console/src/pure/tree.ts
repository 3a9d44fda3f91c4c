// From the messages of a tree, as the API lists them, to the rows of a page.

import type { TreeMessageView } from "../wire/api.ts";
import type { Row } from "./fold.ts";
import { isRow, type Id } from "./message.ts";

export type TreeMessage = TreeMessageView;
export type TreeRow =
  /** `above` is what it follows from, unless that is the row right above it; null if it is not listed. */
  | { kind: "message"; message: TreeMessage; depth: number; above: TreeMessage | null | undefined }
  | { kind: "steps"; line: Row & { kind: "steps" }; depth: number };

/** The message that began the tree. */
export const rootOf = ({ id, metadata }: Pick<TreeMessage, "id" | "metadata">): Id => (metadata["cause"] as { root_id?: Id } | undefined)?.root_id ?? id;

/** Puts each message below the one that it follows from. Steps of one agent at one message are one row. */
export function layout(messages: TreeMessage[]): TreeRow[] {
  const byId = new Map(messages.map(one => [one.id, one]));
  const below = new Map<Id, TreeMessage[]>();
  const tops: TreeMessage[] = [];
  for (const one of messages) {
    const cause = one.cause_id && byId.has(one.cause_id) ? one.cause_id : undefined;
    const list = cause === undefined ? tops : (below.get(cause) ?? []);
    list.push(one);
    if (cause !== undefined) below.set(cause, list);
  }
  const rows: TreeRow[] = [];
  // Trees can be thousands of hops deep, so this does not recurse.
  const waiting = tops.map(message => ({ message, depth: 0 })).reverse();
  let last: Id | undefined;
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { message, depth } = next;
    if (!isRow(message) && !below.has(message.id)) {
      const sender = message.sender_id;
      const row = rows.at(-1);
      if (row?.kind === "steps" && row.line.sender === sender && row.line.after === (message.cause_id ?? "")) row.line.events.push(message);
      else rows.push({ kind: "steps", depth, line: { kind: "steps", id: message.id, sender, name: message.sender_name, after: message.cause_id ?? "", events: [message], dropped: 0, isPartial: false, hasEarlier: false } });
      continue;
    }
    const cause = message.cause_id ? byId.get(message.cause_id) : undefined;
    rows.push({ kind: "message", message, depth, above: cause ? (cause.id === last ? undefined : cause) : message.cause_id ? null : undefined });
    last = message.id;
    const children = below.get(message.id) ?? [];
    const steps = children.filter(one => !isRow(one));
    const texts = children.filter(isRow);
    for (const one of [...steps, ...texts].reverse()) waiting.push({ message: one, depth: depth + 1 });
  }
  return rows;
}
