// Who is logged in. The long-lived secret is a cookie that scripts cannot read; the access token is only in memory.

import { signal } from "@preact/signals";
import { ApiError, unreachable } from "../pure/errors.ts";
import type { ProfileView } from "./api.ts";
import { answer as answered } from "./device.ts";

export type Door =
  | { login: string; password: string; code?: string }
  | { api_key: string }
  | { reset_token: string; new_password: string; code?: string }
  | { login_code: string }
  | { passkey: unknown }
  | { handle: string; email: string; name: string; password: string; invitation?: string };

/** How people can log in at this server. */
export interface Ways { providers: { name: string; label: string }[]; has_passwords: boolean; has_passkeys: boolean }

interface Answer { access_token: string; expires_in: number; user: ProfileView; is_operator?: boolean; has_boards?: boolean; has_files?: boolean; has_webhooks?: boolean; has_a2a?: boolean; has_docs?: boolean; has_passkeys?: boolean }

export const user = signal<ProfileView | null>(null);
/** Whether the user can open the pages of operators. */
export const isOperator = signal(false);
/** Rooms have boards and files, unless the server says otherwise. */
export const hasBoards = signal(true);
export const hasFiles = signal(true);
/** Whether agents can have webhooks, and be listed for A2A. */
export const hasWebhooks = signal(false);
export const hasA2a = signal(false);
/** Whether the server shows its documentation. */
export const hasDocs = signal(false);
/** Whether passkeys can be added. */
export const hasPasskeys = signal(false);
/** `starting` while it is not known whether somebody is logged in. */
export const phase = signal<"starting" | "out" | "in">("starting");
/** Why the last session ended, if not by logging out: unexpectedly, or by a new password that could not log in again. */
export const ending = signal<"" | "unexpected" | "password">("");
/** Whether somebody logged out and the server has not confirmed it. */
export const isUnconfirmed = signal(false);

const DOOR = "/console/session";
const API = "/api/v1/auth";
/** Set once somebody has logged in with this browser: only then is the door asked at the start. */
const FLAG = "parlance.session";
/** Set while a log-out has to be repeated, since the server did not confirm it. */
const UNCONFIRMED = "parlance.logout";
/** Set in a tab that has left for an identity provider. */
const LEFT = "parlance.left";

let token = "";
let expiresAt = 0;
let renewal: Promise<boolean> | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
/** Counts the sessions that this page has left: answers for an earlier one are not taken. */
let left = 0;
const leaving = new Set<(isUnexpected: boolean) => void>();
const tabs = new BroadcastChannel("parlance");

tabs.onmessage = event => {
  if (event.data === "out") {
    isUnconfirmed.value = flag(UNCONFIRMED) ?? false;
    end("");
  }
  // Perhaps as somebody else. An answer for the cookie of before says nothing about the one of now.
  if (event.data === "in" && phase.value !== "starting") {
    left++;
    renewal = null;
    void renew();
  }
};
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && phase.value === "in") void fresh();
});

/** Called when a session ends, by logging out or unexpectedly; stores empty themselves here. */
export const onLeave = (then: (isUnexpected: boolean) => void): void => void leaving.add(then);
export const accessToken = (): string => token;

export async function start(): Promise<void> {
  if (location.hash === "#in") {
    // Back from an identity provider: the server has set the cookie, if this tab has left for one. A link must not undo a log-out.
    history.replaceState(null, "", location.pathname + location.search);
    const left = sessionStorage.getItem(LEFT) !== null;
    sessionStorage.removeItem(LEFT);
    if (left) remember(UNCONFIRMED, false);
    else if (flag(UNCONFIRMED)) {
      await endAtServer();
      phase.value = "out";
      return;
    }
    if (await renew()) {
      remember(FLAG, true);
      tabs.postMessage("in");
    }
  } else if (flag(UNCONFIRMED)) {
    await endAtServer();
    phase.value = "out";
  } else if (flag(FLAG) ?? true) await renew();
  else phase.value = "out";
}

export async function logIn(door: Door): Promise<void> {
  // The cookie of the session before is about to be replaced, so this is the last time that it can be ended.
  if (isUnconfirmed.value) await endAtServer();
  const answer = (await ask("POST", DOOR, door)) as Answer;
  left++;
  renewal = null;
  take(answer);
  remember(FLAG, true);
  remember(UNCONFIRMED, false);
  tabs.postMessage("in");
}

/** Logs in with a device, which knows whose it is. */
export async function logInByPasskey(): Promise<void> {
  const { options } = (await ask("POST", `${DOOR}/passkey`)) as { options: unknown };
  await logIn({ passkey: await answered(options) });
}

/** Whether the password was right, and a code is required. */
export const isCodeRequired = (cause: unknown): boolean => cause instanceof ApiError && cause.code === "second_factor_required";

export const ways = async (): Promise<Ways> => (await ask("GET", "/console/oidc")) as Ways;

/** Leaves for an identity provider, which sends the browser back to this path. */
export async function logInAt(provider: string, path: string): Promise<void> {
  if (isUnconfirmed.value) await endAtServer();
  sessionStorage.setItem(LEFT, "");
  location.assign(`/console/oidc/${provider}/log-in?return_to=${encodeURIComponent(path)}`);
}

export async function logOut(): Promise<void> {
  await endAtServer();
  end("");
  tabs.postMessage("out");
}

/**
 * Changes the password. This ends all sessions, also the one of this page, so it logs in again with the new password;
 * whoever renews the token meanwhile waits for that.
 */
export async function changePassword(current_password: string, new_password: string): Promise<void> {
  await fresh();
  const login = user.value!.handle;
  let isChanged = false;
  const work = (async () => {
    const { data } = (await ask("POST", `${API}/password`, { current_password, new_password }, token)) as { data: { refresh_token: string } };
    isChanged = true;
    // The answer opened a session for programs, which a page has no use for.
    const drop = (): void => void ask("POST", `${API}/logout`, { refresh_token: data.refresh_token }).catch(() => undefined);
    await logIn({ login, password: new_password }).finally(drop);
  })();
  const mine = work.then(() => true, () => !isChanged);
  renewal = mine;
  try { await work; } catch (cause) {
    if (isChanged) end("password");
    // The log-in asks for the code of the second factor.
    if (!isCodeRequired(cause)) throw cause;
  } finally {
    if (renewal === mine) renewal = null;
  }
}

/** Ends the session of the cookie. Whether that went well decides what the log-in says, and whether it is tried again. */
async function endAtServer(): Promise<void> {
  const isDone = await ask("DELETE", DOOR).then(answer => answer === undefined, () => false);
  remember(UNCONFIRMED, !isDone);
  isUnconfirmed.value = !isDone;
}

/** Gets a new access token. Concurrent callers share one request. False if nobody is logged in now. */
export function renew(): Promise<boolean> {
  if (renewal) return renewal;
  const session = left;
  let mine: Promise<boolean> | null = null;
  mine = (async () => {
    try {
      const answer = (await ask("POST", `${DOOR}/token`)) as Answer;
      if (left !== session) return phase.value === "in";
      take(answer);
      return true;
    } catch (cause) {
      // Only the server's word ends a session; everything else may be over in a moment.
      const isRefused = cause instanceof ApiError && cause.status === 401;
      if (left === session && phase.value !== "out") {
        if (isRefused) end(phase.value === "in" ? "unexpected" : "");
        else if (phase.value === "starting") setTimeout(() => void renew(), (cause as ApiError).retryAfterMs ?? 2000);
      }
      return phase.value === "in";
    } finally {
      if (renewal === mine) renewal = null;
    }
  })();
  renewal = mine;
  return mine;
}

/** Renews the token if it is about to expire. */
export const fresh = async (): Promise<boolean> => Date.now() < expiresAt - 60_000 || renew();

function take(answer: Answer): void {
  // Another tab of this browser has logged in as somebody else.
  if (user.value && user.value.id !== answer.user.id) {
    left++;
    for (const leave of leaving) leave(false);
  }
  token = answer.access_token;
  expiresAt = Date.now() + answer.expires_in * 1000;
  isOperator.value = answer.is_operator === true;
  hasBoards.value = answer.has_boards !== false;
  hasFiles.value = answer.has_files !== false;
  hasWebhooks.value = answer.has_webhooks === true;
  hasA2a.value = answer.has_a2a === true;
  hasDocs.value = answer.has_docs === true;
  hasPasskeys.value = answer.has_passkeys === true;
  user.value = answer.user;
  ending.value = "";
  isUnconfirmed.value = false;
  phase.value = "in";
  clearTimeout(timer);
  timer = setTimeout(() => void renew(), Math.min(answer.expires_in * 800, 0x7fffffff));
}

function end(reason: typeof ending.value): void {
  clearTimeout(timer);
  left++;
  renewal = null;
  token = "";
  expiresAt = 0;
  remember(FLAG, false);
  ending.value = reason;
  user.value = null;
  isOperator.value = false;
  phase.value = "out";
  for (const leave of leaving) leave(reason !== "");
}

async function ask(method: string, path: string, body?: unknown, bearer = ""): Promise<unknown> {
  const answer = await fetch(path, {
    method,
    credentials: path.startsWith(DOOR) ? "same-origin" : "omit",
    // Logging out goes through even if the page is left at once.
    keepalive: method === "DELETE",
    headers: { "content-type": "application/json", ...(bearer ? { authorization: `Bearer ${bearer}` } : {}) },
    ...(body ? { body: JSON.stringify(body) } : method === "POST" ? { body: "{}" } : {}),
  }).catch(() => { throw unreachable(); });
  return parsed(answer);
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

/** Undefined without storage. */
function flag(name: string): boolean | undefined {
  try { return localStorage.getItem(name) !== null; } catch { return undefined; }
}
function remember(name: string, isOn: boolean): void {
  try {
    if (isOn) localStorage.setItem(name, "1");
    else localStorage.removeItem(name);
  } catch { /* Without storage, the door is asked at every start. */ }
}
