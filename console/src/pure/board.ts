// The tasks of a board: which are shown, and in which order.

import type { AssignmentView, BoardEntryView, TaskView } from "../wire/api.ts";

export type Task = TaskView;
export type Assignment = AssignmentView;
export type Entry = BoardEntryView;

/** Whether what is known is newer than what came: events of several servers may come in any order. */
export const isNewer = (known: Task | undefined, came: Task): boolean => known !== undefined && known.updated_at > came.updated_at;

/** Whether a task contains every word: in its number, its subject, or the names of its assignees. */
export function fits({ number, subject, assignments }: Task, words: string): boolean {
  const text = `#${number} ${subject} ${assignments.map(({ assignee }) => `${assignee.name} @${assignee.handle}`).join(" ")}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every(word => text.includes(word));
}

/** The tasks of each status, in the order of the statuses and then of the numbers. Without those that nobody has. */
export function grouped<S extends string>(tasks: Task[], statuses: readonly S[]): [status: S, tasks: Task[]][] {
  const byNumber = [...tasks].sort((a, b) => a.number - b.number);
  return statuses.map((status): [S, Task[]] => [status, byNumber.filter(task => task.overall_status === status)]).filter(([, list]) => list.length > 0);
}

export interface Edit { from: string | null; to: string | null }

/** A changed value in an entry of a history. */
export function editOf({ payload }: Entry, name: string): Edit | undefined {
  const edit = payload[name];
  return edit && typeof edit === "object" && "to" in edit ? (edit as Edit) : undefined;
}
