// A key that is shown once, and for the key of an agent, what to do with it until the agent arrives.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { agentOf, watch, type Registered } from "../store/agents.ts";
import { hasDocs } from "../wire/session.ts";
import { w } from "../words.ts";
import { CopyButton } from "./Copy.tsx";
import { Confirm, Dialog } from "./Dialog.tsx";
import { Dot } from "./Face.tsx";
import { Icon } from "./Icon.tsx";

const WATCH_MS = 1500;

/** A key in a dialog. Closing it asks first, unless the key was copied or `isSafe` says that it is in use. */
export function ShownOnce({ title, secret, label = w.login.key, what = "key", once = w.registering.once, isSafe = false, onClose, action, children }: {
  title: string; secret: string; label?: string; what?: string; once?: string; isSafe?: boolean; onClose: () => void; action?: { label: string; run: () => void } | undefined; children: (noteCopy: () => void) => ComponentChildren;
}) {
  const [isCopied, setCopied] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const key = useRef<HTMLElement>(null);
  const noteCopy = (): void => setCopied(true);
  const leave = (way: () => void): void => { if (isCopied || isSafe) way(); else setAsking(true); };
  return (
    <>
      <Dialog wide title={title} onClose={() => leave(onClose)}>
        <div class="secret" onCopy={noteCopy}>
          <p class="once">{once}</p>
          <div class="line">
            <code ref={key} class="key" aria-label={label} role="group" tabIndex={0}>{secret}</code>
            <CopyButton text={secret} of={() => key.current} onCopy={noteCopy} />
          </div>
          {children(noteCopy)}
        </div>
        <footer>
          {action && <button type="button" class="plain" onClick={() => leave(action.run)}>{action.label}</button>}
          <button type="button" data-focus onClick={() => leave(onClose)}>{w.done}</button>
        </footer>
      </Dialog>
      {isAsking && (
        <Confirm title={w.registering.unsavedTitle(what)} text={w.registering.unsaved(what)} submit={w.registering.unsavedClose} danger
          onSubmit={onClose} onClose={() => setAsking(false)} />
      )}
    </>
  );
}

export function Secret({ registered, isNew, onClose, onRoom }: { registered: Registered; isNew: boolean; onClose: () => void; onRoom?: () => void }) {
  const { agent, credentials } = registered;
  const use = useRef<HTMLElement>(null);
  // After a rotation, the instance with the old key may still count as connected for a moment.
  const [wasAway, setAway] = useState(isNew);
  useEffect(() => watch(WATCH_MS, agent.id), []);
  const isOnline = agentOf(agent.id)?.connected === true;
  useEffect(() => { if (!isOnline) setAway(true); }, [isOnline]);
  const isConnected = isOnline && wasAway;

  const commands = [
    "python3 -m venv agent-env && agent-env/bin/pip install band-sdk==6.0.1",
    `export BAND_AGENT_ID=${agent.id}`,
    `export BAND_API_KEY=${credentials.api_key}`,
    `export BAND_REST_URL=${location.origin}`,
    `export BAND_WS_URL=${location.origin.replace(/^http/, "ws")}/api/v1/socket/websocket`,
    "agent-env/bin/python examples/agent.py",
  ].join("\n");
  return (
    <ShownOnce title={isNew ? w.registering.done(agent.name) : w.registering.rotated(agent.name)} secret={credentials.api_key} isSafe={isConnected} onClose={onClose}
      action={onRoom && { label: w.registering.openRoom, run: onRoom }}>
      {noteCopy => (
        <>
          <h3>{w.registering.use}</h3>
          <div class="block">
            <pre tabIndex={0} role="group" aria-label={w.registering.use}><code ref={use}>{commands}</code></pre>
            <CopyButton text={commands} of={() => use.current} label={w.registering.copyAll} onCopy={noteCopy} />
          </div>
          {hasDocs.value && <p><Icon name="external-link" size={16} /> <a href="/docs/start/" target="_blank">{w.registering.guides}</a></p>}
          <p class={isConnected ? "arrival on" : "arrival"} role="status">
            <Dot isOn={isConnected} />
            {isConnected ? w.registering.connected(agent.name) : isNew ? w.registering.waiting : w.registering.waitingAgain}
          </p>
        </>
      )}
    </ShownOnce>
  );
}

/** When and why an own agent's last socket ended, as far as it is known. */
export function awaySince(id: string): { at: string; reason: string } | null {
  const { last_disconnected_at: at, last_disconnect_reason: reason } = agentOf(id) ?? {};
  return at ? { at, reason: reason ? (w.disconnect[reason] ?? reason) : "" } : null;
}
