// The caller's organization, and the invitation that somebody has opened.

import { computed, effect, signal } from "@preact/signals";
import { changed } from "../pure/usage.ts";
import type { BudgetsView, InvitedView, MemberView, OrganizationView } from "../wire/api.ts";
import { call } from "../wire/call.ts";
import { onLeave, renew } from "../wire/session.ts";
import { place } from "./route.ts";

export type Role = "admin" | "member";
export type Rules = Partial<Pick<OrganizationView, "name" | "max_hops" | "max_pair_messages">> & { foreign?: "allow" | "label" | "hold" };
export type Budget = Exclude<keyof BudgetsView, "used_today">;

export const organization = signal<OrganizationView | null>(null);
export const isAdmin = computed(() => organization.value?.role === "admin");
export const isAlone = computed(() => (organization.value?.members ?? 1) < 2);
/** The token of the invitation that was opened, until it is accepted or put aside. It leaves the address bar at once. */
export const invitation = signal("");
effect(() => {
  const { path, secret } = place.value;
  if (path !== "/register" || !secret) return;
  invitation.value = secret;
  history.replaceState(null, "", location.pathname + location.search);
});

/** Counts what was asked and changed: an answer from before a change is not taken. */
let turn = 0;

function put(view: OrganizationView): void {
  turn++;
  organization.value = view;
}

export async function load(): Promise<void> {
  const mine = ++turn;
  const { data } = await call("showOrganization", {});
  if (mine === turn) organization.value = data;
}

/** No event tells of a pause or of another role, so they are asked for while somebody looks. */
const WATCH_MS = 60_000;
let timer: ReturnType<typeof setInterval> | undefined;
const look = (): void => { if (document.visibilityState === "visible") void load().catch(() => undefined); };

export function start(): void {
  look();
  timer = setInterval(look, WATCH_MS);
  document.addEventListener("visibilitychange", look);
}

/** Changes what differs from what was shown. */
export async function change(shown: OrganizationView, rules: Rules): Promise<void> {
  const wanted = changed<Rules>(shown as Rules, rules);
  if (Object.keys(wanted).length > 0) put((await call("renameOrganization", { body: { organization: wanted } })).data);
}

export const pause = async (reason: string): Promise<void> => put((await call("pauseOrganization", { body: { reason } })).data);
export const resume = async (): Promise<void> => put((await call("resumeOrganization", {})).data);

/** Another organization: the access token of the one before is no longer valid. */
async function move(view: OrganizationView): Promise<void> {
  put(view);
  await renew();
}

export const leave = async (): Promise<void> => move((await call("leaveOrganization", {})).data);

export async function accept(token: string): Promise<void> {
  await move((await call("acceptInvitation", { body: { invitation: { token } } })).data);
  invitation.value = "";
}

export const members = (cursor?: string) => call("listMembers", { query: { limit: 50, cursor } });

export async function setRole(id: string, role: Role): Promise<MemberView> {
  const { data } = await call("setMemberRole", { path: { member_id: id }, body: { member: { role } } });
  look();
  return data;
}

export async function removeMember(id: string): Promise<void> {
  await call("removeMember", { path: { member_id: id } });
  look();
}

export const invitations = (cursor?: string) => call("listInvitations", { query: { limit: 20, cursor } });

export async function invite(role: Role, email: string, days: number): Promise<InvitedView> {
  const expires_at = new Date(Date.now() + days * 86_400_000).toISOString();
  return (await call("invite", { body: { invitation: { role, expires_at, ...(email ? { email } : {}) } } })).data;
}

export const revoke = (id: string) => call("revokeInvitation", { path: { invitation_id: id } });

export const budgets = async (): Promise<BudgetsView> => (await call("showBudgets", {})).data;
export const setBudgets = async (amounts: { [one in Budget]?: number | null }): Promise<BudgetsView> =>
  (await call("setBudgets", { body: { budgets: amounts } })).data;

export const audit = (since: string, cursor?: string) =>
  call("listAuditEntries", { query: { limit: 50, since: since || undefined, cursor } });

onLeave(() => {
  clearInterval(timer);
  document.removeEventListener("visibilitychange", look);
  turn++;
  organization.value = null;
});
