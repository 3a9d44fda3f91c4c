// The webhook of an agent, and its delivery log.

import type { Id } from "../pure/message.ts";
import { ApiError, call } from "../shared.ts";
import type { SecretWebhookView, WebhookDeliveryView, WebhookView } from "../wire/api.ts";

export type Webhook = WebhookView;
export type Sent = WebhookDeliveryView;
/** A webhook, and its secret if that is new. */
export interface Changed { webhook: Webhook; secret: string | null }

const changed = ({ secret, ...webhook }: SecretWebhookView): Changed => ({ webhook, secret: secret ?? null });

/** An agent without a webhook has none to be found. */
export async function find(agent_id: Id): Promise<{ webhook: Webhook | null }> {
  try {
    return { webhook: (await call("findWebhook", { path: { agent_id } })).data };
  } catch (cause) {
    if (cause instanceof ApiError && cause.status === 404) return { webhook: null };
    throw cause;
  }
}

export const set = async (agent_id: Id, url: string): Promise<Changed> => changed((await call("setWebhook", { path: { agent_id }, body: { url } })).data);
/** Requests are also signed with earlier secrets for a day, unless these are revoked. */
export const rotate = async (agent_id: Id, revoke_previous = false): Promise<Changed> =>
  changed((await call("rotateWebhookSecret", { path: { agent_id }, body: { revoke_previous } })).data);
export const enable = async (agent_id: Id): Promise<Webhook> => (await call("enableWebhook", { path: { agent_id } })).data;
export const remove = (agent_id: Id) => call("removeWebhook", { path: { agent_id } });

export const deliveries = (agent_id: Id, cursor?: string) =>
  call("listWebhookDeliveries", { path: { agent_id }, query: { limit: 20, ...(cursor ? { cursor } : {}) } });
export const resend = async (agent_id: Id, delivery_id: Id): Promise<Sent> => (await call("resendWebhookDelivery", { path: { agent_id, delivery_id } })).data;
