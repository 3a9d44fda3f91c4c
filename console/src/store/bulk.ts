// A change of many work items: it goes on until all are done, tells how far it is, and can be stopped.

import { signal } from "@preact/signals";
import { ApiError, explain } from "../pure/errors.ts";
import { keyOf, type Filter, type Item } from "../pure/work.ts";
import type { ChangedWorkView } from "../wire/api.ts";
import { call } from "../wire/call.ts";
import { user } from "../wire/session.ts";
import { change, type Deed, type Scope } from "./work.ts";

export interface Progress { changed: number; skipped: number; refused: ReadonlyMap<string, number>; fault: string; isOver: boolean; isStopped: boolean }

/** A retry waits some seconds for the agent, so several run at the same time. */
const AT_ONCE = 6;

export class Run {
  readonly progress = signal<Progress>({ changed: 0, skipped: 0, refused: new Map(), fault: "", isOver: false, isStopped: false });
  readonly #me = user.value?.id;

  constructor(readonly scope: Scope, readonly deed: Deed, private readonly take: (item: Item) => void) {}

  stop(): void { this.#note({ isStopped: true }); }

  /** Changes these items, each if it is in the state that was shown. */
  each(items: Item[]): Promise<void> {
    const waiting = [...items];
    const work = async (): Promise<void> => {
      for (let item = waiting.shift(); item && !this.#isEnding; item = waiting.shift()) {
        const { message_id: message, chat_room_id: room, agent } = item;
        try {
          const answer = await this.#patiently(() => change({ scope: this.scope, room, message, agent: agent.id }, item!.state as never, this.deed));
          if (!answer) return;
          this.take(answer);
          this.#note({ changed: this.progress.value.changed + 1 });
        } catch (cause) {
          // The item, not the run, is refused.
          if (!(cause instanceof ApiError) || ![403, 404, 409, 422].includes(cause.status)) throw cause;
          this.#refuse(explain(cause));
        }
      }
    };
    return this.#run(async () => { await Promise.all(Array.from({ length: AT_ONCE }, work)); });
  }

  /** Changes all that match, 100 with each request. */
  matching(filters: Filter[]): Promise<void> {
    return this.#run(async () => {
      const refused = new Set<string>();
      for (const { error: _, ...filter } of filters) {
        let cursor: string | null | undefined;
        do {
          const found: ChangedWorkView | undefined = await this.#patiently(() => this.#some({ ...filter, ...(Object.keys(filter).length === 0 ? { all: true } : {}), ...(cursor ? { cursor } : {}) }));
          if (!found) return;
          this.#note({ changed: this.progress.value.changed + found.changed, skipped: this.progress.value.skipped + found.skipped });
          for (const one of found.refused) {
            const key = keyOf({ message_id: one.message_id, agent: { id: one.agent_id } } as Item);
            if (!refused.has(key)) this.#refuse(one.reason);
            refused.add(key);
          }
          cursor = found.has_more ? found.next_cursor : null;
        } while (cursor && !this.#isEnding);
        if (this.#isEnding) return;
      }
    });
  }

  async #some(filter: Omit<Filter, "error"> & { all?: boolean; cursor?: string }): Promise<ChangedWorkView> {
    const { scope, deed } = this;
    switch (deed.kind) {
      case "retry": return (await call("retryManyWork", { scope, body: filter })).data;
      case "deadLetter": return (await call("deadLetterManyWork", { scope, body: { ...filter, reason: deed.reason } })).data;
      case "reassign": return (await call("reassignManyWork", { scope, body: { ...filter, to_agent_id: deed.to, ...(deed.reason ? { reason: deed.reason } : {}) } })).data;
      case "sendAgain": throw new Error("not in the API");
    }
  }

  /** A request that was refused because there were too many is sent again later, unless the run ends meanwhile. */
  async #patiently<T>(send: () => Promise<T>): Promise<T | undefined> {
    while (!this.#isEnding) {
      try { return await send(); } catch (cause) {
        if (!(cause instanceof ApiError) || cause.status !== 429) throw cause;
        for (const until = Date.now() + (cause.retryAfterMs ?? 1000); Date.now() < until && !this.#isEnding;) await new Promise(resolve => setTimeout(resolve, 100));
      }
    }
    return undefined;
  }

  get #isEnding(): boolean { return this.progress.value.isStopped || this.progress.value.fault !== "" || user.value?.id !== this.#me; }
  #note(change: Partial<Progress>): void { this.progress.value = { ...this.progress.value, ...change }; }
  #refuse(why: string): void {
    const refused = new Map(this.progress.value.refused);
    this.#note({ refused: refused.set(why, (refused.get(why) ?? 0) + 1) });
  }
  async #run(work: () => Promise<void>): Promise<void> {
    try { await work(); } catch (cause) { this.#note({ fault: explain(cause) }); }
    this.#note({ isOver: true });
  }
}
