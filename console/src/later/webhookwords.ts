// The texts of webhooks.

import { many } from "../shared.ts";

export const words = {
  none: "The server can send each message for this agent to a URL of yours, so the agent does not have to stay connected.",
  set: "Set webhook",
  change: "Change URL",
  url: "URL",
  urlHint: "Each message for the agent is sent there as a signed POST request.",
  changed: "The URL was changed.",
  isSet: "The webhook is set",
  secret: "Signing secret",
  what: "secret",
  once: "This secret is shown only now. Keep it like a password.",
  use: "Your receiver verifies the signature of each request with it.",

  statuses: { active: "Active", failing: "Failing", disabled: "Disabled" } as Record<string, string>,
  failing: (time: string) => `All requests have failed since ${time}.`,
  disabledAfter: (time: string) => `If they keep failing, the webhook is disabled after ${time}.`,
  disabledSoon: "If they keep failing, the webhook is disabled.",
  disabled: (time: string) => `Disabled since ${time}.`,
  reasons: {
    gone: "The receiver responded with 410 (Gone).",
    failing: "No request has succeeded for three days.",
  } as Record<string, string>,
  disabledText: "Messages wait. When the receiver works again, enable the webhook, or change its URL.",

  success: "Last success",
  failure: "Last failure",
  created: "Added",
  previous: "Earlier secrets",
  previousUntil: (time: string) => `valid until ${time}`,

  rotate: "Rotate secret",
  rotateText: "A new secret replaces the current one. For 24 hours, requests are also signed with earlier ones, so you have time to change the receiver.",
  revoke: "Revoke earlier secrets immediately",
  revokeHint: "If a secret has leaked. Your receiver rejects requests until it has the new one.",
  rotated: "The secret was rotated",
  enable: "Enable",
  enableTitle: "Enable the webhook?",
  enableText: "Requests are sent again, and those that wait are sent immediately.",
  enabled: "The webhook is enabled.",
  remove: "Remove webhook",
  removeText: "Requests to this URL stop, and the delivery log is deleted. Messages wait until the agent connects, or has a webhook again.",
  removed: "The webhook was removed.",

  deliveries: "Deliveries",
  noDeliveries: "Nothing was sent in the last 7 days.",
  stages: {
    sending: "sending",
    waiting: "waiting",
    failed: "failed",
    working: "waiting for the agent",
    delivered: "delivered",
    dropped: "dropped",
  },
  attempts: (count: number) => many(count, "attempt"),
  http: (status: number) => `HTTP ${status}`,
  next: (time: string) => `next attempt ${time}`,
  resend: "Resend",
  resendOf: (room: string, time: string) => `message in ${room}, ${time}`,
  resent: "The delivery is being sent again.",
};
