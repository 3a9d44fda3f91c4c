// What the record of a webhook says.

import type { WebhookDeliveryView, WebhookView } from "../wire/api.ts";
import type { State } from "./message.ts";

/** The server does not disable a webhook that fails before this time without a success. */
const DISABLED_AFTER_MS = 3 * 24 * 3600 * 1000;

/** The earliest time at which a webhook whose requests fail is disabled; null if they do not fail, or if it is disabled. */
export function disabledAfter({ status, failing_since: since }: Pick<WebhookView, "status" | "failing_since">): string | null {
  return since && status !== "disabled" ? new Date(Date.parse(since) + DISABLED_AFTER_MS).toISOString() : null;
}

/** Whether the last request of a delivery was answered with 2xx; null if it is not known. */
export function hasSucceeded({ last_status: status, last_error: error }: Pick<WebhookDeliveryView, "last_status" | "last_error">): boolean | null {
  return status != null ? status >= 200 && status < 300 : error != null ? false : null;
}

/** The latest time at which a request succeeded or failed, among these deliveries. */
export function latest(sent: readonly Pick<WebhookDeliveryView, "last_status" | "last_error" | "last_attempt_at">[], isSuccess: boolean): string | null {
  const times = sent.filter(one => hasSucceeded(one) === isSuccess).flatMap(one => one.last_attempt_at ?? []);
  return times.sort((a, b) => Date.parse(a) - Date.parse(b)).at(-1) ?? null;
}

export type Stage = "sending" | "waiting" | "failed" | "working" | "delivered" | "dropped";

/** How far a delivery is. One that was answered with 2xx waits until the agent is done. */
export function stageOf(sent: Pick<WebhookDeliveryView, "status" | "attempts" | "last_status" | "last_error">): Stage {
  if (sent.status !== "waiting") return sent.status as Stage;
  // Rows of older servers keep the last answer when they start over, with 0 requests.
  const isTaken = sent.attempts > 0 ? hasSucceeded(sent) : null;
  return isTaken === null ? "waiting" : isTaken ? "working" : "failed";
}

/** The states of messages whose signs the stages share. */
export const SIGNS: Record<Stage, State> = { sending: "processing", waiting: "new", failed: "failed", working: "delivered", delivered: "processed", dropped: "dead" };
