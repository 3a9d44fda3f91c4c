// Progress of the tasks in a room. Shape and text convey the status, never color alone.

import type { State } from "../pure/message.ts";
import { w } from "../words.ts";
import { StateSign } from "./Delivery.tsx";

/** The statuses of tasks: what needs somebody comes first. */
export const STATUSES = ["blocked", "failed", "in_progress", "in_review", "pending", "completed"] as const;
export type Status = typeof STATUSES[number];

const SIGNS: { [status in Status]: State } = { blocked: "held", failed: "failed", in_progress: "processing", in_review: "delivered", pending: "new", completed: "processed" };

export const TaskSign = ({ status }: { status: Status }) => <span class={`task-sign ${status}`}><StateSign state={SIGNS[status]} /></span>;

/** The active tasks of a room, by status. */
export function TaskCounts({ counts }: { counts: { [status in Status]: number } }) {
  const shown = STATUSES.filter(status => counts[status]);
  return (
    <span class="counts">
      {shown.map(status => <span key={status} title={w.board.statuses[status]}><TaskSign status={status} />{counts[status]}<span class="vh"> {w.board.statuses[status]}</span></span>)}
    </span>
  );
}
