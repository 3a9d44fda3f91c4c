// The caller's own agents, and whether they are connected.

import { computed, signal } from "@preact/signals";
import type { Id } from "../pure/message.ts";
import type { AgentView, CredentialsView, Operations, WorkItemView } from "../wire/api.ts";
import { call } from "../wire/call.ts";
import { listen } from "../wire/link.ts";
import { onLeave } from "../wire/session.ts";
import { complain } from "./notices.ts";
import { peers } from "./people.ts";

export type Agent = AgentView;
/** The end of an agent's last socket. */
export interface Disconnect { at: string; reason: string }

const known = signal<ReadonlyMap<Id, Agent>>(new Map());
export const agents = computed(() => [...known.value.values()].sort((a, b) => a.name.localeCompare(b.name)));
export const agentOf = (id: Id): Agent | undefined => known.value.get(id);
export const isMine = (id: Id): boolean => known.value.has(id);
export const isLoading = signal(true);

/** Since when an agent is known to be connected or not, as seen from this page. */
export interface Presence { isOnline: boolean; since: number | null }
export const presence = signal<ReadonlyMap<Id, Presence>>(new Map());
export const disconnects = signal<ReadonlyMap<Id, Disconnect | null>>(new Map());

function put(...list: Agent[]): void {
  const all = new Map(known.value);
  for (const agent of list) all.set(agent.id, { ...all.get(agent.id), ...agent });
  known.value = all;
}

function drop(id: Id): void {
  const all = new Map(known.value);
  if (all.delete(id)) known.value = all;
}

export async function load(): Promise<void> {
  try {
    const all: Agent[] = [];
    let cursor: string | null | undefined;
    do {
      const { data, metadata } = await call("listAgents", { query: { limit: 100, ...(cursor ? { cursor } : {}) } });
      all.push(...data);
      cursor = metadata.has_more ? metadata.next_cursor : null;
    } while (cursor);
    known.value = new Map(all.map(agent => [agent.id, agent]));
  } catch (cause) { complain(cause); }
  isLoading.value = false;
}

export function start(me: Id): void {
  let again = false;
  void load();
  listen(`user_agents:${me}`, {
    agent_created: (agent: Agent) => put(agent),
    agent_updated: (agent: Agent) => put(agent),
    agent_deleted: ({ id }: { id: Id }) => drop(id),
  }, () => {
    if (again) void load();
    again = true;
  });
}

/** Takes what some answer or event says about who is connected. */
export function present(list: { id: Id; online?: boolean | undefined }[]): void {
  let all: Map<Id, Presence> | null = null;
  for (const { id, online } of list) {
    const before = presence.value.get(id);
    if (online === undefined || before?.isOnline === online) continue;
    all ??= new Map(presence.value);
    all.set(id, { isOnline: online, since: before ? Date.now() : null });
    if (before) forget(id);
  }
  if (all) presence.value = all;
}

/** Asks who is connected every `everyMs` while somebody looks. Returns the way out. */
export function watchPresence(everyMs: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const ask = async (): Promise<void> => {
    if (document.visibilityState === "visible") {
      await peers().then(list => present(list.filter(one => one.type === "Agent")), () => undefined);
    }
    if (!isOver) timer = setTimeout(() => void ask(), everyMs);
  };
  void ask();
  return () => { isOver = true; clearTimeout(timer); };
}

/** When and why an own agent's last socket ended, as far as the server tells it with the agent's work. */
export async function findDisconnect(id: Id): Promise<void> {
  if (disconnects.value.has(id) || !isMine(id)) return;
  disconnects.value = new Map(disconnects.value).set(id, null);
  try {
    const item = await anyWork(id);
    if (item) noteDisconnect(item);
  } catch { /* Nothing is shown then. */ }
}

export function noteDisconnect({ agent }: WorkItemView): void {
  if (!agent.last_disconnected_at) return;
  const last = { at: agent.last_disconnected_at, reason: agent.last_disconnect_reason ?? "" };
  disconnects.value = new Map(disconnects.value).set(agent.id, last);
}

function forget(id: Id): void {
  const rest = new Map(disconnects.value);
  if (rest.delete(id)) disconnects.value = rest;
}

/** Some message of the agent: open work if there is any, else one that it has processed. */
async function anyWork(id: Id): Promise<WorkItemView | undefined> {
  const open = await call("listWork", { query: { agent_id: id, limit: 1 } });
  if (open.data[0]) return open.data[0];
  const { data: executions } = await call("listExecutions", { path: { agent_id: id }, query: { limit: 3 } });
  for (const { chat_room_id } of executions) {
    const { data: texts } = await call("listMessages", { path: { chat_id: chat_room_id }, query: { limit: 50, message_types: ["text"] } });
    const message = texts.find(one => id in ((one.metadata["delivery_status"] as object | undefined) ?? {}));
    if (message) return (await call("findWork", { path: { message_id: message.id, agent_id: id } })).data;
  }
  return undefined;
}

export interface Registered { agent: Agent; credentials: CredentialsView }
/** The agent that was registered, until its key was shown: also if the dialog was closed before the answer came. */
export const registered = signal<Registered | null>(null);

export async function register(name: string, description: string, password?: string): Promise<void> {
  const { data } = await call("registerAgent", { body: { agent: { name, description, ...(password ? { current_password: password } : {}) } } });
  put(data.agent);
  present([{ id: data.agent.id, online: false }]);
  registered.value = data;
}

export type Changes = Operations["updateAgent"]["body"]["agent"];
export async function change(id: Id, changes: Changes): Promise<void> {
  put((await call("updateAgent", { path: { agent_id: id }, body: { agent: changes } })).data);
}

export async function rotateKey(id: Id, password?: string): Promise<Registered> {
  return (await call("rotateAgentKey", { path: { agent_id: id }, body: password ? { current_password: password } : {} })).data;
}

export async function remove(id: Id): Promise<void> {
  await call("deleteAgent", { path: { agent_id: id }, query: { force: true } });
  drop(id);
}

export const executions = (id: Id, cursor?: string) =>
  call("listExecutions", { path: { agent_id: id }, query: { limit: 20, ...(cursor ? { cursor } : {}) } });

/** Ends the turns that an own agent has open, in all rooms: any of its executions will do. */
export async function interrupt(id: Id): Promise<void> {
  const [one] = (await executions(id)).data;
  if (one) await call("interruptAgent", { path: { agent_id: id, execution_id: one.id } });
}

/** What the agent has yet to do, oldest first, and how much of it was dead-lettered. */
export interface OpenWork { items: WorkItemView[]; hasMore: boolean; dead: number; hasMoreDead: boolean }

export async function openWork(id: Id): Promise<OpenWork> {
  const [open, dead] = await Promise.all([
    call("listWork", { query: { agent_id: id, limit: 100 } }),
    call("listWork", { query: { agent_id: id, limit: 100, state: "dead" } }),
  ]);
  if (open.data[0]) noteDisconnect(open.data[0]);
  const isOpen = ({ replaced_by }: WorkItemView): boolean => !replaced_by;
  return { items: open.data.filter(isOpen), hasMore: open.metadata.has_more, dead: dead.data.filter(isOpen).length, hasMoreDead: dead.metadata.has_more };
}

onLeave(() => {
  known.value = new Map();
  presence.value = new Map();
  disconnects.value = new Map();
  isLoading.value = true;
  registered.value = null;
});
