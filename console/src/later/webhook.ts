// The webhook of an agent, or of the organization, and its delivery log.

import type { Id } from "../pure/message.ts";
import { ApiError, call } from "../shared.ts";
import type { EventDeliveryView, SecretWebhookView, WebhookDeliveryView, WebhookView } from "../wire/api.ts";

/** An agent, or null for the organization, which is told of its audit log. */
export type Owner = Id | null;
export type Webhook = WebhookView & { events?: string[] };
export type Sent = WebhookDeliveryView | EventDeliveryView;
/** A webhook, and its secret if that is new. */
export interface Changed { webhook: Webhook; secret: string | null }

const changed = ({ secret, ...webhook }: SecretWebhookView & { events?: string[] }): Changed => ({ webhook, secret: secret ?? null });

/** An owner without a webhook has none to be found. */
export async function find(of: Owner): Promise<{ webhook: Webhook | null }> {
  try {
    return { webhook: (await (of ? call("findWebhook", { path: { agent_id: of } }) : call("findOrganizationWebhook", {}))).data };
  } catch (cause) {
    if (cause instanceof ApiError && cause.status === 404) return { webhook: null };
    throw cause;
  }
}

export const set = async (of: Owner, url: string, events: string[]): Promise<Changed> =>
  changed((await (of ? call("setWebhook", { path: { agent_id: of }, body: { url } }) : call("setOrganizationWebhook", { body: { url, events } }))).data);
/** Requests are also signed with earlier secrets for a day, unless these are revoked. */
export const rotate = async (of: Owner, revoke_previous = false): Promise<Changed> =>
  changed((await (of ? call("rotateWebhookSecret", { path: { agent_id: of }, body: { revoke_previous } }) : call("rotateOrganizationWebhookSecret", { body: { revoke_previous } }))).data);
export const enable = async (of: Owner): Promise<Webhook> => (await (of ? call("enableWebhook", { path: { agent_id: of } }) : call("enableOrganizationWebhook", {}))).data;
export const remove = async (of: Owner): Promise<void> => void await (of ? call("removeWebhook", { path: { agent_id: of } }) : call("removeOrganizationWebhook", {}));

export const deliveries = (of: Owner, cursor?: string) => {
  const query = { limit: 20, ...(cursor ? { cursor } : {}) };
  return of ? call("listWebhookDeliveries", { path: { agent_id: of }, query }) : call("listOrganizationWebhookDeliveries", { query });
};
export const resend = async (of: Owner, delivery_id: Id): Promise<Sent> =>
  (await (of ? call("resendWebhookDelivery", { path: { agent_id: of, delivery_id } }) : call("resendOrganizationWebhookDelivery", { path: { delivery_id } }))).data;
