// Requests to the API, typed by its document.

import { ApiError, unreachable } from "../pure/errors.ts";
import { ROUTES, type Operations } from "./api.ts";
import { errors as words } from "../words.ts";
import { accessToken, fresh, parsed, renew, user } from "./session.ts";

type Operation = keyof Operations;
type Empty = Record<string, never>;
type Given<O extends Operation> =
  & (Operations[O]["path"] extends Empty ? { path?: undefined } : { path: Operations[O]["path"] })
  & (Operations[O]["body"] extends undefined ? { body?: undefined } : { body: Operations[O]["body"] })
  & { query?: Operations[O]["query"]; idempotencyKey?: string; signal?: AbortSignal; scope?: Scope };

/** Whose work or webhook: operations on those of the caller's agents have twins for the organization, for its admins. */
export type Scope = "mine" | "organization";

/** The times that a request is repeated while the server is busy or cannot be reached. */
const REPEATS = 3;

export async function call<O extends Operation>(operation: O, given: Given<O>): Promise<Operations[O]["answer"]> {
  const { path, query, body, idempotencyKey, signal, scope } = given as {
    path?: Record<string, string>; query?: Record<string, unknown>; body?: unknown; idempotencyKey?: string; signal?: AbortSignal; scope?: Scope;
  };
  const [method, route] = ROUTES[operation].split(" ") as [string, string];
  const asked = Object.entries(query ?? {}).filter(([, value]) => value !== undefined)
    .map(([name, value]): [string, string] => [name, Array.isArray(value) ? value.join(",") : String(value)]);
  const url = ((route.startsWith("/api/") ? "" : "/api/v1/me") + (scope === "organization" ? "/organization" + route.replace("/agents/{agent_id}", "") : route)).replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path?.[name] ?? ""))
    + (asked.length > 0 ? `?${new URLSearchParams(asked)}` : "");

  return patiently(() => fetch(url, {
    method,
    signal: signal ?? null,
    credentials: "omit",
    headers: {
      authorization: `Bearer ${accessToken()}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(idempotencyKey ? { "idempotency-key": idempotencyKey } : {}),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    throw unreachable();
  }), parsed as (answer: Response) => Promise<Operations[O]["answer"]>, () => method === "GET");
}

/**
 * Sends a request, with a new access token if the server refuses the current one, and takes its answer. Repeats both after
 * temporary failures, if `mayRepeat` allows it each time.
 */
export async function patiently<R extends { status: number }, T>(send: () => Promise<R>, take: (answer: R) => Promise<T>, mayRepeat: () => boolean): Promise<T> {
  // Another tab may log in as somebody else meanwhile: what one user asked for is neither done in the name of
  // another nor given to them.
  const me = user.value?.id;
  const check = (): void => { if (user.value?.id !== me) throw new ApiError(401, "unauthorized", words.otherUser); };
  for (let tries = 1; ; tries++) {
    try {
      await fresh();
      check();
      let answer = await send();
      if (answer.status === 401 && await renew()) {
        check();
        answer = await send();
      }
      const found = await take(answer);
      check();
      return found;
    } catch (cause) {
      if (tries > REPEATS || !(cause instanceof ApiError) || !cause.isTemporary || !mayRepeat()) throw cause;
      await new Promise(resolve => setTimeout(resolve, Math.min(cause.retryAfterMs ?? 500 * 2 ** tries, 10_000)));
    }
  }
}

/**
 * Idempotency key of a request. It stays the same as long as the content does, so a request whose response was lost can be
 * repeated. `sent` holds the last request.
 */
export function keyFor(sent: { of?: string; key?: string }, content: unknown): string {
  const of = JSON.stringify(content);
  if (!sent.key || sent.of !== of) Object.assign(sent, { of, key: newIdempotencyKey() });
  return sent.key!;
}

/** A key for requests that may be repeated. `crypto.randomUUID` needs HTTPS. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");
}
