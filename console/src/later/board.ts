// The board of a room: its goal and its tasks, kept up to date by what happens.

import { batch, call, explain, keyFor, listen, Paged, signal } from "../shared.ts";
import { isNewer, type Task } from "../pure/board.ts";
import type { Id } from "../pure/message.ts";
import type { BoardView, Operations } from "../wire/api.ts";

export type Goal = BoardView;
export type Shown = NonNullable<Operations["listTasks"]["query"]["state"]>;
export type Changes = Operations["changeTask"]["body"];

const PAGE = 100;

export class OpenBoard {
  readonly goal = signal<Goal | null>(null);
  readonly fault = signal("");
  readonly shown = signal<Shown>("active");
  readonly tasks = new Paged<Task>(one => one.id, cursor => call("listTasks", { path: this.#path, query: { state: this.shown.value, limit: PAGE, cursor: cursor ?? undefined } }));
  /** The task that is shown on its own, also if the list does not contain it. */
  readonly task = signal<Task | null>(null);
  readonly #path: { chat_id: Id };
  #leave: (() => void) | null = null;
  /** What is pushed while the list is read is newer than the answer. */
  #pushed: Map<Id, Task> | null = null;
  #sent = {};

  constructor(readonly room: Id) {
    this.#path = { chat_id: room };
  }

  open(): void {
    const take = (task: Task): void => this.take(task);
    this.#leave = listen(`room_tasks:${this.room}`, { task_created: take, task_updated: take, board_updated: (goal: Goal) => this.#takeGoal(goal) }, () => void this.load());
    void this.load();
  }

  close(): void {
    this.#leave?.();
    this.tasks.clear();
  }

  /** Reads everything again: after each join, since pushes are lost while the socket is away. */
  async load(): Promise<void> {
    const pushed = this.#pushed = new Map<Id, Task>();
    const { value: open } = this.task;
    await Promise.all([
      this.tasks.load(),
      call("showBoard", { path: this.#path }).then(({ data }) => { this.fault.value = ""; this.#takeGoal(data); }, (cause: unknown) => { this.fault.value = explain(cause); }),
      open && call("findTask", { path: { ...this.#path, task_id: open.id } }).then(({ data }) => this.take(data), () => undefined),
    ]);
    if (this.#pushed !== pushed) return;
    this.#pushed = null;
    batch(() => { for (const task of pushed.values()) this.take(task); });
  }

  show(shown: Shown): void {
    this.shown.value = shown;
    this.tasks.clear();
    void this.load();
  }

  /** Shows a task on its own. */
  async find(id: Id): Promise<void> {
    this.task.value = (await call("findTask", { path: { ...this.#path, task_id: id } })).data;
  }

  /** A task as it is now. */
  take(task: Task): void {
    this.#pushed?.set(task.id, task);
    const { value: open } = this.task;
    if (open?.id === task.id && !isNewer(open, task)) this.task.value = task;
    if (!this.tasks.isLoaded.value || isNewer(this.tasks.rows.value.find(one => one.id === task.id), task)) return;
    if (this.shown.value === "all" || this.shown.value === task.state) this.tasks.put(task);
    else this.tasks.drop(task.id);
  }

  #takeGoal(goal: Goal): void {
    if ((this.goal.value?.updated_at ?? "") <= (goal.updated_at ?? "")) this.goal.value = goal;
  }

  async setGoal(goal_title: string, goal_summary: string): Promise<void> {
    // An empty title cannot be sent: a goal keeps the one that it has.
    this.#takeGoal((await call("setGoal", { path: this.#path, body: { goal_title: goal_title || null, goal_summary } })).data);
  }

  /** May be sent again after an answer was lost. */
  async create(subject: string, detail: string, supersedes?: Task): Promise<Task> {
    const body = { subject, detail, supersedes_id: supersedes?.id };
    const { data } = await call("createTask", { path: this.#path, body, idempotencyKey: keyFor(this.#sent, body) });
    this.#sent = {};
    this.take(data);
    return data;
  }

  async change(id: Id, body: Changes): Promise<void> {
    this.take((await call("changeTask", { path: { ...this.#path, task_id: id }, body })).data);
  }

  /** The newest entries of a history, and whether there are older ones. */
  async newest(id: Id) {
    const { history = [], history_truncated = false } = (await call("findTask", { path: { ...this.#path, task_id: id }, query: { include: "history" } })).data;
    return { entries: history.reverse(), isTruncated: history_truncated };
  }

  /** A page of the history, oldest entries first. */
  history(id: Id, cursor?: string) {
    return call("listTaskHistory", { path: { ...this.#path, task_id: id }, query: { limit: PAGE, cursor } });
  }
}
