// A key that is shown once, with what to do with it, until its agent arrives.

import { useEffect, useRef, useState } from "preact/hooks";
import { disconnects, presence, watchPresence, type Registered } from "../store/agents.ts";
import { w } from "../words.ts";
import { CopyButton } from "./Copy.tsx";
import { Confirm, Dialog } from "./Dialog.tsx";
import { Dot } from "./Face.tsx";

const WATCH_MS = 1500;

export function Secret({ registered, isNew, onClose, onRoom }: { registered: Registered; isNew: boolean; onClose: () => void; onRoom?: () => void }) {
  const { agent, credentials } = registered;
  const [isCopied, setCopied] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const key = useRef<HTMLElement>(null);
  const use = useRef<HTMLElement>(null);
  // After a rotation, the instance with the old key may still count as connected for a moment.
  const [wasAway, setAway] = useState(isNew);
  useEffect(() => watchPresence(WATCH_MS), []);
  const isOnline = presence.value.get(agent.id)?.isOnline === true;
  useEffect(() => { if (!isOnline) setAway(true); }, [isOnline]);
  const isConnected = isOnline && wasAway;

  const commands = [
    "python3 -m venv agent-env && agent-env/bin/pip install band-sdk",
    `export BAND_AGENT_ID=${agent.id}`,
    `export BAND_API_KEY=${credentials.api_key}`,
    `export BAND_REST_URL=${location.origin}`,
    `export BAND_WS_URL=${location.origin.replace(/^http/, "ws")}/api/v1/socket/websocket`,
    "agent-env/bin/python examples/agent.py",
  ].join("\n");
  const leave = (): void => { if (isCopied || isConnected) onClose(); else setAsking(true); };

  return (
    <>
      <Dialog wide title={isNew ? w.registering.done(agent.name) : w.registering.rotated(agent.name)} onClose={leave}>
        <div class="secret" onCopy={() => setCopied(true)}>
          <p class="once">{w.registering.once}</p>
          <div class="line">
            <code ref={key} class="key" aria-label={w.registering.key} role="group" tabIndex={0}>{credentials.api_key}</code>
            <CopyButton text={credentials.api_key} of={() => key.current} onCopy={() => setCopied(true)} />
          </div>
          <h3>{w.registering.use}</h3>
          <div class="block">
            <pre tabIndex={0} role="group" aria-label={w.registering.use}><code ref={use}>{commands}</code></pre>
            <CopyButton text={commands} of={() => use.current} label={w.registering.copyAll} onCopy={() => setCopied(true)} />
          </div>
          <p class={isConnected ? "arrival on" : "arrival"} role="status">
            <Dot isOn={isConnected} />
            {isConnected ? w.registering.connected(agent.name) : isNew ? w.registering.waiting : w.registering.waitingAgain}
          </p>
        </div>
        <footer>
          {onRoom && <button type="button" class="plain" onClick={() => { if (isCopied || isConnected) onRoom(); else setAsking(true); }}>{w.registering.openRoom}</button>}
          <button type="button" data-focus onClick={leave}>{w.registering.finish}</button>
        </footer>
      </Dialog>
      {isAsking && (
        <Confirm title={w.registering.unsavedTitle} text={w.registering.unsaved} submit={w.registering.unsavedClose} danger
          onSubmit={onClose} onClose={() => setAsking(false)} />
      )}
    </>
  );
}

/** Why and since when an own agent is away, as far as it is known. */
export function awaySince(id: string): { at: string; reason: string } | null {
  const last = disconnects.value.get(id);
  return last ? { at: last.at, reason: w.disconnect[last.reason] ?? last.reason } : null;
}
