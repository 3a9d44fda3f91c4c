// Who is logged in. The long-lived secret is a cookie that scripts cannot read; the access token is only in memory.

import { signal } from "@preact/signals";
import { ApiError, unreachable } from "../pure/errors.ts";
import type { ProfileView } from "./api.ts";

export type Door =
  | { login: string; password: string }
  | { api_key: string }
  | { reset_token: string; new_password: string }
  | { handle: string; email: string; name: string; password: string; invitation?: string };

interface Answer { access_token: string; expires_in: number; user: ProfileView }

export const user = signal<ProfileView | null>(null);
/** `starting` while it is not known whether somebody is logged in. */
export const phase = signal<"starting" | "out" | "in">("starting");
/** Why the last session ended, if not by logging out. */
export const hasEnded = signal(false);

const DOOR = "/console/session";
/** Set once somebody has logged in with this browser: only then is the door asked at the start. */
const FLAG = "parlance.session";

let token = "";
let expiresAt = 0;
let renewal: Promise<boolean> | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
const leaving = new Set<() => void>();
const tabs = new BroadcastChannel("parlance");

tabs.onmessage = event => {
  if (event.data === "out") end(false);
  // Perhaps as somebody else.
  if (event.data === "in" && phase.value !== "starting") void renew();
};
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && phase.value === "in") void fresh();
});

/** Called when a session ends; stores empty themselves here. */
export const onLeave = (then: () => void): void => void leaving.add(then);
export const accessToken = (): string => token;

export async function start(): Promise<void> {
  if (remembered()) await renew();
  else phase.value = "out";
}

export async function logIn(door: Door): Promise<void> {
  take(await ask("POST", DOOR, door));
  remember(true);
  tabs.postMessage("in");
}

export async function logOut(): Promise<void> {
  await ask("DELETE", DOOR).catch(() => undefined);
  end(false);
  tabs.postMessage("out");
}

/** Gets a new access token, one request at a time whoever asks. False if nobody is logged in any more. */
export function renew(): Promise<boolean> {
  renewal ??= (async () => {
    try {
      take(await ask("POST", `${DOOR}/token`));
      return true;
    } catch (cause) {
      if (cause instanceof ApiError && cause.isTemporary) {
        if (phase.value === "starting") setTimeout(() => void renew(), 2000);
        return phase.value === "in";
      }
      end(phase.value === "in");
      return false;
    } finally {
      renewal = null;
    }
  })();
  return renewal;
}

/** Renews the token if it is about to expire. */
export const fresh = async (): Promise<boolean> => Date.now() < expiresAt - 60_000 || renew();

function take(answer: Answer): void {
  // Another tab of this browser has logged in as somebody else.
  if (user.value && user.value.id !== answer.user.id) for (const leave of leaving) leave();
  token = answer.access_token;
  expiresAt = Date.now() + answer.expires_in * 1000;
  user.value = answer.user;
  hasEnded.value = false;
  phase.value = "in";
  clearTimeout(timer);
  timer = setTimeout(() => void renew(), Math.min(answer.expires_in * 800, 0x7fffffff));
}

function end(isUnexpected: boolean): void {
  clearTimeout(timer);
  token = "";
  expiresAt = 0;
  remember(false);
  hasEnded.value = isUnexpected;
  user.value = null;
  phase.value = "out";
  for (const leave of leaving) leave();
}

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await fetch(path, {
    method,
    credentials: "same-origin",
    // Logging out goes through even if the page is left at once.
    keepalive: method === "DELETE",
    headers: { "content-type": "application/json" },
    ...(body ? { body: JSON.stringify(body) } : method === "POST" ? { body: "{}" } : {}),
  }).catch(() => { throw unreachable(); });
  return (await parsed(answer)) as Answer;
}

/** The body of an answer, or the error that it describes. */
export async function parsed(answer: Response): Promise<unknown> {
  if (answer.status === 204) return undefined;
  const body = (await answer.json().catch(() => null)) as { error?: { code: string; message: string; details?: object; request_id?: string } } | null;
  if (answer.ok && body) return body;
  const { code, message, details, request_id } = body?.error ?? { code: "unknown", message: answer.statusText || `HTTP ${answer.status}` };
  const after = Number(answer.headers.get("retry-after"));
  const isLater = answer.headers.has("retry-after") && Number.isFinite(after);
  throw new ApiError(answer.status, code, message, details as ApiError["details"], request_id, isLater ? after * 1000 : null);
}

function remembered(): boolean {
  try { return localStorage.getItem(FLAG) !== null; } catch { return true; }
}
function remember(isIn: boolean): void {
  try {
    if (isIn) localStorage.setItem(FLAG, "1");
    else localStorage.removeItem(FLAG);
  } catch { /* Without storage, the door is asked at every start. */ }
}
