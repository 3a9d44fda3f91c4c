// The board beside a room: its goal, and its tasks by status.

import {
  ApiError, Confirm, Fault, Field, Icon, Markdown, More, Select, STATUSES, TaskSign, typed, useEffect, useMemo, useRef, useState, visible, w,
} from "../shared.ts";
import { fits, grouped, type Task } from "../pure/board.ts";
import type { Id } from "../pure/message.ts";
import { OpenBoard, type Goal, type Shown } from "./board.ts";
import { OneTask } from "./Task.tsx";
import { board as words } from "./words.ts";

export function Board({ room, isParticipant, onClose }: { room: Id; isParticipant: boolean; onClose: () => void }) {
  const board = useMemo(() => new OpenBoard(room), [room]);
  const box = useRef<HTMLElement>(null);
  const left = useRef<Id | null>(null);
  useEffect(() => {
    board.open();
    return () => board.close();
  }, [board]);
  const task = board.task.value;
  // Moves the focus to the heading of the view that opens, and back to the task in the list when it closes.
  useEffect(() => {
    const back = !task && left.current ? document.getElementById(`task-${left.current}`) : null;
    (back ?? box.current?.querySelector("h2"))?.focus();
    left.current = task?.id ?? null;
  }, [task?.id]);
  const back = (): void => { board.task.value = null; };
  const key = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    if (task) back(); else onClose();
  };
  return (
    <aside class="panel" aria-labelledby="board-title" id="board" ref={box} onKeyDown={key}>
      <header class="bar">
        {task && <button type="button" class="quiet square" aria-label={words.back} title={words.back} onClick={back}><Icon name="chevron-left" /></button>}
        <h2 id="board-title" tabIndex={-1}>{task ? words.numbered(task.number) : w.board.title}</h2>
        <button type="button" class="quiet square" aria-label={w.close} onClick={onClose}><Icon name="x" /></button>
      </header>
      {task ? <OneTask key={task.id} board={board} task={task} isParticipant={isParticipant} /> : <Tasks board={board} isParticipant={isParticipant} />}
    </aside>
  );
}

function Tasks({ board, isParticipant }: { board: OpenBoard; isParticipant: boolean }) {
  const [isCreating, setCreating] = useState(false);
  const [wanted, setWanted] = useState("");
  const { tasks, shown } = board;
  const fault = tasks.fault.value;
  // Without boards, this path does not exist.
  if (fault instanceof ApiError && fault.status === 404) return <p class="hint">{words.off}</p>;
  const rows = tasks.rows.value;
  const found = rows.filter(task => fits(task, wanted.trim()));
  return (
    <>
      <GoalBox board={board} isParticipant={isParticipant} />
      {isParticipant && <button type="button" class="plain add" onClick={() => setCreating(true)}><Icon name="plus" size={16} />{words.create}</button>}
      <div class="pairs">
        <Field label={words.filter} type="search" autocomplete="off" value={wanted} onInput={event => setWanted(event.currentTarget.value)} />
        <Select label={words.show} value={shown.value} options={words.states} onChange={state => board.show(state as Shown)} />
      </div>
      {grouped(found, STATUSES).map(([status, list]) => (
        <section key={status} aria-label={w.board.statuses[status]}>
          <h3><TaskSign status={status} />{w.board.statuses[status]} <span class="count">{list.length}</span></h3>
          <ul>{list.map(task => <Row key={task.id} task={task} isAll={shown.value === "all"} onOpen={() => { board.task.value = task; }} />)}</ul>
        </section>
      ))}
      {rows.length > 0 && !fault && found.length === 0 && <p class="hint" role="status">{words.noMatch}</p>}
      <More list={tasks} empty={<p class="hint" role="status">{words.none[shown.value]}</p>} />
      {isCreating && <NewTask board={board} onClose={() => setCreating(false)} />}
    </>
  );
}

function Row({ task, isAll, onOpen }: { task: Task; isAll: boolean; onOpen: () => void }) {
  const { assignments } = task;
  const busy = assignments.find(one => one.active_form);
  return (
    <li>
      <button type="button" class="task" id={`task-${task.id}`} onClick={onOpen}>
        <span class="name"><span class="number">{words.numbered(task.number)}</span> <bdi>{visible(task.subject)}</bdi>
          {isAll && task.state !== "active" && <> <span class="tag">{words.stateOf(task.state)}</span></>}</span>
        <span class="hint">{assignments.length > 0 ? words.names(assignments.map(one => visible(one.assignee.name))) : words.unassigned}{busy && <> · <bdi>{visible(busy.active_form)}</bdi></>}</span>
      </button>
    </li>
  );
}

function GoalBox({ board, isParticipant }: { board: OpenBoard; isParticipant: boolean }) {
  const [isEditing, setEditing] = useState(false);
  const goal = board.goal.value;
  if (!goal) return <Fault text={board.fault.value} />;
  const { goal_title, goal_summary } = goal;
  const isSet = Boolean(goal_title ?? goal_summary);
  return (
    <section class="goal" aria-label={words.goal}>
      <header>
        <h3>{words.goal}</h3>
        {isParticipant && <button type="button" class="plain small" onClick={() => setEditing(true)}>{isSet ? words.editGoal : words.setGoal}</button>}
      </header>
      {goal_title && <p class="name" dir="auto">{visible(goal_title)}</p>}
      {goal_summary && <Markdown text={goal_summary} mentions={[]} />}
      {!isSet && <p class="hint">{words.noGoal}</p>}
      {isEditing && <EditGoal board={board} goal={goal} onClose={() => setEditing(false)} />}
    </section>
  );
}

function EditGoal({ board, goal, onClose }: { board: OpenBoard; goal: Goal; onClose: () => void }) {
  return (
    <Confirm title={goal.created_by ? words.editGoal : words.setGoal} submit={w.save} onClose={onClose} onSubmit={data => board.setGoal(typed(data, "title"), typed(data, "summary"))}>
      {fault => (
        <>
          <Field label={words.goalTitle} name="title" required={Boolean(goal.goal_title) || !goal.goal_summary} maxLength={500} autocomplete="off" defaultValue={goal.goal_title ?? ""} data-focus fault={fault("goal_title")} />
          <Field label={words.goalSummary} name="summary" rows={4} maxLength={10_000} defaultValue={goal.goal_summary ?? ""} fault={fault("goal_summary")} />
        </>
      )}
    </Confirm>
  );
}

/** `supersedes` is the task that the new one replaces. */
export function NewTask({ board, supersedes, onClose }: { board: OpenBoard; supersedes?: Task; onClose: () => void }) {
  return (
    <Confirm title={supersedes ? words.replaceOf(supersedes.number) : words.create} text={supersedes && words.replaceText} submit={supersedes ? words.replace : words.createDo} onClose={onClose}
      onSubmit={async data => {
        const task = await board.create(typed(data, "subject"), typed(data, "detail"), supersedes);
        if (supersedes) board.task.value = task;
      }}>
      {fault => (
        <>
          <Field label={words.subject} name="subject" required maxLength={500} autocomplete="off" defaultValue={supersedes?.subject ?? ""} data-focus fault={fault("subject")} />
          <Field label={words.detail} name="detail" rows={5} maxLength={20_000} defaultValue={supersedes?.detail ?? ""} fault={fault("detail")} />
        </>
      )}
    </Confirm>
  );
}
