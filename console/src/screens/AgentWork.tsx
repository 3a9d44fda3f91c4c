// What an agent has to do, and where it is.

import { useEffect } from "preact/hooks";
import { useConfirm } from "../parts/Dialog.tsx";
import { StateSign } from "../parts/Delivery.tsx";
import { Section } from "../parts/Page.tsx";
import { Loading, Rows, usePaged, useRead } from "../parts/Pages.tsx";
import { Time } from "../parts/Time.tsx";
import type { Id } from "../pure/message.ts";
import { number } from "../pure/usage.ts";
import { visible } from "../pure/visible.ts";
import { executions, interrupt, openWork, type Agent } from "../store/agents.ts";
import { find, roomOf } from "../store/rooms.ts";
import { BASE } from "../store/route.ts";
import type { ExecutionView, WorkItemView, WorkTotalsView } from "../wire/api.ts";
import { w } from "../words.ts";

const WATCH_MS = 15_000;

export function AgentWork({ agent }: { agent: Agent }) {
  const work = useRead(() => openWork(agent.id), [agent.id], WATCH_MS);
  return (
    <>
      <Section title={w.agentWork.title} action={(agent.work?.open ?? 0) > 0 && <a href={`${BASE}/work?state=open&agent=${agent.id}`}>{w.agentWork.all}</a>}>
        {agent.work && <Open id={agent.id} work={agent.work} oldest={work.value?.[0]} />}
        <Loading of={{ ...work, value: agent.work ?? null }} />
      </Section>
      <Section title={w.nav.rooms}><RoomsOf agent={agent} items={work.value ?? []} onChange={work.again} /></Section>
    </>
  );
}

function Open({ id, work, oldest }: { id: Id; work: WorkTotalsView; oldest: WorkItemView | undefined }) {
  const words = w.agentWork;
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
      {at && <p class="hint">{words.oldest}: <Time at={at} text={words.oldestSince} />
        {oldest?.inserted_at === at && <> {words.in} <a href={`${BASE}/rooms/${oldest.chat_room_id}?at=${oldest.message_id}`}>{visible(oldest.chat_room_title ?? w.room.untitled)}</a></>}</p>}
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
  const onInterrupt = (): void => ask({ deed: w.work.interrupt, name, text: w.work.interruptText, done: w.work.interrupted(name), run });
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
      {isWorking && <button type="button" class="plain small" aria-label={w.of(w.work.interrupt, w.organization.in(title))} onClick={onInterrupt}>{w.work.interrupt}</button>}
    </li>
  );
}
