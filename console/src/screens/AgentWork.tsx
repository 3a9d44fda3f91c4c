// What an agent has to do, and where it is.

import { useEffect, useState } from "preact/hooks";
import { Confirm } from "../parts/Dialog.tsx";
import { StateSign } from "../parts/Delivery.tsx";
import { Failed, More, usePages, useRead } from "../parts/Pages.tsx";
import type { Id, State } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { exact, since } from "../pure/when.ts";
import { executions, interrupt, openWork, type Agent, type OpenWork } from "../store/agents.ts";
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
        {work.value ? <Open agent={agent.id} work={work.value} /> : !work.fault && <p class="hint" role="status">{w.loading}</p>}
        {work.fault && <Failed text={work.fault} onRetry={work.again} />}
      </section>
      <section class="sheet">
        <h2>{w.agentPage.rooms}</h2>
        <RoomsOf agent={agent} items={work.value?.items ?? []} onChange={work.again} />
      </section>
    </>
  );
}

function Open({ agent, work: { items, hasMore, dead, hasMoreDead } }: { agent: Id; work: OpenWork }) {
  const words = w.agentWork;
  const oldest = items[0];
  const states = (Object.keys(w.states) as State[]).map((state): [State, number] => [state, items.filter(one => one.state === state).length]).filter(([, count]) => count > 0);
  const stuck = items.filter(one => one.flags.includes("stuck")).length;
  if (items.length === 0 && dead === 0) return <p class="hint">{words.none}</p>;
  return (
    <>
      <ul class="tally">
        <li><b>{items.length > 0 ? words.open(items.length, hasMore) : words.none}</b></li>
        {states.map(([state, count]) => <li key={state}><StateSign state={state} /> {count} {w.states[state]}</li>)}
        {stuck > 0 && <li>{words.stuck(stuck)}</li>}
        {dead > 0 && <li><StateSign state="dead" /> {words.dead(dead, hasMoreDead)}</li>}
      </ul>
      {oldest && <p class="hint">{words.oldest}: <time dateTime={oldest.inserted_at} title={exact(oldest.inserted_at)}>{words.oldestIn(since(oldest.inserted_at, now.value))}</time>{" "}
        <a href={`${BASE}/rooms/${oldest.chat_room_id}?at=${oldest.message_id}`}>{visible(oldest.chat_room_title ?? w.room.untitled)}</a></p>}
      <p><a href={`${BASE}/work?agent=${agent}`}>{words.all}</a></p>
    </>
  );
}

function RoomsOf({ agent, items, onChange }: { agent: Agent; items: WorkItemView[]; onChange: () => void }) {
  const pages = usePages(cursor => executions(agent.id, cursor), [agent.id], WATCH_MS);
  const [isInterrupting, setInterrupting] = useState(false);
  const name = visible(agent.name);
  const submit = async (): Promise<void> => {
    await interrupt(agent.id);
    inform(w.agentWork.interrupted(name));
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
        <Confirm title={w.agentWork.interruptTitle(name)} text={w.agentWork.interruptText(name)} submit={w.agentWork.interrupt} danger onSubmit={submit} onClose={() => setInterrupting(false)} />
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
      {isWorking && <button type="button" class="plain small" aria-label={w.agentWork.interruptIn(title)} onClick={onInterrupt}>{w.agentWork.interrupt}</button>}
    </li>
  );
}
