// One open room: a window on its rows, the steps between them, who works, and what is being sent.

import { batch, computed, signal } from "@preact/signals";
import { ApiError, explain } from "../pure/errors.ts";
import { addEarlier, addStep, fold, spread, START, type Gap } from "../pure/fold.ts";
import { isRow, isText, type Id, type Message } from "../pure/message.ts";
import { Queue, type Happening } from "../pure/queue.ts";
import { append, EMPTY, PAGE, prepend, remove, reread, rowBefore, update, type Window } from "../pure/window.ts";
import { call } from "../wire/call.ts";
import { link, listen } from "../wire/link.ts";
import { user } from "../wire/session.ts";
import { present } from "./agents.ts";
import { complain } from "./notices.ts";
import { outboxOf, type Outbox } from "./outbox.ts";
import { People } from "./people.ts";
import { find, findAgain, gone, mark, roomOf, watch } from "./rooms.ts";

const ROWS = ["text", "attention"] as const;
const STEPS = ["thought", "tool_call", "tool_result", "error", "task"] as const;
/** If the socket does not come, the room is read without it. */
const WITHOUT_SOCKET_MS = 800;
/** Events that came in one moment are one change of the page. A hidden page has no frames, so there time counts. */
const WITHOUT_FRAME_MS = 250;

/** The end of the room counts as read if it is on the screen for so long. */
const READ_MS = 1000;

type Change = (window: Window) => Window;

const isUnread = (row: Message, after: number): boolean => isText(row) && row.sequence! > after && row.sender_id !== user.value?.id;

export class OpenRoom {
  readonly window = signal<Window>(EMPTY);
  readonly gaps = signal<ReadonlyMap<Id, Gap>>(new Map());
  /** Rows after this sequence were unread when the room was opened. */
  readonly readUpTo = signal<number | null>(null);
  readonly rows = computed(() => fold(this.window.value.rows, this.gaps.value, this.#firstUnread()));
  readonly working = signal<ReadonlySet<Id>>(new Set());
  readonly isLoading = signal(true);
  readonly fault = signal("");
  /** Texts that came while the newest part of the room was not in the window. */
  readonly missed = signal(0);
  readonly people: People;
  readonly outbox: Outbox;

  /** Set by the view: called right before rows change, so that it can keep what is read in its place. */
  beforeChange: () => void = () => undefined;
  /** Set by the view: the row in the middle of the screen, and whether the end of the room is on it. */
  middle: () => Id | undefined = () => undefined;
  isAtEnd: () => boolean = () => true;

  /** Somebody wants it to stay unread. */
  #isKept = false;
  #seen: ReturnType<typeof setTimeout> | undefined;
  #ways: (() => void)[] = [];
  #isFilling = false;
  #isClosed = false;
  #again = false;
  #wasRead = false;
  /** What runs while `isFilling`. */
  #reading: Promise<void> = Promise.resolve();
  readonly #queue = new Queue();
  #flushing: { frame: number; timer: ReturnType<typeof setTimeout> } | null = null;

  constructor(readonly id: Id, private readonly at?: Id) {
    this.people = new People(id);
    this.outbox = outboxOf(id);
  }

  open(): void {
    watch.isReading = () => this.#isReading();
    this.people.open();
    const sent = (message: Id): Promise<void> => this.#wasSent(message);
    this.outbox.sent = sent;
    this.#ways.push(
      () => { if (this.outbox.sent === sent) this.outbox.sent = null; },
      listen(`chat_room:${this.id}`, {
        message_created: (message: Message) => this.#happened({ kind: "created", message }),
        event_created: (message: Message) => this.#happened({ kind: "created", message }),
        message_updated: (message: Message) => this.#happened({ kind: "updated", message }),
        message_deleted: ({ id }: { id: Id }) => this.#happened({ kind: "deleted", id }),
      }, () => void this.fill()),
      listen(`room_activity:${this.id}`, {
        agent_activity_started: ({ agent_id }: { agent_id: Id }) => this.#works(agent_id, true),
        agent_activity_stopped: ({ agent_id }: { agent_id: Id }) => this.#works(agent_id, false),
      }, answer => {
        const list = (answer as { working_agents?: { agent_id: Id }[] }).working_agents ?? [];
        this.working.value = new Set(list.map(one => one.agent_id));
      }),
      this.people.byId.subscribe(people => present([...people.values()].filter(one => one.type === "Agent"))),
    );
    setTimeout(() => { if (this.isLoading.value && !this.#isFilling) void this.fill(); }, WITHOUT_SOCKET_MS);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#seen);
    this.#unschedule();
    for (const way of this.#ways) way();
    this.people.close();
  }

  /** What was unread when the room was opened has a line before it. */
  begin({ count, read_sequence }: { count: number; read_sequence: number }): void {
    this.readUpTo.value ??= count > 0 ? read_sequence : Infinity;
  }

  /** The first text of others that was unread, if everything before it is known to be read. */
  #firstUnread(): Id | undefined {
    const { rows, older } = this.window.value;
    const after = this.readUpTo.value ?? Infinity;
    const at = rows.findIndex(row => isUnread(row, after));
    return at > 0 || (at === 0 && !older) ? rows[at]!.id : undefined;
  }

  /** The view shows the end of the room. */
  sawEnd(): void {
    this.#seen ??= setTimeout(() => {
      this.#seen = undefined;
      const last = this.window.value.rows.at(-1);
      // If it fails, the next message marks both.
      if (last && this.#isReading()) mark(this.id, last).catch(() => undefined);
    }, READ_MS);
  }

  #isReading(): boolean {
    return !this.#isKept && !this.window.value.newer && this.isAtEnd() && document.visibilityState === "visible";
  }

  /** Marks a text and all later ones as unread, which they stay while the room is open. */
  async markUnread(message: Message): Promise<void> {
    this.#isKept = true;
    try { this.readUpTo.value = (await mark(this.id, message, true))?.read_sequence ?? null; } catch (cause) { complain(cause); }
  }

  /** Reads on towards the beginning. */
  async back(): Promise<void> {
    const first = this.window.value.rows[0];
    if (!first || !this.window.value.older) return;
    await this.#alone(async () => {
      const [page, steps] = await Promise.all([this.#read({ before: first.id }), this.#readSteps({ before: first.id })]);
      const rows = page.data.reverse();
      const gaps = spread(rows, steps.events, steps.isAll, page.metadata.has_older ?? false);
      this.#change(window => prepend(window, rows, page.metadata.has_older ?? false), gaps);
    });
  }

  /** Reads on towards the end. */
  async forth(): Promise<void> {
    const last = this.window.value.rows.at(-1);
    if (!last || !this.window.value.newer) return;
    await this.#alone(async () => {
      const [page, steps] = await Promise.all([this.#read({ after: last.id }), this.#readSteps({ after: last.id })]);
      const isEnd = !page.metadata.has_newer;
      const covered = [last, ...page.data];
      const until = steps.isAll ? undefined : steps.events.at(-1)?.inserted_at;
      const gaps = spread(covered, steps.events, true, true);
      // Steps are read from the old end, so only the gaps before the last of them are complete.
      if (until) for (const row of covered) if (row.inserted_at >= until) gaps.delete(row.id);
      this.#change(window => append(window, page.data, !isEnd), gaps);
      if (isEnd) this.missed.value = 0;
    });
  }

  /** Goes to the newest row. */
  async toEnd(): Promise<void> {
    await this.#soon(async () => { if (this.window.value.newer) await this.#newest(); });
  }

  /** Fetches the steps behind a row that are not here: a page, back from the first that is. */
  async openGap(after: Id): Promise<void> {
    const { rows } = this.window.value;
    const at = rows.findIndex(row => row.id === after);
    const before = this.gaps.value.get(after)?.events[0] ?? rows[at + 1];
    try {
      const { events, isAll } = await this.#readSteps(before ? { before: before.id } : {});
      const row = rows[at];
      const here = row ? events.filter(event => event.inserted_at >= row.inserted_at) : events;
      this.#change(window => window, new Map([[after, addEarlier(this.gaps.value.get(after), here, isAll || here.length < events.length)]]), { isRead: true });
    } catch (cause) { complain(cause); }
  }

  /** A whole step, of which only the beginning is kept. */
  async wholeStep(id: Id): Promise<Message | undefined> {
    const { data } = await call("listMessages", { path: { chat_id: this.id }, query: { limit: 1, message_types: [...STEPS], around: id } });
    return data.find(one => one.id === id);
  }

  /**
   * Brings the window up to date. Called after every join, since pushes are lost while the socket is away; what is pushed
   * meanwhile waits until the answers are in.
   */
  async fill(): Promise<void> {
    if (this.#isFilling) {
      this.#again = true;
      return;
    }
    await this.#alone(async () => {
      if (this.window.value.rows.length === 0) await (this.at ? this.#around({ around: this.at }) : this.#firstRead());
      else if (this.window.value.newer) await this.#rereadAround();
      else await this.#catchUp();
      this.fault.value = "";
      this.#wasRead = true;
    });
  }

  /** One read at a time. What is pushed meanwhile waits. */
  async #alone(work: () => Promise<void>): Promise<void> {
    if (this.#isFilling) return;
    this.#isFilling = true;
    this.#reading = work().catch(async (cause: unknown) => {
      if (this.#isClosed) return;
      // The room may be gone, or the message at which the page begins.
      if (this.#wasRead && cause instanceof ApiError && cause.status === 404) await findAgain(this.id);
      if (!gone.value.has(this.id)) this.fault.value = explain(cause);
    }).finally(() => {
      this.isLoading.value = false;
      this.#isFilling = false;
      this.#flush();
      if (!this.#again || this.#isClosed) return;
      this.#again = false;
      void this.fill();
    });
    await this.#reading;
  }

  /** As `alone`, after the reads that run. */
  async #soon(work: () => Promise<void>): Promise<void> {
    while (this.#isFilling && !this.#isClosed) await this.#reading;
    await this.#alone(work);
  }

  /** Reads the newest rows, or those around the first one after `readUpTo` if it is not among them. */
  async #newest(readUpTo = Infinity): Promise<void> {
    const [page, steps] = await Promise.all([this.#read({}), this.#readSteps({})]);
    const rows = page.data.reverse();
    const older = page.metadata.has_more;
    if (older && rows[0]!.sequence! > readUpTo && (await this.#around({ from_sequence: readUpTo + 1 }, readUpTo))) return;
    this.#change(() => ({ rows, older, newer: false }), spread(rows, steps.events, steps.isAll, older), { isFresh: true });
    this.missed.value = 0;
  }

  async #firstRead(): Promise<void> {
    const { unread } = roomOf(this.id) ?? (await find(this.id));
    if (unread) this.begin(unread);
    await this.#newest(unread?.count ? unread.read_sequence : Infinity);
  }

  /** Does nothing if `readUpTo` is given and no text of others follows it there: own texts can be counted as unread. */
  async #around(query: { around: Id } | { from_sequence: number }, readUpTo?: number): Promise<boolean> {
    const page = await this.#read(query).catch((cause: unknown) => {
      if (cause instanceof ApiError && cause.status === 404) return null;
      throw cause;
    });
    if (!page) {
      await this.#newest();
      return true;
    }
    if (readUpTo !== undefined && !page.data.some(row => isUnread(row, readUpTo))) return false;
    const rows = page.data.reverse();
    this.#change(() => ({ rows, older: page.metadata.has_older ?? false, newer: page.metadata.has_newer ?? false }), new Map(), { isFresh: true });
    if (!page.metadata.has_newer) await this.#catchUp();
    return true;
  }

  /** Reads from the newest row back to where the window begins, at most three pages. */
  async #catchUp(): Promise<void> {
    const before = this.window.value;
    const ids = new Set(before.rows.map(row => row.id));
    const first = before.rows[0]!;
    let read: Message[] = [];
    let older = true;
    let isReached = false;
    const steps = this.#readSteps({});
    for (let pages = 0; pages < 3 && older && !isReached; pages++) {
      const page = await this.#read(read[0] ? { before: read[0].id } : {});
      read = [...page.data.reverse(), ...read];
      older = (page.metadata.has_older ?? page.metadata.has_more) === true;
      isReached = read.some(row => row.id === first.id) || (read[0] !== undefined && read[0].inserted_at < first.inserted_at);
    }
    const isConnected = read.some(row => ids.has(row.id)) || !older;
    if (!isConnected && !this.isAtEnd()) {
      // More came than is kept, and somebody reads: they stay where they are, and read on by scrolling.
      this.#change(window => ({ ...window, newer: true }));
      return this.#rereadAround();
    }
    const from = isConnected ? read.findIndex(row => row.id === first.id) : -1;
    const rows = from > 0 ? read.slice(from) : read;
    const { events, isAll } = await steps;
    const isOlder = older || from > 0;
    const found = spread(rows, events, isAll, isOlder);
    // Steps behind the row that was the last may have been missed.
    const open = before.rows.at(-1)!.id;
    const known = this.gaps.value.get(open);
    const gap = found.get(open);
    if (known && gap && !gap.complete) this.gaps.value = new Map([...this.gaps.value].filter(([key]) => key !== open));
    this.#change(() => append({ rows: [], older: isOlder, newer: false }, rows, false), found, { isFresh: !isConnected });
  }

  async #rereadAround(): Promise<void> {
    const middle = this.middle() ?? this.window.value.rows[Math.floor(this.window.value.rows.length / 2)]!.id;
    const page = await this.#read({ around: middle }).catch((cause: unknown) => {
      if (cause instanceof ApiError && cause.status === 404) return null;
      throw cause;
    });
    if (page) this.#change(window => reread(window, page.data.reverse()));
    else await this.#newest();
  }

  #read(query: { after?: Id; before?: Id; around?: Id; from_sequence?: number }, kinds: readonly (typeof ROWS[number] | typeof STEPS[number])[] = ROWS) {
    return call("listMessages", { path: { chat_id: this.id }, query: { limit: PAGE, message_types: [...kinds], ...query } });
  }

  async #readSteps(query: { after?: Id; before?: Id }): Promise<{ events: Message[]; isAll: boolean }> {
    const { data, metadata } = await this.#read(query, STEPS);
    const isAll = !(query.after ? metadata.has_newer : query.before ? metadata.has_older : metadata.has_more);
    return { events: query.after ? data : data.reverse(), isAll };
  }

  #happened(one: Happening): void {
    if (this.#isClosed) return;
    this.#queue.put(one);
    if (this.#isFilling || this.isLoading.value || this.#flushing) return;
    const flush = (): void => this.#flush();
    this.#flushing = { frame: requestAnimationFrame(flush), timer: setTimeout(flush, WITHOUT_FRAME_MS) };
  }

  #unschedule(): void {
    if (!this.#flushing) return;
    cancelAnimationFrame(this.#flushing.frame);
    clearTimeout(this.#flushing.timer);
    this.#flushing = null;
  }

  /** Takes what waits. A change of a message never overtakes the message. */
  #flush(): void {
    this.#unschedule();
    if (this.#isFilling || this.#isClosed || this.#queue.isEmpty) return;
    const all = this.#queue.take();
    if (this.#queue.isLost) {
      this.#queue.isLost = false;
      return void this.fill();
    }
    let next = this.window.value;
    let missed = 0;
    let rows: Message[] = [];
    const takeRows = (): void => {
      if (rows.length > 0) next = append(next, rows, false);
      rows = [];
    };
    const gaps = new Map<Id, Gap>();
    for (const one of all) {
      if (one.kind === "created" && isRow(one.message)) {
        if (next.newer) missed++;
        else {
          rows.push(one.message);
          if (!this.gaps.value.has(one.message.id)) gaps.set(one.message.id, { events: [], dropped: 0, complete: true });
        }
        continue;
      }
      takeRows();
      if (one.kind === "deleted") next = remove(next, one.id);
      else if (one.kind === "updated") next = update(next, one.message);
      else if (!next.newer) {
        const last = rowBefore(next, one.message)?.id ?? START;
        gaps.set(last, addStep(gaps.get(last) ?? this.gaps.value.get(last), one.message));
      }
    }
    takeRows();
    this.missed.value += missed;
    this.#change(() => next, gaps);
  }

  #change(change: Change, gaps?: ReadonlyMap<Id, Gap>, { isFresh = false, isRead = false }: { isFresh?: boolean; isRead?: boolean } = {}): void {
    if (this.#isClosed) return;
    const next = change(this.window.value);
    if (next === this.window.value && !gaps?.size) return;
    this.beforeChange();
    batch(() => {
      this.window.value = next;
      const kept = new Set<Id>([START, ...next.rows.map(row => row.id)]);
      const all = new Map(isFresh ? [] : [...this.gaps.value].filter(([key]) => kept.has(key)));
      for (const [key, gap] of gaps ?? []) if (kept.has(key) && (isRead || !(all.get(key)?.complete && !gap.complete))) all.set(key, gap);
      this.gaps.value = all;
    });
  }

  /** A text that was stored is pushed too, unless the socket is away. Resolves when it is here. */
  async #wasSent(id: Id): Promise<void> {
    if (this.window.value.newer) return this.#soon(() => this.#newest());
    const isHere = (): boolean => this.#isClosed || this.window.value.rows.some(row => row.id === id);
    for (let wait = 0; wait < 20 && !isHere() && link.value.kind === "open"; wait++) await new Promise(resolve => setTimeout(resolve, 50));
    if (!isHere()) await this.fill();
  }

  #works(id: Id, isOn: boolean): void {
    const all = new Set(this.working.value);
    if (isOn) all.add(id);
    else all.delete(id);
    this.working.value = all;
  }
}
