// Texts on their way to the server. Each keeps its idempotency key, so that a repeated request creates nothing twice. They
// outlive the view of their room, so that a failed text is still there when somebody comes back.

import { signal } from "@preact/signals";
import { ApiError, explain } from "../pure/errors.ts";
import type { Id } from "../pure/message.ts";
import type { AttachmentView } from "../wire/api.ts";
import { call, newIdempotencyKey } from "../wire/call.ts";
import { onLeave } from "../wire/session.ts";
import { w } from "../words.ts";

export interface Pending {
  key: string;
  content: string;
  mentions: Id[];
  files: AttachmentView[];
  at: string;
  state: "sending" | "failed";
  fault: string;
}

/** A file for the next text. It is uploaded when it is chosen (later/files.ts). */
export interface Chosen {
  key: symbol;
  file: File;
  state: "uploading" | "ready" | "failed";
  /** How much has been uploaded, from 0 to 1. */
  share: number;
  fault: string;
  /** Set when it is ready. */
  stored?: AttachmentView;
  stop: AbortController;
}

const PAUSES_MS = [1000, 2000, 4000, 8000, 15_000];

export class Outbox {
  readonly pending = signal<Pending[]>([]);
  readonly files = signal<Chosen[]>([]);
  /** Set by the open room: called with the id of the stored message; resolves when that is on the page. */
  sent: ((id: Id) => Promise<void>) | null = null;
  readonly #over = new AbortController();

  constructor(readonly room: Id) {}

  /** Sends a text with the files that are ready. */
  send(typed: string, mentions: Id[]): void {
    const files = this.files.value.flatMap(one => one.stored ?? []);
    this.files.value = this.files.value.filter(one => !one.stored);
    const content = typed || w.files.shared(files.map(one => one.name));
    const one: Pending = { key: newIdempotencyKey(), content, mentions, files, at: new Date().toISOString(), state: "sending", fault: "" };
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
    for (const one of this.files.value) one.stop.abort();
    this.files.value = [];
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
          body: { message: { content: one.content, mentions: one.mentions.map(id => ({ id })), attachment_ids: one.files.map(({ id }) => id) } },
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

// The browser asks before it closes a page with texts or files that are not sent.
addEventListener("beforeunload", event => {
  if ([...outboxes.values()].some(outbox => outbox.pending.value.length + outbox.files.value.length > 0)) event.preventDefault();
});
