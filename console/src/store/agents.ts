// The caller's own agents, and whether they are connected.

import { computed, signal } from "@preact/signals";
import type { Id } from "../pure/message.ts";
import type { ConnectionView, CredentialsView, Operations, OwnedAgentView, WorkItemView } from "../wire/api.ts";
import { call } from "../wire/call.ts";
import { listen } from "../wire/link.ts";
import { onLeave } from "../wire/session.ts";
import { complain } from "./notices.ts";

export interface Agent extends OwnedAgentView {
  /** When it connected, in milliseconds, if that was seen from this page. */
  since?: number | undefined;
}

const known = signal<ReadonlyMap<Id, Agent>>(new Map());
export const agents = computed(() => [...known.value.values()].sort((a, b) => a.name.localeCompare(b.name)));
export const agentOf = (id: Id): Agent | undefined => known.value.get(id);
export const isMine = (id: Id): boolean => known.value.has(id);
export const isLoading = signal(true);

/** What changed while the list is read is newer than the answer. */
const changedSince = new Set<Id>();

/** An agent with what an answer or event says of it. Events say nothing about its connection and work. */
function merged(agent: OwnedAgentView): Agent {
  const before = known.value.get(agent.id);
  const after: Agent = { ...before, ...agent };
  after.since = !after.connected ? undefined : before?.connected === false ? Date.now() : before?.since;
  return after;
}

function put(...list: OwnedAgentView[]): void {
  const all = new Map(known.value);
  for (const agent of list) {
    all.set(agent.id, merged(agent));
    changedSince.add(agent.id);
  }
  known.value = all;
}

function drop(id: Id): void {
  changedSince.add(id);
  const all = new Map(known.value);
  if (all.delete(id)) known.value = all;
}

const WITH_WORK = { include: ["work" as const] };

async function pages(): Promise<OwnedAgentView[]> {
  const all: OwnedAgentView[] = [];
  let cursor: string | null | undefined;
  do {
    const { data, metadata } = await call("listAgents", { query: { ...WITH_WORK, limit: 100, cursor: cursor ?? undefined } });
    all.push(...data);
    cursor = metadata.has_more ? metadata.next_cursor : null;
  } while (cursor);
  return all;
}

let reading: Promise<void> | null = null;
/** Reads all agents; who asks meanwhile gets the same answer. */
function read(): Promise<void> {
  if (reading) return reading;
  changedSince.clear();
  const mine = pages().then(all => {
    // Somebody has logged out meanwhile.
    if (reading !== mine) return;
    const next = new Map(all.map(agent => [agent.id, merged(agent)]));
    for (const id of changedSince) {
      const agent = known.value.get(id);
      if (agent) next.set(id, agent); else next.delete(id);
    }
    known.value = next;
  }).finally(() => { if (reading === mine) reading = null; });
  return reading = mine;
}

async function readOne(id: Id): Promise<void> {
  const { data } = await call("findAgent", { path: { agent_id: id }, query: WITH_WORK });
  if (isMine(id)) put(data);
}

export async function load(): Promise<void> {
  await read().catch(complain);
  isLoading.value = false;
}

export function start(me: Id): void {
  let again = false;
  void load();
  listen(`user_agents:${me}`, {
    agent_created: (agent: OwnedAgentView) => put(agent),
    agent_updated: (agent: OwnedAgentView) => put(agent),
    agent_deleted: ({ id }: { id: Id }) => drop(id),
  }, () => {
    if (again) void load();
    again = true;
  });
}

/** Servers store the end of a socket within a second. */
const STORED_MS = 1500;
const away = new Set<Id>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** Takes what a room says about who is connected; asks afterwards why those that left did. */
export function present(list: { id: Id; online?: boolean | undefined }[]): void {
  for (const { id, online } of list) {
    const agent = known.value.get(id);
    if (!agent || online === undefined || agent.connected === online) continue;
    put({ ...agent, connected: online, ...(online ? {} : { last_disconnected_at: null }) });
    if (!online) away.add(id);
  }
  if (away.size > 0) timer ??= setTimeout(findReasons, STORED_MS);
}

function findReasons(): void {
  timer = undefined;
  const [first, ...rest] = away;
  away.clear();
  // One that is being read may have begun before.
  const asked = !first ? undefined : rest.length === 0 ? readOne(first) : reading ? reading.then(read) : read();
  asked?.catch(() => undefined);
}

/** Reads all agents, or one, every `everyMs` while somebody looks. Returns the way out. */
export function watch(everyMs: number, id?: Id): () => void {
  let next: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const ask = async (): Promise<void> => {
    if (document.visibilityState === "visible") await (id ? readOne(id) : read()).catch(() => undefined);
    if (!isOver) next = setTimeout(() => void ask(), everyMs);
  };
  void ask();
  return () => { isOver = true; clearTimeout(next); };
}

/** The last connections that have ended, newest first. */
export const connections = async (id: Id): Promise<ConnectionView[]> => (await call("listConnections", { path: { agent_id: id } })).data;

export interface Registered { agent: Agent; credentials: CredentialsView }
/** The agent that was registered, until its key was shown: also if the dialog was closed before the answer came. */
export const registered = signal<Registered | null>(null);

/** A retry with the same idempotency key issues another API key for the same agent. */
export async function register(idempotencyKey: string, name: string, description: string, password?: string): Promise<void> {
  const { data } = await call("registerAgent", { idempotencyKey, body: { agent: { name, description, ...(password ? { current_password: password } : {}) } } });
  put({ ...data.agent, connected: false });
  registered.value = data;
}

export type Changes = Operations["updateAgent"]["body"]["agent"];
export async function change(id: Id, changes: Changes): Promise<void> {
  put((await call("updateAgent", { path: { agent_id: id }, body: { agent: changes } })).data);
}

export async function rotateKey(idempotencyKey: string, id: Id, password?: string): Promise<Registered> {
  return (await call("rotateAgentKey", { idempotencyKey, path: { agent_id: id }, body: password ? { current_password: password } : {} })).data;
}

export const pause = async (id: Id, reason: string): Promise<void> => put((await call("pauseAgent", { path: { agent_id: id }, body: { reason } })).data);
export const resume = async (id: Id): Promise<void> => put((await call("resumeAgent", { path: { agent_id: id } })).data);

export async function remove(id: Id): Promise<void> {
  await call("deleteAgent", { path: { agent_id: id }, query: { force: true } });
  drop(id);
}

export const executions = (id: Id, cursor?: string) =>
  call("listExecutions", { path: { agent_id: id }, query: { limit: 20, cursor } });

/** Ends the turns that an own agent has open, in all rooms: any of its executions will do. */
export async function interrupt(id: Id): Promise<void> {
  const [one] = (await executions(id)).data;
  if (one) await call("interruptAgent", { path: { agent_id: id, execution_id: one.id } });
}

/** What the agent has yet to do, oldest first. */
export const openWork = async (id: Id): Promise<WorkItemView[]> => (await call("listWork", { query: { agent_id: id, limit: 100 } })).data;

onLeave(() => {
  reading = null;
  away.clear();
  known.value = new Map();
  isLoading.value = true;
  registered.value = null;
});
