// What an agent has to do, and where it is.

import { useEffect, useState } from "preact/hooks";
import { Confirm } from "../parts/Dialog.tsx";
import { StateSign } from "../parts/Delivery.tsx";
import { Failed, More, usePages, useRead } from "../parts/Pages.tsx";
import { number } from "../pure/usage.ts";
import { visible } from "../pure/visible.ts";
import { exact, since } from "../pure/when.ts";
import { executions, interrupt, openWork, type Agent } from "../store/agents.ts";
import { inform } from "../store/notices.ts";
import { now } from "../store/now.ts";
import { find, roomOf } from "../store/rooms.ts";
import { BASE } from "../store/route.ts";
import type { ExecutionView, WorkItemView } from "../wire/api.ts";
import { w } from "../words.ts";

const WATCH_MS = 15_000;

export function AgentWork({ agent }: { agent: Agent }) {
  const work = useRead(() => openWork(agent.id), [agent.id], WATCH_MS);
  return (
    <>
      <section class="sheet">
        <h2>{w.agentWork.title}</h2>
        <Open agent={agent} oldest={work.value?.[0]} />
        {work.fault && <Failed text={work.fault} onRetry={work.again} />}
      </section>
      <section class="sheet">
        <h2>{w.agentPage.rooms}</h2>
        <RoomsOf agent={agent} items={work.value ?? []} onChange={work.again} />
      </section>
    </>
  );
}

function Open({ agent: { id, work }, oldest }: { agent: Agent; oldest: WorkItemView | undefined }) {
  const words = w.agentWork;
  if (!work) return <p class="hint" role="status">{w.loading}</p>;
  const { open, dead, held, oldest_at: at } = work;
  const flags = (["unanswered", "stuck", "failing"] as const).filter(flag => work[flag] > 0);
  const others = (["dead", "held"] as const).filter(state => work[state] > 0);
  if (open + dead + held === 0) return <p class="hint">{words.none}</p>;
  return (
    <>
      <ul class="tally">
        <li><b>{open > 0 ? words.open(open) : words.none}</b></li>
        {flags.map(flag => <li key={flag}>{number(work[flag])} {w.work.flags[flag]}</li>)}
        {others.map(state => <li key={state}><a href={`${BASE}/work?state=${state}&agent=${id}`}><StateSign state={state} /> {number(work[state])} {w.states[state]}</a></li>)}
      </ul>
      {at && <p class="hint">{words.oldest}: <time dateTime={at} title={exact(at)}>{words.oldestSince(since(at, now.value))}</time>
        {oldest?.inserted_at === at && <> {words.in} <a href={`${BASE}/rooms/${oldest.chat_room_id}?at=${oldest.message_id}`}>{visible(oldest.chat_room_title ?? w.room.untitled)}</a></>}</p>}
      {open > 0 && <p><a href={`${BASE}/work?state=open&agent=${id}`}>{words.all}</a></p>}
    </>
  );
}

function RoomsOf({ agent, items, onChange }: { agent: Agent; items: WorkItemView[]; onChange: () => void }) {
  const pages = usePages(cursor => executions(agent.id, cursor), [agent.id], WATCH_MS);
  const [isInterrupting, setInterrupting] = useState(false);
  const name = visible(agent.name);
  const submit = async (): Promise<void> => {
    await interrupt(agent.id);
    inform(w.work.interrupted(name));
    pages.again();
    onChange();
  };
  return (
    <>
      {pages.rows?.length === 0 && <p class="hint">{w.agentPage.noRooms}</p>}
      {pages.rows && pages.rows.length > 0 && (
        <ul class="lines">{pages.rows.map(one => <RoomLine key={one.id} one={one} items={items} onInterrupt={() => setInterrupting(true)} />)}</ul>
      )}
      <More of={pages} label={w.agentWork.moreRooms} />
      {isInterrupting && (
        <Confirm title={w.work.interruptTitle(name)} text={w.work.interruptText} submit={w.work.interrupt} danger onSubmit={submit} onClose={() => setInterrupting(false)} />
      )}
    </>
  );
}

function RoomLine({ one, items, onInterrupt }: { one: ExecutionView; items: WorkItemView[]; onInterrupt: () => void }) {
  const room = roomOf(one.chat_room_id);
  // The list of rooms is read in pages, so this one may not be in it yet.
  useEffect(() => { if (!room) void find(one.chat_room_id).catch(() => undefined); }, [one.chat_room_id]);
  const isWorking = one.status === "processing";
  const tried = items.find(item => item.chat_room_id === one.chat_room_id && item.state === (isWorking ? "processing" : "failed"));
  const title = visible(room?.title ?? w.room.untitled);
  return (
    <li>
      <a href={`${BASE}/rooms/${one.chat_room_id}`}>{title}</a>
      <span class="hint">
        {[one.stopped ? w.agentPage.stopped : (w.agentPage.roomState[one.status] ?? one.status), tried ? w.agentWork.attempt(tried.current_attempt) : ""].filter(Boolean).join(" · ")}
      </span>
      {isWorking && <button type="button" class="plain small" aria-label={w.agentWork.interruptIn(title)} onClick={onInterrupt}>{w.work.interrupt}</button>}
    </li>
  );
}
