// The webhook of an agent, or of the organization, and its delivery log.

import type { Id } from "../pure/message.ts";
import { ApiError, call } from "../shared.ts";
import type { SecretWebhookView, WebhookDeliveryView, WebhookView } from "../wire/api.ts";

/** An agent, or null for the organization, which receives its audit log by the twins of these operations. */
export type Owner = Id | null;
export type Webhook = WebhookView & { events?: string[] };
/** An event is sent instead of a message of a room if it has one. */
export type Sent = WebhookDeliveryView & { event?: string };
/** A webhook, and its secret if that is new. */
export interface Changed { webhook: Webhook; secret: string | null }

const changed = ({ secret, ...webhook }: SecretWebhookView): Changed => ({ webhook, secret: secret ?? null });
const at = (of: Owner) => ({ path: { agent_id: of ?? "" }, scope: of ? ("mine" as const) : ("organization" as const) });

/** An owner without a webhook has none to be found. */
export async function find(of: Owner): Promise<{ webhook: Webhook | null }> {
  try {
    return { webhook: (await call("findWebhook", at(of))).data };
  } catch (cause) {
    if (cause instanceof ApiError && cause.status === 404) return { webhook: null };
    throw cause;
  }
}

export async function set(of: Owner, url: string, events: string[]): Promise<Changed> {
  const body = { url, ...(of ? {} : { events }) };
  return changed((await call("setWebhook", { ...at(of), body })).data);
}
/** Requests are also signed with earlier secrets for a day, unless these are revoked. */
export const rotate = async (of: Owner, revoke_previous = false): Promise<Changed> =>
  changed((await call("rotateWebhookSecret", { ...at(of), body: { revoke_previous } })).data);
export const enable = async (of: Owner): Promise<Webhook> => (await call("enableWebhook", at(of))).data;
export const remove = (of: Owner) => call("removeWebhook", at(of));

export const deliveries = (of: Owner, cursor?: string) =>
  call("listWebhookDeliveries", { ...at(of), query: { limit: 20, ...(cursor ? { cursor } : {}) } });
export const resend = async (of: Owner, delivery_id: Id): Promise<Sent> =>
  (await call("resendWebhookDelivery", { path: { agent_id: of ?? "", delivery_id }, scope: at(of).scope })).data;
