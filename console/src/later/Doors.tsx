// The last call and the last failure of each way by which an agent and the server reach each other.

import { call, Icon, Loading, Section, Time, useRead, visible, w } from "../shared.ts";
import type { Id } from "../pure/message.ts";
import type { DoorView, OwnedAgentView } from "../wire/api.ts";
import { explained, words } from "./doorwords.ts";

const WATCH_MS = 5000;

/** Times of calls are that old at most. */
const RESOLUTION_MS = 70_000;

const read = async (agent_id: Id): Promise<OwnedAgentView> => (await call("findAgent", { path: { agent_id }, query: { include: ["doors", "work"] } })).data;

/** Whether nothing has worked since the last failure. */
function isFailing({ door, called_at, failed_at }: DoorView, agent: OwnedAgentView): boolean {
  if (!failed_at) return false;
  const failed = Date.parse(failed_at);
  if (door === "socket" && (agent.connected || failed < Date.parse(agent.last_disconnected_at ?? failed_at))) return false;
  return !called_at || failed - Date.parse(called_at) > RESOLUTION_MS;
}

export function Doors({ agent }: { agent: Id }) {
  const found = useRead(() => read(agent), [agent], WATCH_MS);
  const doors = found.value?.doors;
  return (
    <Section title={w.agentPage.doors} intro={words.intro}>
      <Loading of={found} />
      {doors?.length === 0 && <p class="hint">{words.none}</p>}
      {found.value && doors && doors.length > 0 && <ul class="lines doors">{doors.map(one => <Door key={one.door} one={one} isFailing={isFailing(one, found.value!)} />)}</ul>}
    </Section>
  );
}

function Door({ one: { door, called_at, failed_at, failure }, isFailing }: { one: DoorView; isFailing: boolean }) {
  return (
    <li>
      <span class="names">
        <span class="name">{words.doors[door] ?? door}</span>
        {called_at && <span class="hint"><Time at={called_at} text={words.called[door] ?? words.calledLast} /></span>}
        {failed_at && failure && <>
          <span class={isFailing ? "hint failed" : "hint"}>{isFailing && <Icon name="triangle-alert" size={14} />} <Time at={failed_at} text={words.failed} /> {explained(door, failure.code)}</span>
          <span class="hint"><code>{failure.code}</code>{failure.detail && <> · {visible(failure.detail)}</>}</span>
        </>}
      </span>
    </li>
  );
}
