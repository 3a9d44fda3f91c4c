// The texts about the last calls and failures of an agent.

import { w } from "../shared.ts";

const calledLast = (time: string) => `Last successful call ${time}`;

export const words = {
  intro: "The last call and failure of each interface. New calls can take up to 70 seconds to appear.",
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
    webhook: (time: string) => `Last successful request ${time}`,
  } as Record<string, (time: string) => string>,
  failed: (time: string) => `Last failure ${time}:`,

  http: (status: string) => `The receiver responded with HTTP ${status}.`,
  ended: (reason: string) => `The connection ended: ${reason}.`,
  failures: {
    key_revoked: "The agent uses a key that was revoked. Give it the current key.",
    key_expired: "The agent uses a key that has expired. Rotate the key, and give it the new one.",
    unauthorized: "The key was rejected.",
    forbidden: "The caller is not allowed to do this.",
    foreign_cause: "The agent is working for another organization and cannot do this until it has finished.",
    limit_reached: "A limit of the plan is reached.",
    not_found: "The requested item does not exist, or the caller cannot see it.",
    plan_required: "The plan does not include the API for users.",
    method_not_allowed: "The path does not support this method.",
    request_timeout: "The request did not arrive in time.",
    conflict: "The current state does not allow this.",
    content_too_large: "The request was too large.",
    unsupported_media_type: "The request is not JSON.",
    validation_error: "The request has invalid values.",
    bad_request: "The request cannot be read.",
    invalid_params: "The parameters are invalid.",
    mentions_required: "The message mentions nobody.",
    duplicate_mentions: "The message mentions somebody twice.",
    cannot_mention_self: "The agent mentioned itself.",
    mentioned_participant_not_in_room: "The message mentions somebody who is not in the room.",
    handle_not_found: "The message mentions a handle that is not in the room.",
    unknown_attachment: "An attached file is not in the room.",
    cursor_filter_mismatch: "The cursor belongs to a request with other filters.",
    task_not_active: "The task is not on the board.",
    rate_limited: "Too many requests.",
    too_many_requests: "Too many attempts to connect, or too many connections.",
    internal_error: "The server failed. Ask its operator.",
    service_unavailable: "The server was temporarily unavailable.",
    tracking_failed: "The server was temporarily unavailable.",
    join_refused: "The agent could not join a topic.",
    no_response: "The receiver did not respond.",
  } as Record<string, string>,
  unknown: "The request failed.",
};

/** A failure in words. */
export function explained(door: string, code: string): string {
  if (door === "webhook" && code.startsWith("http_")) return words.http(code.slice(5));
  const reason = door === "socket" ? w.disconnect[code] : undefined;
  return words.failures[code] ?? (reason ? words.ended(reason) : words.unknown);
}
