// What an agent has to do, and where it is.

import { useEffect } from "preact/hooks";
import { useConfirm } from "../parts/Dialog.tsx";
import { StateSign } from "../parts/Delivery.tsx";
import { Section } from "../parts/Page.tsx";
import { Loading, Rows, usePaged, useRead } from "../parts/Pages.tsx";
import type { State } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { exact, since } from "../pure/when.ts";
import { executions, interrupt, openWork, type Agent, type OpenWork } from "../store/agents.ts";
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
      <Section title={w.agentWork.title} action={<a href={`${BASE}/work?state=open&agent=${agent.id}`}>{w.agentWork.all}</a>}>
        {work.value && <Open work={work.value} />}
        <Loading of={work} />
      </Section>
      <Section title={w.nav.rooms}><RoomsOf agent={agent} items={work.value?.items ?? []} onChange={work.again} /></Section>
    </>
  );
}

function Open({ work: { items, hasMore, dead, hasMoreDead } }: { work: OpenWork }) {
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
    </>
  );
}

function RoomsOf({ agent, items, onChange }: { agent: Agent; items: WorkItemView[]; onChange: () => void }) {
  const list = usePaged(cursor => executions(agent.id, cursor), [agent.id], WATCH_MS);
  const [question, ask] = useConfirm();
  const name = visible(agent.name);
  const run = async (): Promise<void> => {
    await interrupt(agent.id);
    void list.load(true);
    onChange();
  };
  const onInterrupt = (): void => ask({ deed: w.agentWork.interrupt, name, text: w.agentWork.interruptText(name), done: w.agentWork.interrupted(name), run });
  return (
    <>
      <Rows list={list} empty={<p class="hint">{w.agentPage.noRooms}</p>} row={one => <RoomLine key={one.id} one={one} items={items} onInterrupt={onInterrupt} />} />
      {question}
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
        {[one.stopped ? w.agentPage.stopped : (w.agentPage.roomState[one.status] ?? one.status), tried ? w.delivery.attempt(tried.current_attempt) : ""].filter(Boolean).join(" · ")}
      </span>
      {isWorking && <button type="button" class="plain small" aria-label={w.of(w.agentWork.interrupt, w.organization.in(title))} onClick={onInterrupt}>{w.agentWork.interrupt}</button>}
    </li>
  );
}
