// The socket: one connection, topics that are shared by those who listen, and a state that people can read.

import { signal } from "@preact/signals";
import { Socket, type Channel } from "phoenix";
import { accessToken, fresh, onLeave, renew } from "./session.ts";

export type LinkState =
  | { kind: "off" }
  | { kind: "connecting" }
  | { kind: "open" }
  | { kind: "waiting"; tries: number; at: number; isStopping: boolean };

export const link = signal<LinkState>({ kind: "off" });

export type Handlers = { [event: string]: (payload: never) => void };
interface Listener { handlers: Handlers; joined?: ((answer: unknown) => void) | undefined }
interface Topic { channel: Channel; listeners: Set<Listener>; events: Set<string>; answer: { value: unknown } | null }

const topics = new Map<string, Topic>();
let socket: Socket | null = null;
let isStopping = false;

const PAUSES_MS = [300, 1000, 2000, 5000, 10_000];
/** Pages that lost one server do not come back at the same instant. */
const pause = (tries: number): number => (PAUSES_MS[tries - 1] ?? 10_000) * (0.75 + Math.random() / 2);

export function connect(): void {
  if (socket) return;
  link.value = { kind: "connecting" };
  socket = new Socket("/api/v1/socket", {
    authToken: accessToken,
    heartbeatIntervalMs: 25_000,
    reconnectAfterMs: tries => {
      // A refused socket shows no reason; the door knows whether the session goes on.
      if (tries > 1) void renew();
      const ms = pause(tries);
      link.value = { kind: "waiting", tries, at: Date.now() + ms, isStopping };
      return ms;
    },
    rejoinAfterMs: pause,
  });
  socket.onOpen(() => {
    isStopping = false;
    link.value = { kind: "open" };
  });
  socket.onClose(({ code }) => {
    isStopping = code === 1012;
    for (const topic of topics.values()) topic.answer = null;
    // 1008: the credential is no longer valid.
    if (link.value.kind !== "off") void (code === 1008 ? renew() : fresh());
  });
  socket.connect();
}

export function connectNow(): void {
  const mine = socket;
  if (!mine || mine.isConnected()) return;
  link.value = { kind: "connecting" };
  mine.disconnect(() => mine.connect());
}

/** Listens to a topic. `joined` is called after every join: the first, and each one after a loss. Returns the way out. */
export function listen(name: string, handlers: Handlers, joined?: (answer: unknown) => void): () => void {
  const listener: Listener = { handlers, joined };
  const topic = topics.get(name) ?? open(name);
  topic.listeners.add(listener);
  for (const event of Object.keys(handlers)) {
    if (topic.events.has(event)) continue;
    topic.events.add(event);
    topic.channel.on(event, payload => {
      for (const one of topic.listeners) one.handlers[event]?.(payload as never);
    });
  }
  if (topic.answer && joined) queueMicrotask(() => topic.answer && topic.listeners.has(listener) && joined(topic.answer.value));
  return () => {
    topic.listeners.delete(listener);
    if (topic.listeners.size > 0 || topics.get(name) !== topic) return;
    topics.delete(name);
    topic.channel.leave();
  };
}

function open(name: string): Topic {
  connect();
  const channel = socket!.channel(name);
  const topic: Topic = { channel, listeners: new Set(), events: new Set(), answer: null };
  topics.set(name, topic);
  // The server closed it: the caller left the room, or the room is gone.
  channel.onClose(() => { if (topics.get(name) === topic) topics.delete(name); });
  channel.join().receive("ok", answer => {
    topic.answer = { value: answer };
    for (const one of topic.listeners) one.joined?.(answer);
  });
  return topic;
}

onLeave(() => {
  link.value = { kind: "off" };
  topics.clear();
  socket?.disconnect();
  socket = null;
});
