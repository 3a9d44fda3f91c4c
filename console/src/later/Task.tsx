// One task of a board: who works on it, what can be done, and what has happened.

import {
  complain, Confirm, Face, Field, inform, Loading, Markdown, now, Rows, Select, since, STATUSES, TaskSign, Time, typed, usePaged, useConfirm, useRead, useRef, user, useState, visible, w, type Status,
} from "../shared.ts";
import { editOf, type Assignment, type Entry, type Task } from "../pure/board.ts";
import type { OpenBoard, Changes } from "./board.ts";
import { NewTask } from "./Board.tsx";
import { board as words } from "./words.ts";

const statusOf = (status: string): string => w.board.statuses[status as Status] ?? status;

interface Given { board: OpenBoard; task: Task; isParticipant: boolean }

export function OneTask({ board, task, isParticipant }: Given) {
  const [asking, setAsking] = useState<"edit" | "replace" | null>(null);
  const [question, ask] = useConfirm();
  const [isBusy, setBusy] = useState(false);
  const { id, number, state, assignments, superseded_by_id } = task;
  const isActive = state === "active";
  const mine = assignments.find(one => one.assignee.id === user.value!.id);
  /** One change at a time; whether it was made. */
  const run = async (changes: Changes, done: string): Promise<boolean> => {
    setBusy(true);
    try {
      await board.change(id, changes);
      inform(done);
      return true;
    } catch (cause) {
      complain(cause);
      return false;
    } finally { setBusy(false); }
  };
  const close = (): void => setAsking(null);
  return (
    <div class="one-task">
      <h3 class="subject" dir="auto">{visible(task.subject)}</h3>
      <p class="status"><TaskSign status={task.overall_status as Status} />{statusOf(task.overall_status)}
        {!isActive && <span class="tag">{words.stateOf(state)}</span>}
        {superseded_by_id && <button type="button" class="link" onClick={() => { board.find(superseded_by_id).catch(complain); }}>{words.showNew}</button>}</p>
      {task.detail && <Markdown text={task.detail} mentions={[]} />}
      <p class="hint">{words.createdBy(visible(task.created_by.name), since(task.inserted_at, now.value))}</p>

      <section aria-label={words.assignees}>
        <h3>{words.assignees}</h3>
        {assignments.length > 0 ? <ul class="assignees">{assignments.map(one => <Assignee key={one.assignee.id} one={one} />)}</ul> : <p class="hint">{words.unassigned}</p>}
        {isParticipant && isActive && !mine && <button type="button" class="plain small" disabled={isBusy} onClick={() => void run({ status: "pending" }, words.assigned(number))}>{words.assign}</button>}
      </section>
      {isParticipant && isActive && mine && <OwnWork key={mine.updated_at} mine={mine} isBusy={isBusy} onReport={changes => run(changes, words.reported(number))} />}

      {isParticipant && (
        <div class="deeds">
          {isActive && <button type="button" class="plain small" onClick={() => setAsking("edit")}>{w.room.edit}</button>}
          {isActive && <button type="button" class="plain small" onClick={() => setAsking("replace")}>{words.replaceAsk}</button>}
          {isActive && <button type="button" class="plain small" disabled={isBusy} onClick={() => void run({ state: "archived" }, words.archived(number))}>{words.archive}</button>}
          {isActive && <button type="button" class="plain small danger" onClick={() => ask({ deed: words.cancel, text: words.cancelText, run: () => board.change(id, { state: "cancelled" }), done: words.cancelled(number) })}>{words.cancel}</button>}
          {state === "archived" && <button type="button" class="plain small" disabled={isBusy} onClick={() => void run({ state: "active" }, words.restored(number))}>{words.restore}</button>}
        </div>
      )}
      {isParticipant && isActive && <Comment isBusy={isBusy} onSend={comment => run({ comment }, words.commented(number))} />}
      <History board={board} task={task} />
      {question}
      {asking === "replace" && <NewTask board={board} supersedes={task} onClose={close} />}
      {asking === "edit" && (
        <Confirm title={words.editOf(number)} submit={w.save} onClose={close} onSubmit={data => board.change(id, { subject: typed(data, "subject"), detail: typed(data, "detail") })}>
          {fault => (
            <>
              <Field label={words.subject} name="subject" required maxLength={500} autocomplete="off" defaultValue={task.subject} data-focus fault={fault("subject")} />
              <Field label={words.detail} name="detail" rows={6} maxLength={20_000} defaultValue={task.detail} fault={fault("detail")} />
            </>
          )}
        </Confirm>
      )}
    </div>
  );
}

function Assignee({ one: { assignee, status, active_form, updated_at } }: { one: Assignment }) {
  return (
    <li>
      <Face id={assignee.id} name={assignee.name} isAgent={assignee.type === "Agent"} small />
      <div>
        <p><span class="name">{visible(assignee.name)}</span> <span class="handle">@{assignee.handle}</span></p>
        <p class="status"><TaskSign status={status as Status} />{statusOf(status)} <Time class="hint" at={updated_at} /></p>
        {active_form && <p class="said" dir="auto">{visible(active_form)}</p>}
      </div>
    </li>
  );
}

/** What the caller says of its own work: nobody reports for somebody else. */
function OwnWork({ mine, isBusy, onReport }: { mine: Assignment; isBusy: boolean; onReport: (changes: Changes) => Promise<boolean> }) {
  const [status, setStatus] = useState(mine.status);
  return (
    <form class="own" aria-label={words.own} onSubmit={event => {
      event.preventDefault();
      void onReport({ status: status as Status, active_form: typed(new FormData(event.currentTarget), "form") });
    }}>
      <Select label={words.ownStatus} value={status} onChange={setStatus} options={[...STATUSES].reverse().map(one => [one, statusOf(one)] as const)} />
      <Field label={words.activeForm} name="form" maxLength={500} autocomplete="off" defaultValue={mine.active_form} />
      <button class="plain" disabled={isBusy}>{words.report}</button>
    </form>
  );
}

function Comment({ isBusy, onSend }: { isBusy: boolean; onSend: (comment: string) => Promise<boolean> }) {
  const [text, setText] = useState("");
  return (
    <form class="own" onSubmit={async event => {
      event.preventDefault();
      if (await onSend(text.trim())) setText("");
    }}>
      <Field label={words.comment} rows={2} maxLength={10_000} value={text} onInput={event => setText(event.currentTarget.value)} />
      <button class="plain" disabled={isBusy || !text.trim()}>{words.commentDo}</button>
    </form>
  );
}

function History({ board, task: { id, updated_at } }: { board: OpenBoard; task: Task }) {
  const [isWhole, setWhole] = useState(false);
  const read = useRead(() => board.newest(id), [updated_at]);
  return (
    <section aria-label={words.history}>
      <h3>{words.history}</h3>
      {isWhole ? <Whole board={board} id={id} version={updated_at} /> : (
        <>
          <Loading of={read} />
          {read.value && <ol class="entries">{read.value.entries.map((one, index) => <OneEntry key={read.value!.entries.length - index} one={one} />)}</ol>}
          {read.value?.isTruncated && <p class="hint">{words.truncated} <button type="button" class="link" onClick={() => setWhole(true)}>{words.whole}</button></p>}
        </>
      )}
    </section>
  );
}

/** All entries, from the first on. */
function Whole({ board, id, version }: { board: OpenBoard; id: string; version: string }) {
  const numbers = useRef(0);
  const list = usePaged(async cursor => {
    const { data, metadata } = await board.history(id, cursor);
    if (!cursor) numbers.current = 0;
    return { metadata, data: data.map(one => ({ ...one, id: String(numbers.current++) })) };
  }, [version]);
  return <Rows list={list} kind="entries" row={one => <OneEntry key={one.id} one={one} />} />;
}

function OneEntry({ one }: { one: Entry }) {
  const { actor, at, event, payload } = one;
  const comment = event === "commented" ? String(payload["text"]) : "";
  return (
    <li>
      <p><span class="name">{visible(actor.name)}</span> {told(one)} <Time class="hint" at={at} /></p>
      {comment && <Markdown text={comment} mentions={[]} />}
    </li>
  );
}

/** What somebody did. */
function told(entry: Entry): string {
  const status = editOf(entry, "status");
  if (status) return status.from === null ? words.joined(statusOf(status.to ?? "")) : words.moved(statusOf(status.from), statusOf(status.to ?? ""));
  const subject = editOf(entry, "subject");
  if (subject) return words.renamed(visible(subject.to ?? ""), Boolean(editOf(entry, "detail")));
  if (entry.event === "dropped") return words.dropped(String(entry.payload["reason"]));
  return words.events[entry.event] ?? entry.event;
}
