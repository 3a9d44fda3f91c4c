// One message at one agent, in the list of work.

import { useState } from "preact/hooks";
import { plain } from "../pure/markdown.ts";
import type { State } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { exact, since } from "../pure/when.ts";
import { deliveryOf, errorOf, sinceOf, type Item } from "../pure/work.ts";
import { agentOf } from "../store/agents.ts";
import { now } from "../store/now.ts";
import { isObserved, roomOf } from "../store/rooms.ts";
import { BASE } from "../store/route.ts";
import type { Scope } from "../store/work.ts";
import { w } from "../words.ts";
import { Icon } from "./Icon.tsx";
import { hindrances, holdOf, Inside, StateSign } from "./Delivery.tsx";

const isOver = (item: Item): boolean => item.state === "dead" || item.state === "processed";

export function WorkRow({ item, scope, isChosen, onChoose, onItem }: { item: Item; scope: Scope; isChosen: boolean; onChoose: (isOn: boolean) => void; onItem: (item: Item) => void }) {
  const [isOpen, setOpen] = useState(false);
  const { agent, message_id: message, chat_room_id: room } = item;
  const state = item.state as State;
  const at = sinceOf(item);
  const due = item.respond_by;
  const error = errorOf(item);
  // Markers of mentions are ids, and the list has no names for them.
  const isReadable = item.content != null;
  const head = isReadable ? visible(plain(item.content!.replace(/@\[\[([0-9a-f-]{36})\]\]/g, (_, id: string) => `@${id === agent.id ? agent.name : (agentOf(id)?.name ?? "…")}`), [], 200)) : w.work.hidden;
  const known = roomOf(room);
  const title = visible(item.chat_room_title ?? known?.title ?? w.room.untitled);
  const isLate = due != null && Date.parse(due) < now.value && !isOver(item);
  const why = isOver(item) ? [] : [...(state === "held" ? [w.work.held(holdOf(item.held_by))] : []), ...hindrances(agent, agent)];
  const facts = [
    w.states[state] ?? item.state,
    ...item.flags.map(flag => w.work.flags[flag]),
    w.work.since(since(at, now.value)),
    item.current_attempt > 0 ? w.work.attempts(item.current_attempt) : "",
  ].filter(Boolean);
  return (
    <li class="item">
      <label class="pick"><input type="checkbox" checked={isChosen} aria-label={w.work.choose(visible(agent.name), head)} onChange={event => onChoose(event.currentTarget.checked)} /></label>
      <div class="about">
        <p class="hint">
          {isReadable ? <a href={`${BASE}/rooms/${room}?at=${message}`}>{title}</a> : title}
          {" · "}{w.work.from(visible(item.sender.name ?? w.work.someone))}
          {due && <> · <span class={isLate ? "late" : ""} title={exact(due)}>{(isLate ? w.work.overdue : w.room.respondBy)(since(due, now.value))}</span></>}
          {isReadable && <> · <a href={`${BASE}/rooms/${room}/tree/${message}`}>{w.tree.open}</a></>}
        </p>
        <details class={`delivery ${state}`} onToggle={event => { if (event.target === event.currentTarget) setOpen((event.currentTarget as HTMLDetailsElement).open); }}>
          <summary>
            <span class="facts"><StateSign state={state} /> <span class="who">{visible(agent.name)}</span> <span class="state" title={exact(at)}>{facts.join(" · ")}</span><Icon name="chevron-right" size={16} /></span>
            <span class="head" dir="auto">{head}</span>
            {error && <span class="error">{visible(error)}</span>}
          </summary>
          {isOpen && <Inside place={{ scope, room, message, agent: agent.id }} delivery={deliveryOf(item)} isParticipant={isReadable && !(known && isObserved(known))} onItem={onItem} />}
        </details>
        {!isOpen && why.length > 0 && <p class="why">{why.join(" ")}</p>}
      </div>
    </li>
  );
}
