// What became of a text at each agent that it mentions: in a word and a shape, and in full when it is opened.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, explain } from "../pure/errors.ts";
import { deliveriesOf, type Delivery, type Message, type State } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { clock, duration, exact, since } from "../pure/when.ts";
import { isMine } from "../store/agents.ts";
import { complain, inform } from "../store/notices.ts";
import { now } from "../store/now.ts";
import { deadLetter, retry, sendAgain, standing, type Standing } from "../store/work.ts";
import { w } from "../words.ts";
import { Fault, Confirm } from "./Dialog.tsx";
import { Field } from "./Field.tsx";
import { Icon } from "./Icon.tsx";
import { Detail } from "./Steps.tsx";

export function Deliveries({ message, isParticipant }: { message: Message; isParticipant: boolean }) {
  const deliveries = deliveriesOf(message);
  if (deliveries.length === 0) return null;
  return (
    <ul class="deliveries" aria-label={w.delivery.label}>
      {deliveries.map(one => <One key={one.agent.id} message={message} delivery={one} isParticipant={isParticipant} />)}
    </ul>
  );
}

/** Shape and word tell the state, never the color alone. */
export function StateSign({ state }: { state: State }) {
  return (
    <svg class="sign" width="14" height="14" viewBox="0 0 16 16" aria-hidden="true">
      <circle cx="8" cy="8" r="6.25" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray={state === "new" ? "2.6 2.3" : undefined} />
      {state === "delivered" && <path d="M8 8V1.75A6.25 6.25 0 0 1 14.25 8z" fill="currentColor" />}
      {state === "processing" && <path d="M8 1.75a6.25 6.25 0 0 1 0 12.5z" fill="currentColor" />}
      {state === "processed" && <path d="m5 8.2 2.1 2.1L11 6.2" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" />}
      {state === "failed" && <path d="m5.8 5.8 4.4 4.4m0-4.4-4.4 4.4" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />}
      {state === "dead" && <path d="M3.7 12.3 12.3 3.7" stroke="currentColor" stroke-width="1.5" />}
      {state === "held" && <path d="M6.4 5.6v4.8M9.6 5.6v4.8" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />}
    </svg>
  );
}

const isTrouble = (state: State): boolean => state === "failed" || state === "held" || state === "dead";

function took(delivery: Delivery): string {
  const last = delivery.attempts.at(-1);
  return last?.completed_at ? duration(Date.parse(last.completed_at) - Date.parse(last.started_at)) : "";
}

function One({ message, delivery, isParticipant }: { message: Message; delivery: Delivery; isParticipant: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const { agent, state, attempt } = delivery;
  const name = visible(agent.name);
  const error = state === "failed" ? delivery.attempts.findLast(one => one.error)?.error?.slice(0, 300).split("\n")[0] : "";
  const facts = [
    w.states[state],
    attempt > 1 && state !== "processed" ? w.delivery.attempt(attempt) : "",
    state === "processed" ? took(delivery) : "",
  ].filter(Boolean).join(" · ");
  return (
    <li>
      <details class={`delivery ${state}${isTrouble(state) ? " trouble" : ""}`} onToggle={event => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
        <summary>
          <StateSign state={state} /> <span class="who">{name}</span> <span class="state">{facts}</span>
          {error && <span class="error">{visible(error)}</span>}
        </summary>
        {isOpen && <Inside message={message} delivery={delivery} isParticipant={isParticipant} />}
      </details>
    </li>
  );
}

function Inside({ message, delivery, isParticipant }: { message: Message; delivery: Delivery; isParticipant: boolean }) {
  const { agent, state, attempts } = delivery;
  const [found, setFound] = useState<Standing | null>(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    let isOver = false;
    standing(message.chat_room_id, message.id, agent.id).then(
      answer => { if (!isOver) setFound(answer); },
      (cause: unknown) => { if (!isOver && !(cause instanceof ApiError && cause.status === 404)) setFault(explain(cause)); },
    );
    return () => { isOver = true; };
  }, [message.id, state, delivery.attempt]);
  return (
    <div class="inside">
      <p>{lines(delivery, found).join(" ")}</p>
      <Fault text={fault} />
      {attempts.length > 0 && (
        <ol class="attempts" aria-label={w.delivery.attempts}>
          {attempts.map(one => (
            <li key={one.attempt_number}>
              <p>
                #{one.attempt_number} <b>{w.delivery.attemptStates[one.status] ?? one.status}</b>{" "}
                <time dateTime={one.started_at} title={exact(one.started_at)}>{clock(one.started_at)}</time>
                {one.completed_at && ` · ${duration(Date.parse(one.completed_at) - Date.parse(one.started_at))}`}
              </p>
              {one.error && <Detail text={one.error} label={w.delivery.errorOf(one.attempt_number)} />}
            </li>
          ))}
        </ol>
      )}
      {isMine(agent.id) && <Actions message={message} delivery={delivery} isStuck={found?.item?.flags.includes("stuck") ?? false} isParticipant={isParticipant} />}
    </div>
  );
}

/** Why the message is where it is. */
function lines(delivery: Delivery, found: Standing | null): string[] {
  const { agent, state } = delivery;
  const words = w.delivery;
  const text: string[] = [];
  switch (state) {
    case "new": text.push(words.waits(agent.name)); break;
    case "delivered": text.push(words.delivered(agent.name, delivery.deliveredAt ? clock(delivery.deliveredAt) : "")); break;
    case "processing": text.push(words.working(agent.name)); break;
    case "processed": text.push(words.done(delivery.processedAt ? since(delivery.processedAt, now.value) : "", took(delivery))); break;
    case "failed": text.push(words.failed(agent.name)); break;
    case "dead": text.push(delivery.replacedBy ? words.replaced : words.dead(delivery.deadAt ? since(delivery.deadAt, now.value) : "", delivery.reason ?? "")); break;
    case "held": text.push(words.held(words.holds[delivery.heldBy ?? ""] ?? words.unknownHold(delivery.heldBy ?? ""))); break;
  }
  const receipt = found?.receipt;
  if (!receipt || state === "processed") return text;
  if (!receipt.in_room) text.push(words.gone);
  else if (!receipt.connected) {
    const last = found.item?.agent;
    const reason = w.disconnect[last?.last_disconnect_reason ?? ""] ?? last?.last_disconnect_reason ?? "";
    text.push(last?.last_disconnected_at ? words.offlineSince(since(last.last_disconnected_at, now.value), reason) : words.offline);
  }
  if (receipt.stopped) text.push(words.stopped);
  if (receipt.paused) text.push(words.paused);
  if (found.item?.flags.includes("stuck")) text.push(words.stuck);
  if (receipt.queue_position != null && state !== "processing") text.push(words.position(receipt.queue_position));
  if (found.behind > 0) text.push(words.behind(found.behind));
  return text;
}

function Actions({ message, delivery, isStuck, isParticipant }: { message: Message; delivery: Delivery; isStuck: boolean; isParticipant: boolean }) {
  const { agent, state } = delivery;
  const [isBusy, setBusy] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  if (state === "processed" || delivery.replacedBy) return null;
  const canRetry = state === "failed" || state === "dead" || state === "held" || state === "delivered" || (state === "processing" && isStuck);
  const canSendAgain = isParticipant && state !== "processing" && state !== "held" && state !== "new";

  // What was pressed goes away when the state changes; the focus goes to the line of the delivery.
  const settle = (): void => {
    const line = box.current?.closest("details")?.querySelector("summary");
    setTimeout(() => line?.focus());
  };
  const run = (work: () => Promise<void>): void => {
    setBusy(true);
    work().then(settle, complain).finally(() => setBusy(false));
  };
  const again = async (): Promise<void> => {
    await sendAgain(message.id, agent.id);
    inform(w.delivery.sentAgain);
  };
  const tryAgain = async (): Promise<void> => {
    const answer = await retry(message.id, agent.id, state);
    if (answer.taken_up) inform(w.delivery.retried(agent.name));
    else if (answer.agent.connected) inform(w.delivery.notTaken(agent.name), isParticipant ? { label: w.delivery.sendAgain, run: () => run(again) } : undefined);
  };
  return (
    <div class="actions" ref={box}>
      {canRetry && <button type="button" class="plain small" disabled={isBusy} onClick={() => run(tryAgain)}><Icon name="rotate-cw" size={14} />{w.delivery.retry}</button>}
      {state !== "dead" && <button type="button" class="plain small" disabled={isBusy} onClick={() => setAsking(true)}>{w.delivery.deadLetter}</button>}
      {canSendAgain && <button type="button" class="plain small" disabled={isBusy} onClick={() => run(again)}>{w.delivery.sendAgain}</button>}
      {isAsking && <DeadLetter message={message} delivery={delivery} onDone={settle} onClose={() => setAsking(false)} />}
    </div>
  );
}

function DeadLetter({ message, delivery, onDone, onClose }: { message: Message; delivery: Delivery; onDone: () => void; onClose: () => void }) {
  const { agent, state } = delivery;
  const [reason, setReason] = useState("");
  const submit = async (): Promise<void> => {
    // The button is not there for work that is done.
    if (state === "processed") return;
    await deadLetter(message.id, agent.id, state, reason.trim());
    inform(w.delivery.deadLettered);
    onDone();
  };
  return (
    <Confirm title={w.delivery.deadLetterTitle} text={w.delivery.deadLetterText(agent.name)} submit={w.delivery.deadLetterSubmit} danger onSubmit={submit} onClose={onClose}>
      <Field label={w.delivery.reason} hint={w.delivery.reasonHint} required maxLength={500} value={reason} data-focus
        onInput={event => setReason(event.currentTarget.value)} />
    </Confirm>
  );
}
