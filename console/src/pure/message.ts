// What a message says about the agents that it is addressed to.

import type { AttemptView, MessageView } from "../wire/api.ts";

export type Id = string;
export type Message = MessageView;

export interface Mention { id: Id; handle: string; name: string; kind: "mention" | "reference" }

/** `new` is a delivery that nothing has happened to yet. */
export type State = "new" | "delivered" | "processing" | "processed" | "failed" | "dead" | "held";

export interface Delivery {
  agent: Mention;
  state: State;
  attempt: number;
  attempts: AttemptView[];
  deliveredAt: string | null;
  processedAt: string | null;
  deadAt: string | null;
  reason: string | null;
  heldBy: string | null;
  replacedBy: Id | null;
}

interface Record {
  status?: string;
  current_attempt?: number;
  attempts?: AttemptView[];
  delivered_at?: string | null;
  processed_at?: string | null;
  dead_at?: string | null;
  dead_reason?: string | null;
  held_by?: string | null;
  replaced_by?: Id | null;
}

export const isText = (message: Message): boolean => message.message_type === "text";
/** What is a row of its own; everything else is a step of an agent's work. */
export const isRow = (message: Message): boolean => isText(message) || message.message_type === "attention";

export function mentionsOf(message: Message): Mention[] {
  const mentions = isText(message) ? message.metadata["mentions"] : undefined;
  return Array.isArray(mentions) ? (mentions as Mention[]) : [];
}

/** The tool of a call or a result. Clients write it first, so it is there if the rest was cut. */
export const toolOf = ({ message_type, content }: Message): string | undefined =>
  (message_type.startsWith("tool_") ? /^\s*\{\s*"name"\s*:\s*"([^"\\]+)"/.exec(content)?.[1] : undefined);

/** The tokens that a step reports. */
export const usageOf = ({ message_type, metadata }: Message): { input_tokens?: number; output_tokens?: number } | undefined =>
  (message_type === "task" && metadata["band_usage"] ? metadata["band_usage"] : undefined);

/** Handles of agents are `owner/name`; those of people have no slash. */
export const isAgentHandle = (handle: string): boolean => handle.includes("/");

function recordsOf(message: Message): { [agent: Id]: Record } {
  const records = isText(message) ? message.metadata["delivery_status"] : undefined;
  return records && typeof records === "object" ? (records as { [agent: Id]: Record }) : {};
}

const STATES: State[] = ["new", "delivered", "processing", "processed", "failed"];

function stateOf(record: Record | undefined): State {
  if (!record) return "new";
  if (record.held_by) return "held";
  if (record.dead_at) return "dead";
  return STATES.find(state => state === record.status) ?? "new";
}

/** The deliveries of a text, in the order of its mentions. */
export function deliveriesOf(message: Message): Delivery[] {
  const records = recordsOf(message);
  const all = (message.metadata["attempts"] ?? []) as AttemptView[];
  return mentionsOf(message)
    .filter(mention => mention.kind !== "reference" && isAgentHandle(mention.handle))
    .map(agent => {
      const record = records[agent.id];
      // A delivery that was retried has attempts but no record.
      const attempts = record?.attempts ?? (Array.isArray(all) ? all.filter(one => one.agent_id === agent.id) : []);
      return {
        agent,
        state: stateOf(record),
        attempt: record?.current_attempt ?? attempts.at(-1)?.attempt_number ?? 0,
        attempts,
        deliveredAt: record?.delivered_at ?? null,
        processedAt: record?.processed_at ?? null,
        deadAt: record?.dead_at ?? null,
        reason: record?.dead_reason ?? null,
        heldBy: record?.held_by ?? null,
        replacedBy: record?.replaced_by ?? null,
      };
    });
}

/**
 * Whether `incoming` is an older state of the message than `known`.
 *
 * Steps of a delivery do not change `updated_at`, but attempts are only added and only close, so they tell.
 */
export function isStale(known: Message, incoming: Message): boolean {
  if (incoming.updated_at !== known.updated_at) return incoming.updated_at < known.updated_at;
  const before = attemptsByAgent(known);
  const after = attemptsByAgent(incoming);
  for (const [agent, attempt] of before) {
    const other = after.get(agent);
    if (!other || other.attempt_number < attempt.attempt_number) return true;
    if (other.attempt_number === attempt.attempt_number && attempt.completed_at && !other.completed_at) return true;
  }
  return false;
}

/** The newest attempt of each agent. */
function attemptsByAgent(message: Message): Map<Id, AttemptView> {
  const newest = new Map<Id, AttemptView>();
  const all = message.metadata["attempts"];
  for (const attempt of isText(message) && Array.isArray(all) ? (all as AttemptView[]) : []) {
    const known = newest.get(attempt.agent_id ?? "");
    if (!known || known.attempt_number < attempt.attempt_number) newest.set(attempt.agent_id ?? "", attempt);
  }
  return newest;
}
