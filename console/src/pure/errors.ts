// Failures of requests, as people read them.

import { errors as words } from "../words.ts";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: { [place: string]: unknown } = {},
    readonly requestId = "",
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }

  /** The same request can succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

/** No answer came. */
export const unreachable = (): ApiError => new ApiError(0, "unreachable", words.unreachable);

/** One sentence for a failure. */
export function explain(cause: unknown): string {
  if (!(cause instanceof ApiError)) return words.unexpected(cause instanceof Error ? cause.message : String(cause));
  if (cause.code === "mentioned_participant_not_in_room") return words.notInRoom;
  if (cause.status === 422) {
    const faults = faultsOf(cause).map(([place, fault]) => (place ? `${place}: ${fault}` : fault));
    if (faults.length > 0) return faults.join(". ");
  }
  if (cause.status >= 500 && cause.requestId) return words.withRequest(cause.message, cause.requestId);
  return cause.message;
}

/** What is wrong with one field of a form, by the last part of its place. */
export function faultOf(cause: unknown, field: string): string {
  if (!(cause instanceof ApiError) || cause.status !== 422) return "";
  return faultsOf(cause).filter(([place]) => place === field).map(([, fault]) => capital(fault)).join(". ");
}

function faultsOf(cause: ApiError): [place: string, fault: string][] {
  return Object.entries(cause.details).flatMap(([place, faults]) =>
    Array.isArray(faults) && place !== "available_handles"
      ? faults.filter(one => typeof one === "string").map((one): [string, string] => [place.split("/").at(-1)!, one])
      : []);
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
