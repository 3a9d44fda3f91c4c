// Texts on their way to the server. Each keeps its idempotency key, so that a repeated request creates nothing twice. They
// outlive the view of their room, so that a failed text is still there when somebody comes back.

import { signal } from "@preact/signals";
import { ApiError, explain } from "../pure/errors.ts";
import type { Id } from "../pure/message.ts";
import { call, newIdempotencyKey } from "../wire/call.ts";
import { onLeave } from "../wire/session.ts";

export interface Pending {
  key: string;
  content: string;
  mentions: Id[];
  at: string;
  state: "sending" | "failed";
  fault: string;
}

const PAUSES_MS = [1000, 2000, 4000, 8000, 15_000];

export class Outbox {
  readonly pending = signal<Pending[]>([]);
  /** Set by the open room: called with the id of the stored message; resolves when that is on the page. */
  sent: ((id: Id) => Promise<void>) | null = null;
  readonly #over = new AbortController();

  constructor(private readonly room: Id) {}

  send(content: string, mentions: Id[]): void {
    const one: Pending = { key: newIdempotencyKey(), content, mentions, at: new Date().toISOString(), state: "sending", fault: "" };
    this.pending.value = [...this.pending.value, one];
    void this.#deliver(one.key);
  }

  retry(key: string): void {
    this.#change(key, { state: "sending", fault: "" });
    void this.#deliver(key);
  }

  discard(key: string): void {
    this.pending.value = this.pending.value.filter(one => one.key !== key);
  }

  /** Ends everything: what is not sent yet never is. */
  cancel(): void {
    this.#over.abort();
    this.pending.value = [];
  }

  #change(key: string, changes: Partial<Pending>): void {
    this.pending.value = this.pending.value.map(one => (one.key === key ? { ...one, ...changes } : one));
  }

  async #deliver(key: string): Promise<void> {
    for (let tries = 0; ; tries++) {
      const one = this.pending.value.find(entry => entry.key === key);
      if (!one || one.state !== "sending") return;
      try {
        const { data } = await call("sendMessage", {
          path: { chat_id: this.room },
          idempotencyKey: key,
          signal: this.#over.signal,
          body: { message: { content: one.content, mentions: one.mentions.map(id => ({ id })) } },
        });
        await this.sent?.(data.id).catch(() => undefined);
        return this.discard(key);
      } catch (cause) {
        if (this.#over.signal.aborted) return;
        const pause = cause instanceof ApiError && cause.isTemporary ? PAUSES_MS[tries] : undefined;
        if (pause === undefined) return this.#change(key, { state: "failed", fault: explain(cause) });
        await new Promise(resolve => setTimeout(resolve, Math.max(pause, (cause as ApiError).retryAfterMs ?? 0)));
      }
    }
  }
}

const outboxes = new Map<Id, Outbox>();

export function outboxOf(room: Id): Outbox {
  const outbox = outboxes.get(room) ?? new Outbox(room);
  outboxes.set(room, outbox);
  return outbox;
}

/** Nothing can be sent to the room from now on. */
export function dropOutbox(room: Id): void {
  outboxes.get(room)?.cancel();
  outboxes.delete(room);
}

onLeave(() => {
  for (const outbox of outboxes.values()) outbox.cancel();
  outboxes.clear();
});

// The browser asks before it closes a page with texts that are not sent.
addEventListener("beforeunload", event => {
  if ([...outboxes.values()].some(outbox => outbox.pending.value.length > 0)) event.preventDefault();
});
