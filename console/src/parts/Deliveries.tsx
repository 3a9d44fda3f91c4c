// What became of a text at each agent that it mentions: in a word and a shape, and in full when it is opened.

import { useState } from "preact/hooks";
import { deliveriesOf, type Delivery, type Message, type State } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { w } from "../words.ts";
import { Inside, StateSign, took } from "./Delivery.tsx";

export function Deliveries({ message, isParticipant }: { message: Message; isParticipant: boolean }) {
  const deliveries = deliveriesOf(message);
  if (deliveries.length === 0) return null;
  return (
    <ul class="deliveries" aria-label={w.delivery.label}>
      {deliveries.map(one => <One key={one.agent.id} message={message} delivery={one} isParticipant={isParticipant} />)}
    </ul>
  );
}

const isTrouble = (state: State): boolean => state === "failed" || state === "held" || state === "dead";

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
        {isOpen && <Inside place={{ scope: "mine", room: message.chat_room_id, message: message.id, agent: agent.id }} delivery={delivery} isParticipant={isParticipant} />}
      </details>
    </li>
  );
}
