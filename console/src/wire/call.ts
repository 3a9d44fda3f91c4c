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

/** Whose work: operations on that of the caller's agents have twins for all agents of the organization, for its admins. */
export type Scope = "mine" | "organization";

/** The times that a read is repeated while the server is busy or cannot be reached. */
const REPEATS = 3;

export async function call<O extends Operation>(operation: O, given: Given<O>): Promise<Operations[O]["answer"]> {
  const { path, query, body, idempotencyKey, signal, scope } = given as {
    path?: Record<string, string>; query?: Record<string, unknown>; body?: unknown; idempotencyKey?: string; signal?: AbortSignal; scope?: Scope;
  };
  const [method, route] = ROUTES[operation].split(" ") as [string, string];
  const asked = Object.entries(query ?? {}).filter(([, value]) => value !== undefined)
    .map(([name, value]): [string, string] => [name, Array.isArray(value) ? value.join(",") : String(value)]);
  const url = ((route.startsWith("/api/") ? "" : "/api/v1/me") + (scope === "organization" ? "/organization" : "") + route).replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path?.[name] ?? ""))
    + (asked.length > 0 ? `?${new URLSearchParams(asked)}` : "");

  // Another tab may log in as somebody else meanwhile: what one user asked for is neither done in the name of
  // another nor given to them.
  const me = user.value?.id;
  const otherUser = (): ApiError => new ApiError(401, "unauthorized", words.otherUser);
  const send = async (): Promise<Response> => user.value?.id !== me ? Promise.reject(otherUser()) : fetch(url, {
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
  });

  await fresh();
  for (let tries = 1; ; tries++) {
    try {
      let answer = await send();
      if (answer.status === 401 && await renew()) answer = await send();
      const found = await parsed(answer);
      if (user.value?.id !== me) throw otherUser();
      return found as Operations[O]["answer"];
    } catch (cause) {
      if (method !== "GET" || tries > REPEATS || !(cause instanceof ApiError) || !cause.isTemporary) throw cause;
      await new Promise(resolve => setTimeout(resolve, Math.min(cause.retryAfterMs ?? 500 * 2 ** tries, 10_000)));
    }
  }
}

/** A key for requests that may be repeated. `crypto.randomUUID` needs HTTPS. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");
}
