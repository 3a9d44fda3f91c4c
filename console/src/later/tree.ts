// What followed from a message, in one room.

import { batch, call, computed, explain, listen, signal } from "../shared.ts";
import type { Id, Message } from "../pure/message.ts";
import { layout, rootOf, type TreeMessage } from "../pure/tree.ts";
import type { TokensView } from "../wire/api.ts";

const PAGE = 100;
/** Events of one moment are one read. */
const SOON_MS = 1000;
/** The pages that are read again after an event; a longer tree is read again only if somebody asks. */
const MOST_REREAD = 3;

export class OpenTree {
  readonly messages = signal<TreeMessage[]>([]);
  readonly rows = computed(() => layout(this.messages.value));
  readonly usage = signal<TokensView | null>(null);
  readonly isLoading = signal(true);
  /** Whether it is too long to update automatically. */
  readonly isLong = signal(false);
  readonly fault = signal("");
  readonly cursor = signal<string | null | undefined>(undefined);
  #leave: (() => void) | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pages = 1;
  #turn = 0;
  /** The turn that reads one more page. */
  #growing = 0;

  constructor(readonly room: Id, readonly message: Id) {}

  open(): void {
    void this.#read(false);
    const changed = ({ id, metadata = {} }: Message): void => {
      const all = this.messages.value;
      const isOurs = all.some(one => one.id === id) || (all[0] && rootOf({ id, metadata }) === rootOf(all[0]));
      if (isOurs && this.#pages <= MOST_REREAD) this.#timer ??= setTimeout(() => { this.#timer = undefined; void this.#read(false); }, SOON_MS);
    };
    let again = false;
    this.#leave = listen(`chat_room:${this.room}`, { message_created: changed, message_updated: changed, event_created: changed, message_deleted: changed }, () => {
      if (again) void this.#read(false);
      again = true;
    });
  }

  close(): void {
    this.#turn++;
    clearTimeout(this.#timer);
    this.#leave?.();
  }

  refresh(): void { void this.#read(false); }

  more(): void {
    if (this.isLoading.value && this.#growing === this.#turn) return;
    this.#growing = this.#turn + 1;
    this.isLong.value = ++this.#pages > MOST_REREAD;
    void this.#read(true);
  }

  async #read(isMore: boolean): Promise<void> {
    const turn = ++this.#turn;
    this.isLoading.value = true;
    try {
      let messages = isMore ? this.messages.value : [];
      let cursor = isMore ? this.cursor.value : undefined;
      let usage = this.usage.value;
      for (let page = isMore ? this.#pages - 1 : 0; page < this.#pages; page++) {
        const { data, metadata } = await call("listMessageTree", { path: { chat_id: this.room, message_id: this.message }, query: { limit: PAGE, cursor: cursor ?? undefined } });
        messages = [...messages, ...data];
        usage = metadata.usage ?? usage;
        cursor = metadata.has_more ? metadata.next_cursor : null;
        if (!cursor) break;
      }
      if (turn !== this.#turn) return;
      batch(() => {
        this.messages.value = [...new Map(messages.map(one => [one.id, one])).values()];
        this.usage.value = usage;
        this.cursor.value = cursor;
        this.fault.value = "";
      });
    } catch (cause) {
      if (turn === this.#turn) this.fault.value = explain(cause);
    }
    if (turn === this.#turn) this.isLoading.value = false;
  }
}
