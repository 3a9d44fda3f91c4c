// A list that is read page by page, and changed by what happens meanwhile.

import { batch, computed, signal } from "@preact/signals";

interface Answer<T> { data: T[]; metadata: { next_cursor?: string | null; total_count?: number | null } }

export const PAGE_SIZE = 50;
/** The number of the page behind so many rows; rows that were added or removed meanwhile do not make it skip one. */
export const pageAfter = (shown: number): number => Math.floor(shown / PAGE_SIZE) + 1;

export class Paged<T> {
  private readonly known = signal<ReadonlyMap<string, T> | null>(null);
  readonly rows = computed(() => [...(this.known.value?.values() ?? [])]);
  readonly isLoaded = computed(() => this.known.value !== null);
  readonly fault = signal<unknown>(null);
  readonly total = signal<number | null>(null);
  readonly hasMore = signal(false);
  readonly isBusy = signal(false);
  private cursor: string | null = null;
  /** Answers to an earlier question are not taken. */
  private turn = 0;

  /** `read` gets the cursor, or the number of rows that are known, for lists that have pages. */
  constructor(private readonly key: (row: T) => string, private readonly read: (cursor: string | null, shown: number) => Promise<Answer<T>>) {}

  /** Reads the first page again. Rows behind it stay if `isKept`. */
  load(isKept = false): Promise<void> {
    return this.ask(null, 0, isKept ? this.rows.value : []);
  }

  more(): Promise<void> {
    return this.isBusy.value ? Promise.resolve() : this.ask(this.cursor, this.rows.value.length, null);
  }

  private async ask(cursor: string | null, shown: number, behind: T[] | null): Promise<void> {
    const turn = ++this.turn;
    this.isBusy.value = true;
    try {
      const { data, metadata } = await this.read(cursor, shown);
      if (turn !== this.turn) return;
      batch(() => {
        const before = this.known.value?.size ?? 0;
        const rows = behind ? [...data, ...behind] : [...this.rows.value, ...data];
        const known = new Map<string, T>();
        for (const row of rows) if (!known.has(this.key(row))) known.set(this.key(row), row);
        this.known.value = known;
        const total = metadata.total_count ?? null;
        this.total.value = total;
        if (!behind?.length) this.cursor = metadata.next_cursor ?? null;
        // A page that brings nothing new is the last one.
        this.hasMore.value = this.cursor !== null || (total !== null && known.size < total && (behind !== null || known.size > before));
        this.fault.value = null;
      });
    } catch (cause) {
      if (turn === this.turn) this.fault.value = cause;
    } finally {
      if (turn === this.turn) this.isBusy.value = false;
    }
  }

  put(row: T): void {
    const known = this.known.value;
    if (!known) return;
    const isNew = !known.has(this.key(row));
    this.known.value = isNew ? new Map([[this.key(row), row], ...known]) : new Map(known).set(this.key(row), row);
    if (isNew && this.total.value !== null) this.total.value++;
  }

  /** Changes a row that is known; whether it is. */
  patch(key: string, changes: Partial<T>): boolean {
    const row = this.known.value?.get(key);
    if (row) this.put({ ...row, ...changes });
    return row !== undefined;
  }

  drop(key: string): boolean {
    const known = new Map(this.known.value);
    if (!known.delete(key)) return false;
    this.known.value = known;
    if (this.total.value !== null) this.total.value--;
    return true;
  }

  clear(): void {
    this.turn++;
    this.known.value = null;
    this.cursor = null;
    this.total.value = null;
    this.hasMore.value = false;
    this.isBusy.value = false;
    this.fault.value = null;
  }
}
