// One text at one agent: why it is where it is, its attempts, and what can be done about it.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, explain } from "../pure/errors.ts";
import type { Delivery, State } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { clock, duration, exact, since } from "../pure/when.ts";
import { canDo, type Item } from "../pure/work.ts";
import { agentOf, interrupt, isMine } from "../store/agents.ts";
import { refreshAttention } from "../store/attention.ts";
import { complain, inform } from "../store/notices.ts";
import { now } from "../store/now.ts";
import { answersFor, change, find, standing, type Deed, type Place, type Standing } from "../store/work.ts";
import type { ReceiptView, RetriedWorkView, WorkAgentView } from "../wire/api.ts";
import { w } from "../words.ts";
import { Confirm, Fault } from "./Dialog.tsx";
import { Field } from "./Field.tsx";
import { Icon } from "./Icon.tsx";
import { Reassign } from "./Reassign.tsx";
import { Detail } from "./Steps.tsx";

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

export function took(delivery: Delivery): string {
  const last = delivery.attempts.at(-1);
  return last?.completed_at ? duration(Date.parse(last.completed_at) - Date.parse(last.started_at)) : "";
}

/** `onItem` takes what the server says about the work after a change. */
interface Given { place: Place; delivery: Delivery; isParticipant: boolean; onItem?: ((item: Item) => void) | undefined }

export function Inside({ place, delivery, isParticipant, onItem }: Given) {
  const { state, attempts } = delivery;
  const [found, setFound] = useState<Standing | null>(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    let isOver = false;
    standing(place).then(
      answer => { if (!isOver) setFound(answer); },
      (cause: unknown) => { if (!isOver && !(cause instanceof ApiError && cause.status === 404)) setFault(explain(cause)); },
    );
    return () => { isOver = true; };
  }, [place.message, place.agent, state, delivery.attempt]);
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
      {answersFor(place) && <Actions place={place} delivery={delivery} flags={found?.item?.flags ?? []} isParticipant={isParticipant} onItem={onItem} />}
    </div>
  );
}

/** What keeps an agent from going on. */
export function hindrances(agent: Pick<WorkAgentView, "id" | "connected" | "stopped" | "paused">, last: WorkAgentView | undefined): string[] {
  const words = w.delivery;
  const text: string[] = [];
  if (!agent.connected) {
    const reason = w.disconnect[last?.last_disconnect_reason ?? ""] ?? last?.last_disconnect_reason ?? "";
    text.push(last?.last_disconnected_at ? words.offlineSince(since(last.last_disconnected_at, now.value), reason) : words.offline);
  }
  if (agent.stopped) text.push(words.stopped);
  if (agent.paused) text.push(words.paused(visible(agentOf(agent.id)?.pause?.reason ?? "")));
  return text;
}

export const holdOf = (heldBy: string | null | undefined): string => w.delivery.holds[heldBy ?? ""] ?? w.delivery.unknownHold(heldBy ?? "");

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
    case "held": text.push(words.held(holdOf(delivery.heldBy))); break;
  }
  const receipt: ReceiptView | null | undefined = found?.receipt;
  const at = receipt ?? found?.item?.agent;
  if (!at || state === "processed") return text;
  if (receipt && !receipt.in_room) text.push(words.gone, ...hindrances({ ...receipt, connected: true }, undefined));
  else text.push(...hindrances(at, found?.item?.agent));
  if (found?.item?.flags.includes("stuck")) text.push(words.stuck);
  if (receipt?.queue_position != null && state !== "processing") text.push(words.position(receipt.queue_position));
  if (found && found.behind > 0) text.push(words.behind(found.behind));
  return text;
}

function Actions({ place, delivery, flags, isParticipant, onItem }: Given & { flags: string[] }) {
  const { agent, state } = delivery;
  const [isBusy, setBusy] = useState(false);
  const [asking, setAsking] = useState<"deadLetter" | "reassign" | "interrupt" | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const can = canDo(state, flags, delivery.replacedBy);

  // What was pressed goes away when the state changes; the focus goes to the line of the delivery.
  const settle = (): void => {
    const line = box.current?.closest("details")?.querySelector("summary");
    setTimeout(() => line?.focus());
  };
  const act = async (deed: Deed, from = state): Promise<Item & Partial<RetriedWorkView>> => {
    try {
      const item = await change(place, from, deed);
      onItem?.(item);
      refreshAttention();
      return item;
    } catch (cause) {
      // It is in another state than the one that was shown, which is shown then.
      if (onItem && cause instanceof ApiError && cause.status === 409) find(place).then(onItem, () => undefined);
      throw cause;
    }
  };
  const run = (work: () => Promise<void>): void => {
    setBusy(true);
    work().then(settle, complain).finally(() => setBusy(false));
  };
  const again = (from = state) => async (): Promise<void> => {
    await act({ kind: "sendAgain" }, from);
    inform(w.delivery.sentAgain);
  };
  const tryAgain = async (): Promise<void> => {
    const answer = await act({ kind: "retry" });
    if (answer.taken_up) inform(w.delivery.retried(agent.name));
    else if (answer.agent.connected) {
      const after = answer.state as State;
      const isOffered = isParticipant && canDo(after, answer.flags, answer.replaced_by).sendAgain;
      inform(w.delivery.notTaken(agent.name), isOffered ? { label: w.delivery.sendAgain, run: () => run(again(after)) } : undefined);
    }
  };
  const done = (text: string): void => {
    inform(text);
    settle();
  };
  const close = (): void => setAsking(null);
  const ask = (what: typeof asking, text: string) => <button type="button" class="plain small" disabled={isBusy} onClick={() => setAsking(what)}>{text}</button>;
  return (
    <div class="actions" ref={box}>
      {can.retry && <button type="button" class="plain small" disabled={isBusy} onClick={() => run(tryAgain)}><Icon name="rotate-cw" size={14} />{w.delivery.retry}</button>}
      {can.interrupt && isMine(agent.id) && ask("interrupt", w.work.interrupt)}
      {can.deadLetter && ask("deadLetter", w.delivery.deadLetter)}
      {isParticipant && can.reassign && ask("reassign", w.work.reassign)}
      {isParticipant && can.sendAgain && <button type="button" class="plain small" disabled={isBusy} onClick={() => run(again())}>{w.delivery.sendAgain}</button>}
      {asking === "deadLetter" && <DeadLetter name={agent.name} onClose={close} onSubmit={async reason => { await act({ kind: "deadLetter", reason }); done(w.delivery.deadLettered); }} />}
      {asking === "reassign" && <Reassign place={place} name={agent.name} onClose={close} onSubmit={async (to, reason) => { await act({ kind: "reassign", to, reason }); done(w.work.reassigned); }} />}
      {asking === "interrupt" && (
        <Confirm title={`${w.of(w.work.interrupt, agent.name)}?`} text={w.work.interruptText} submit={w.work.interrupt} danger onClose={close}
          onSubmit={async () => { await interrupt(agent.id); done(w.work.interrupted(agent.name)); }} />
      )}
    </div>
  );
}

function DeadLetter({ name, onSubmit, onClose }: { name: string; onSubmit: (reason: string) => Promise<void>; onClose: () => void }) {
  const [reason, setReason] = useState("");
  return (
    <Confirm title={w.delivery.deadLetterTitle} text={w.delivery.deadLetterText(name)} submit={w.work.bulk.deadLetter.title} danger onSubmit={() => onSubmit(reason.trim())} onClose={onClose}>
      <ReasonField value={reason} onInput={setReason} />
    </Confirm>
  );
}

export function ReasonField({ value, onInput, isOptional = false }: { value: string; onInput: (text: string) => void; isOptional?: boolean }) {
  return (
    <Field label={isOptional ? w.work.optionalReason : w.delivery.reason} hint={w.delivery.reasonHint} required={!isOptional} maxLength={500} value={value} data-focus={isOptional ? undefined : true}
      onInput={event => onInput(event.currentTarget.value)} />
  );
}
