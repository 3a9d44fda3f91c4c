// The list of work that an address asks for.

import { batch, signal } from "@preact/signals";
import { explain } from "../pure/errors.ts";
import { frontier, keyOf, merge, type Filter, type Item, type Part } from "../pure/work.ts";
import { call } from "../wire/call.ts";
import type { Scope } from "./work.ts";

const PAGE = 100;
/** The pages of each part that are read again; a longer list is read again only if somebody asks, from its beginning. */
const MOST_REREAD = 3;

export class Ledger {
  readonly rows = signal<Item[]>([]);
  readonly isLoading = signal(true);
  readonly hasMore = signal(false);
  readonly fault = signal("");
  /** Whether there may be more than is shown. */
  readonly isOld = signal(false);
  #parts: Part[] = [];
  #pages = 1;
  #turn = 0;
  #reading: Promise<void> = Promise.resolve();
  #isGrowing = false;

  constructor(readonly scope: Scope, readonly filters: Filter[]) {}

  /** Something changed. What is shown stays. */
  refresh(): void {
    if (this.#pages > MOST_REREAD) this.isOld.value = true;
    else void this.load();
  }

  /** Reads what is shown again, or for the first time. */
  load(): Promise<void> {
    this.isOld.value = false;
    const pages = this.#pages = Math.min(this.#pages, MOST_REREAD);
    return this.#read(() => Promise.all(this.filters.map(async filter => {
      let part: Part = { rows: [], cursor: undefined };
      for (let page = 0; page < pages && (page === 0 || part.cursor); page++) part = await next(this.scope, filter, part);
      return part;
    })));
  }

  /** Reads the next page, after what is being read now. Asked again meanwhile, it is still one page. */
  async more(): Promise<void> {
    if (this.#isGrowing) return;
    this.#isGrowing = true;
    for (let turn; turn !== this.#turn;) {
      turn = this.#turn;
      await this.#reading;
    }
    if (!this.isLoading.value && this.hasMore.value) {
      this.#pages++;
      await this.#read(() => {
        // The parts that keep rows of the others from being shown.
        const until = frontier(this.#parts);
        return Promise.all(this.#parts.map((part, at) => (part.cursor && (part.rows.at(-1)?.inserted_at ?? "") === until ? next(this.scope, this.filters[at]!, part) : part)));
      });
    }
    this.#isGrowing = false;
  }

  /** Takes what an answer says about one item; it stays where it is. */
  take(item: Item): void {
    const key = keyOf(item);
    this.#parts = this.#parts.map(part => ({ ...part, rows: part.rows.map(one => (keyOf(one) === key ? item : one)) }));
    this.rows.value = merge(this.#parts);
  }

  close(): void { this.#turn++; }

  /** Never fails. */
  #read(work: () => Promise<Part[]>): Promise<void> {
    return this.#reading = this.#ask(work);
  }

  async #ask(work: () => Promise<Part[]>): Promise<void> {
    const turn = ++this.#turn;
    this.isLoading.value = true;
    try {
      const parts = await work();
      if (turn !== this.#turn) return;
      batch(() => {
        this.#parts = parts;
        this.rows.value = merge(parts);
        this.hasMore.value = frontier(parts) !== undefined;
        this.fault.value = "";
      });
    } catch (cause) {
      if (turn === this.#turn) this.fault.value = explain(cause);
    }
    if (turn === this.#turn) this.isLoading.value = false;
  }
}

/** Adds the next page to a part. */
async function next(scope: Scope, filter: Filter, { rows, cursor }: Part, signal?: AbortSignal): Promise<Part> {
  const { data, metadata } = await call("listWork", { scope, query: { ...filter, limit: PAGE, cursor }, signal });
  return { rows: [...rows, ...data], cursor: metadata.next_cursor ?? undefined };
}

/** The oldest items that match, at most `most`. */
export async function collect(scope: Scope, filters: Filter[], most: number, signal: AbortSignal): Promise<{ items: Item[]; isMore: boolean }> {
  const parts: Part[] = [];
  let count = 0;
  let isMore = false;
  for (const filter of filters) {
    let part: Part = { rows: [], cursor: undefined };
    do part = await next(scope, filter, part, signal); while (part.cursor && count + part.rows.length <= most);
    count += part.rows.length;
    isMore = part.cursor !== undefined || count > most;
    parts.push({ ...part, cursor: undefined });
    if (isMore) break;
  }
  return { items: merge(parts).slice(0, most), isMore };
}
