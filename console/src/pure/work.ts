// The ledger of work: what is asked for, what can be done with it, and what failures have in common.

import type { WorkItemView } from "../wire/api.ts";
import type { Delivery, Id, State } from "./message.ts";

export type Item = WorkItemView;
/** The states that a change can require. */
export type WorkState = Exclude<State, "processed">;
type Flag = "unanswered" | "stuck" | "failing" | "dead" | "held";
export interface Filter { state?: WorkState; flag?: Flag; agent_id?: Id; chat_id?: Id; root?: Id; error?: string }

const STATES: WorkState[] = ["new", "delivered", "processing", "failed", "dead", "held"];
const FLAGS: Flag[] = ["unanswered", "stuck", "failing", "dead", "held"];
/** Work with one of these needs somebody. */
const NEEDY: Flag[] = ["failing", "stuck", "unanswered", "held"];

/** The views of the page, by the part of its address that asks for them. */
export const VIEWS = {
  needy: {}, failed: { state: "failed" }, stuck: { flag: "stuck" }, waiting: { state: "new,delivered" }, working: { state: "processing" },
  held: { state: "held" }, dead: { state: "dead" }, open: { state: "open" },
} as const satisfies { [view: string]: { state?: string; flag?: string } };
export type View = keyof typeof VIEWS;

export function viewOf(query: URLSearchParams): View | undefined {
  const [state, flag] = [query.get("state") ?? "", query.get("flag") ?? ""];
  return (Object.keys(VIEWS) as View[]).find(name => {
    const view: { state?: string; flag?: string } = VIEWS[name];
    return (view.state ?? "") === state && (view.flag ?? "") === flag;
  });
}

/** The requests that together list what an address asks for: the API takes one state and one flag. */
export function filtersOf(query: URLSearchParams): Filter[] {
  const some = <T extends string>(name: string, known: T[]): T[] => known.filter(one => (query.get(name) ?? "").split(",").includes(one));
  const states = some("state", STATES);
  let flags = some("flag", FLAGS);
  if (states.length === 0 && flags.length === 0 && query.get("state") !== "open") flags = NEEDY;
  const common: Filter = {};
  for (const [name, as] of [["agent", "agent_id"], ["room", "chat_id"], ["root", "root"], ["error", "error"]] as const) {
    const value = query.get(name)?.trim();
    // The organization's work cannot be asked for by error.
    if (value && !(name === "error" && isOrganization(query))) common[as] = value;
  }
  const or = <T>(list: T[]): (T | undefined)[] => (list.length > 0 ? list : [undefined]);
  return or(flags).flatMap(flag => or(states).map(state => ({ ...common, ...(state ? { state } : {}), ...(flag ? { flag } : {}) })));
}

export const isOrganization = (query: URLSearchParams): boolean => query.get("scope") === "organization";

/** What of it can be retried: the API refuses to retry all work in a state that has nothing to retry. */
export function retryable(filters: Filter[]): Filter[] {
  return filters.flatMap((one): Filter[] => {
    if (one.state === "new") return [];
    if (one.state === "processing") return !one.flag || one.flag === "stuck" ? [{ ...one, flag: "stuck" }] : [];
    if (one.state || (one.flag && one.flag !== "unanswered")) return [one];
    if (one.flag) return [{ ...one, state: "delivered" }];
    return [{ ...one, state: "failed" }, { ...one, state: "delivered" }, { ...one, flag: "stuck" }];
  });
}

export const keyOf = (item: Item): string => `${item.message_id}/${item.agent.id}`;

/** The part of a list that was read for one filter, oldest first. */
export interface Part { rows: Item[]; cursor: string | undefined }

/** Up to when the parts are complete together; undefined if nothing is missing. */
export function frontier(parts: Part[]): string | undefined {
  return parts.filter(part => part.cursor).map(part => part.rows.at(-1)?.inserted_at ?? "").sort()[0];
}

/** The parts as one list, oldest first. Rows behind those that are missing wait, so that nothing appears in between. */
export function merge(parts: Part[]): Item[] {
  const until = frontier(parts);
  const all = new Map<string, Item>();
  for (const part of parts) for (const row of part.rows) if (until === undefined || row.inserted_at <= until) all.set(keyOf(row), row);
  return [...all.values()].sort((a, b) => (a.inserted_at === b.inserted_at ? a.sequence - b.sequence : a.inserted_at < b.inserted_at ? -1 : 1));
}

/** Since when an item is in its state. */
export function sinceOf(item: Item): string {
  const last = item.attempts.at(-1);
  const at = item.state === "processing" ? last?.started_at
    : item.state === "failed" ? last?.completed_at
    : item.state === "delivered" ? item.delivered_at
    : item.state === "dead" || item.state === "held" ? item.dead_at : item.retried_at;
  return at ?? item.inserted_at;
}

/** The item as the delivery of a message. */
export const deliveryOf = (item: Item): Delivery => ({
  agent: { id: item.agent.id, handle: item.agent.handle, name: item.agent.name, kind: "mention" },
  state: item.state as State,
  attempt: item.current_attempt,
  attempts: item.attempts,
  deliveredAt: item.delivered_at ?? null,
  processedAt: item.processed_at ?? null,
  deadAt: item.dead_at ?? null,
  reason: item.dead_reason ?? null,
  heldBy: item.held_by ?? null,
  replacedBy: item.replaced_by ?? null,
});

/** What the owner of the agent can do. The server has the last word. */
export function canDo(state: State, flags: readonly string[], replacedBy: Id | null | undefined) {
  const isOver = state === "processed" || Boolean(replacedBy);
  const isFree = !isOver && (state !== "processing" || flags.includes("stuck"));
  return { retry: isFree && state !== "new", deadLetter: !isOver && state !== "dead", reassign: isFree, sendAgain: isFree && state !== "new" && state !== "held", interrupt: state === "processing" };
}

const MOST_FILTERED = 200;
const ended = (item: Item) => item.attempts.findLast(one => one.completed_at);
/** The first line of the error of the newest attempt that has ended. */
export const errorOf = (item: Item): string => ended(item)?.error?.trim().split("\n", 1)[0]!.trim().slice(0, 300) ?? "";

export interface Group { key: string; text: string; error: string; count: number; agents: string[]; first: string; last: string }

/** Items whose errors differ in numbers only, the largest group first. */
export function groupsOf(items: Item[]): Group[] {
  const groups = new Map<string, Group>();
  for (const item of items) {
    const text = errorOf(item);
    if (!text) continue;
    const key = text.replace(/\d+/g, "#");
    const at = ended(item)?.completed_at ?? item.inserted_at;
    const group = groups.get(key);
    if (!group) {
      groups.set(key, { key, text, error: text.slice(0, MOST_FILTERED).trim(), count: 1, agents: [item.agent.name], first: at, last: at });
      continue;
    }
    group.count++;
    if (!group.agents.includes(item.agent.name)) group.agents.push(item.agent.name);
    if (at < group.first) group.first = at;
    if (at > group.last) group.last = at;
    if (text !== group.text) {
      // The filter of the API looks for one text, so it is the longest that they share.
      group.text = key;
      group.error = key.split("#").map(part => part.trim()).sort((a, b) => b.length - a.length)[0]!.slice(0, MOST_FILTERED).trim();
    }
  }
  return [...groups.values()].sort((a, b) => b.count - a.count || (a.last < b.last ? 1 : -1));
}
