// A list that is read page by page, and changed by what happens meanwhile.

import { batch, computed, signal } from "@preact/signals";

export interface Metadata { has_more?: boolean; next_cursor?: string | null; total_count?: number | null }
export interface Answer<T, M extends Metadata = Metadata> { data: T[]; metadata: M }

export const PAGE_SIZE = 50;
/** The number of the page after this many rows. No row is skipped if rows were removed meanwhile. */
export const pageAfter = (shown: number): number => Math.floor(shown / PAGE_SIZE) + 1;

export class Paged<T, M extends Metadata = Metadata> {
  readonly #known = signal<ReadonlyMap<string, T> | null>(null);
  readonly rows = computed(() => [...(this.#known.value?.values() ?? [])]);
  readonly isLoaded = computed(() => this.#known.value !== null);
  readonly fault = signal<unknown>(null);
  readonly total = signal<number | null>(null);
  readonly hasMore = signal(false);
  readonly isBusy = signal(false);
  /** What was said with the first page. */
  readonly first = signal<M | null>(null);
  /** Whether more than the first page was read. */
  isLong = false;
  #cursor: string | null = null;
  /** Answers to an earlier question are not taken. */
  #turn = 0;
  #wasMore = false;

  /** `read` gets the cursor, or the number of rows that are known, for lists that have pages. */
  constructor(private readonly key: (row: T) => string, private readonly read: (cursor: string | null, shown: number) => Promise<Answer<T, M>>) {}

  /** Reads the first page again. Rows behind it stay if `isKept`. */
  load(isKept = false): Promise<void> {
    return this.#ask(null, 0, isKept ? this.rows.value : []);
  }

  more(): Promise<void> {
    return this.isBusy.value ? Promise.resolve() : this.#ask(this.#cursor, this.rows.value.length, null);
  }

  /** Asks again for what could not be read. */
  retry(): Promise<void> { return this.#wasMore ? this.more() : this.load(true); }

  async #ask(cursor: string | null, shown: number, behind: T[] | null): Promise<void> {
    const turn = ++this.#turn;
    this.isBusy.value = true;
    this.#wasMore = !behind;
    try {
      const { data, metadata } = await this.read(cursor, shown);
      if (turn !== this.#turn) return;
      batch(() => {
        const before = this.#known.value?.size ?? 0;
        const rows = behind ? [...data, ...behind] : [...this.rows.value, ...data];
        const known = new Map<string, T>();
        for (const row of rows) if (!known.has(this.key(row))) known.set(this.key(row), row);
        this.#known.value = known;
        const total = metadata.total_count ?? null;
        this.total.value = total;
        if (behind) this.first.value = metadata;
        if (!behind?.length) {
          this.#cursor = metadata.has_more === false ? null : (metadata.next_cursor ?? null);
          this.isLong = !behind;
        }
        // A page that brings nothing new is the last one.
        this.hasMore.value = this.#cursor !== null || (total !== null && known.size < total && (behind !== null || known.size > before));
        this.fault.value = null;
      });
    } catch (cause) {
      if (turn === this.#turn) this.fault.value = cause;
    } finally {
      if (turn === this.#turn) this.isBusy.value = false;
    }
  }

  put(row: T): void {
    const known = this.#known.value;
    if (!known) return;
    const isNew = !known.has(this.key(row));
    this.#known.value = isNew ? new Map([[this.key(row), row], ...known]) : new Map(known).set(this.key(row), row);
    if (isNew && this.total.value !== null) this.total.value++;
  }

  /** Changes a row that is known; whether it is. */
  patch(key: string, changes: Partial<T>): boolean {
    const row = this.#known.value?.get(key);
    if (row) this.put({ ...row, ...changes });
    return row !== undefined;
  }

  drop(key: string): boolean {
    const known = new Map(this.#known.value);
    if (!known.delete(key)) return false;
    this.#known.value = known;
    if (this.total.value !== null) this.total.value--;
    return true;
  }

  clear(): void {
    this.#turn++;
    this.#known.value = null;
    this.first.value = null;
    this.isLong = false;
    this.#cursor = null;
    this.total.value = null;
    this.hasMore.value = false;
    this.isBusy.value = false;
    this.fault.value = null;
  }
}
