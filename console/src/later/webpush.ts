// The subscription of this browser to Web Push.

import { ApiError, BASE, call } from "../shared.ts";
import { notifications as words } from "./notificationwords.ts";

const WORKER = `${BASE}/sw.js`;

interface Policies { createPolicy: (name: string, rules: { createScriptURL: (url: string) => string }) => { createScriptURL: (url: string) => string } }

/** The content policy allows this one script, by this one name. */
let policy: { createScriptURL: (url: string) => string } | undefined;

function worker(): string {
  const policies = (window as unknown as { trustedTypes?: Policies }).trustedTypes;
  if (!policies) return WORKER;
  policy ??= policies.createPolicy("worker", { createScriptURL: url => { if (url !== WORKER) throw new TypeError(url); return url; } });
  return policy.createScriptURL(WORKER);
}

/** Subscribes this browser, after its user has allowed that. */
export async function subscribe(): Promise<{ url: string; p256dh: string; auth: string }> {
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) throw new ApiError(0, "no_push", words.noPush);
  const { public_key: applicationServerKey } = (await call("findWebPushKey", {})).data;
  if (await Notification.requestPermission() !== "granted") throw new ApiError(0, "denied", words.denied);
  await navigator.serviceWorker.register(worker(), { scope: `${BASE}/` });
  const { pushManager } = await navigator.serviceWorker.ready;
  // One with another key would not be reached.
  await (await pushManager.getSubscription())?.unsubscribe();
  const { endpoint, keys } = (await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey })).toJSON();
  return { url: endpoint ?? "", p256dh: keys?.p256dh ?? "", auth: keys?.auth ?? "" };
}
