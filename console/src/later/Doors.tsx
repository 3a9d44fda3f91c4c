// The last call and the last failure of each way by which an agent and the server reach each other.

import { call, Icon, Loading, Section, Time, useRead, visible, w } from "../shared.ts";
import type { Id } from "../pure/message.ts";
import type { DoorView } from "../wire/api.ts";
import { explained, words } from "./doorwords.ts";

const WATCH_MS = 5000;

const doors = async (agent_id: Id): Promise<DoorView[]> => (await call("findAgent", { path: { agent_id }, query: { include: ["doors"] } })).data.doors ?? [];

export function Doors({ agent }: { agent: Id }) {
  const read = useRead(() => doors(agent), [agent], WATCH_MS);
  return (
    <Section title={w.agentPage.doors} intro={words.intro}>
      <Loading of={read} />
      {read.value?.length === 0 && <p class="hint">{words.none}</p>}
      {read.value && read.value.length > 0 && <ul class="lines doors">{read.value.map(one => <Door key={one.door} one={one} />)}</ul>}
    </Section>
  );
}

function Door({ one: { door, called_at, failed_at, failure } }: { one: DoorView }) {
  // Nothing has worked since.
  const isFailing = !!failed_at && Date.parse(failed_at) >= Date.parse(called_at);
  return (
    <li>
      <span class="names">
        <span class="name">{words.doors[door] ?? door}</span>
        <span class="hint"><Time at={called_at} text={words.called[door] ?? words.calledLast} /></span>
        {failed_at && failure && <>
          <span class={isFailing ? "hint failed" : "hint"}>{isFailing && <Icon name="triangle-alert" size={14} />} <Time at={failed_at} text={words.failed} /> {explained(door, failure.code)}</span>
          <span class="hint"><code>{failure.code}</code>{failure.detail && <> · {visible(failure.detail)}</>}</span>
        </>}
      </span>
    </li>
  );
}
