// What an agent thought and did between two texts, folded into one line. Errors are never folded away unseen.

import { useState } from "preact/hooks";
import type { Row, Step as Kept } from "../pure/fold.ts";
import { toolOf, usageOf, type Message } from "../pure/message.ts";
import { number } from "../pure/usage.ts";
import { clock, duration, exact } from "../pure/when.ts";
import { visible } from "../pure/visible.ts";
import { complain } from "../store/notices.ts";
import type { OpenRoom } from "../store/room.ts";
import { w } from "../words.ts";
import { Icon } from "./Icon.tsx";

/** Of one detail, this much is shown. */
const MOST_SHOWN = 32 * 1024;

/** Without an open room, all that there is of the steps is here. */
export function Steps({ room, line }: { room?: OpenRoom; line: Row & { kind: "steps" } }) {
  const { name, events, dropped, isPartial } = line;
  const first = events[0]!;
  const last = events.at(-1)!;
  const calls = events.filter(event => event.message_type === "tool_call").length;
  const failed = events.filter(event => event.message_type === "error");
  const took = Date.parse(last.inserted_at) - Date.parse(first.inserted_at);
  const preview = failed.at(-1) ?? last;
  const facts = [
    isPartial ? w.steps.countOfMore(events.length + dropped) : w.steps.count(events.length + dropped),
    calls > 0 ? w.steps.calls(calls) : "",
    failed.length > 0 ? w.steps.errors(failed.length) : "",
    took >= 1000 ? duration(took) : "",
  ].filter(Boolean);
  // The steps are drawn while the line is open.
  const [isOpen, setOpen] = useState(false);
  return (
    <details class={failed.length > 0 ? "steps bad" : "steps"} onToggle={event => { if (event.target === event.currentTarget) setOpen((event.currentTarget as HTMLDetailsElement).open); }}>
      <summary>
        <Icon name="chevron-right" size={16} />
        <span class="who">{visible(name)}</span> <span class="facts">{facts.join(" · ")}</span>{" "}
        <span class="last">{kind(preview)}: {visible(brief(preview).slice(0, 160))}</span>
      </summary>
      {isOpen && (
        <>
          {(dropped > 0 || isPartial) && (
            <p class="hint">
              {dropped > 0 && !isPartial ? w.steps.dropped(dropped) : w.steps.partial}{" "}
              {line.hasEarlier && <button type="button" class="link" onClick={() => void room?.openGap(line.after)}>{w.steps.earlier}</button>}
            </p>
          )}
          <ol>{events.map(event => <Step key={event.id} kept={event} room={room} />)}</ol>
        </>
      )}
    </details>
  );
}

const kind = (event: Message): string => (usageOf(event) ? w.steps.usage : w.steps.kinds[event.message_type] ?? event.message_type);

/** What a folded line says of a step. */
function brief(event: Message): string {
  const usage = usageOf(event);
  return usage ? w.steps.tokens(number(usage.input_tokens ?? 0), number(usage.output_tokens ?? 0)) : toolOf(event) ?? event.content;
}

function Step({ kept, room }: { kept: Kept; room: OpenRoom | undefined }) {
  const [whole, setWhole] = useState<Message | null>(null);
  const [isBusy, setBusy] = useState(false);
  const event = whole ?? kept;
  const rest = whole ? 0 : (kept.characters ?? 0) - kept.content.length;
  const fetchWhole = (): void => {
    if (!room) return;
    setBusy(true);
    room.wholeStep(kept.id).then(found => { if (found) setWhole(found); }, complain).finally(() => setBusy(false));
  };
  const { cause: _, ...metadata } = event.metadata;
  const isLong = event.message_type === "tool_call" || event.message_type === "tool_result" || event.message_type === "error";
  return (
    <li class={event.message_type}>
      <p class="kind">{kind(event)} <time dateTime={event.inserted_at} title={exact(event.inserted_at)}>{clock(event.inserted_at)}</time></p>
      {isLong ? <Detail text={pretty(event.content)} label={kind(event)} /> : <p class="said" dir="auto">{event.content}</p>}
      {!whole && kept.characters !== undefined && (
        <p class="hint">{rest > 0 && `${w.steps.cut(rest)} `}<button type="button" class="link" disabled={isBusy} onClick={fetchWhole}>{w.steps.showAll}</button></p>
      )}
      {Object.keys(metadata).length > 0 && (
        <details class="more"><summary>{w.steps.details}</summary><Detail text={JSON.stringify(metadata, null, 2)} label={w.steps.details} /></details>
      )}
    </li>
  );
}

function pretty(text: string): string {
  if (!/^\s*[[{]/.test(text) || text.length > MOST_SHOWN) return text;
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

export function Detail({ text, label }: { text: string; label: string }) {
  const rest = text.length - MOST_SHOWN;
  return <pre tabIndex={0} role="group" aria-label={label}>{visible(text.slice(0, MOST_SHOWN))}{rest > 0 && `\n${w.steps.cut(rest)}`}</pre>;
}
