// Who is connected, and how connections ended.

import { duration, Rows, Section, Somebody, Time, usePaged, w } from "../shared.ts";
import { size } from "../pure/throughput.ts";
import { connections, disconnects } from "./read.ts";
import { words } from "./words.ts";

const WATCH_MS = 5000;

export function Connections() {
  const open = usePaged(connections, [], WATCH_MS);
  const ended = usePaged(disconnects, [], WATCH_MS);
  return (
    <>
      <Section title={words.open} intro={words.openText(open.first.value?.node_id)}>
        <Rows list={open} empty={<p class="hint">{words.openNone}</p>} row={one => (
          <li key={one.id}>
            <Who id={one.who} type={one.type} name={one.name} handle={one.handle} />
            <span class="hint when"><Time at={one.began_at} text={words.connectedSince} />{one.queued_bytes > 0 && <><br />{words.queued(size(one.queued_bytes))}</>}</span>
          </li>
        )} />
      </Section>
      <Section title={words.ended} intro={words.endedText}>
        <Rows list={ended} empty={<p class="hint">{words.endedNone}</p>} row={one => (
          <li key={one.id}>
            <Who id={one.agent_id} type="Agent" name={one.name} handle={one.handle} />
            <span class="hint when">{w.disconnect[one.reason] ?? one.reason}<br />
              <Time at={one.ended_at} />{one.began_at && ` · ${words.lasted(duration(Date.parse(one.ended_at) - Date.parse(one.began_at)))}`}</span>
          </li>
        )} />
      </Section>
    </>
  );
}

/** An account that was just deleted has no name. */
function Who({ id, type, name, handle }: { id: string; type: string; name: string | null | undefined; handle: string | null | undefined }) {
  return name == null || handle == null ? <span class="hint">{words.deleted}</span> : <Somebody one={{ id, type, name, handle }} />;
}
