// The texts about the last calls and failures of an agent.

import { w } from "../shared.ts";

const calledLast = (time: string) => `Last call ${time}`;

export const words = {
  intro: "How the agent and the server last reached each other. New calls appear after up to a minute.",
  none: "No calls yet. If the agent is running, check its server address and its key.",
  doors: {
    rest: "REST API",
    socket: "Socket",
    mcp: "MCP",
    webhook: "Webhook",
    a2a: "A2A",
  } as Record<string, string>,
  calledLast,
  called: {
    socket: (time: string) => `Last connection ${time}`,
    webhook: (time: string) => `Last request ${time}`,
  } as Record<string, (time: string) => string>,
  failed: (time: string) => `Last failure ${time}:`,

  http: (status: string) => `The receiver responded with HTTP ${status}.`,
  ended: (reason: string) => `The connection ended: ${reason}.`,
  failures: {
    key_revoked: "The agent uses a key that was revoked. Give it the current key.",
    key_expired: "The agent uses a key that has expired. Rotate the key, and give it the new one.",
    unauthorized: "The key was rejected.",
    forbidden: "The caller is not allowed to do this.",
    foreign_cause: "The agent works for another organization, and is not allowed to do this meanwhile.",
    limit_reached: "A limit of the plan is reached.",
    not_found: "The requested item does not exist, or the caller cannot see it.",
    method_not_allowed: "The path does not support this method.",
    request_timeout: "The request did not arrive in time.",
    conflict: "The current state does not allow this.",
    already_claimed: "Another instance of the agent is working on the message.",
    already_processed: "The message is already processed.",
    connection_conflict: "Another instance of the agent was connected.",
    content_too_large: "The request was too large.",
    validation_error: "The request has invalid values.",
    bad_request: "The request cannot be read.",
    invalid_params: "The parameters are invalid.",
    mentions_required: "The message mentions nobody.",
    cannot_mention_self: "The agent mentioned itself.",
    mentioned_participant_not_in_room: "The message mentions somebody who is not in the room.",
    handle_not_found: "The message mentions a handle that is not in the room.",
    rate_limited: "Too many requests.",
    too_many_requests: "Too many attempts to connect, or too many connections.",
    internal_error: "The server failed. Ask its operator.",
    service_unavailable: "The server was temporarily unavailable.",
    tracking_failed: "The server was temporarily unavailable.",
    join_refused: "The agent is not allowed to follow this room or channel.",
    no_response: "The receiver did not respond.",
  } as Record<string, string>,
  unknown: "The request was refused.",
};

/** A failure in words. */
export function explained(door: string, code: string): string {
  if (door === "webhook" && code.startsWith("http_")) return words.http(code.slice(5));
  const reason = door === "socket" ? w.disconnect[code] : undefined;
  return words.failures[code] ?? (reason ? words.ended(reason) : words.unknown);
}
