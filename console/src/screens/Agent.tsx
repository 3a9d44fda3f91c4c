// One of the caller's agents.

import { useEffect, useState } from "preact/hooks";
import { Confirm, Dialog, Fault, refocus } from "../parts/Dialog.tsx";
import { Dot, Face, Presence } from "../parts/Face.tsx";
import { Field } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Failed, useRead } from "../parts/Pages.tsx";
import { useConfirmedForm } from "../parts/Password.tsx";
import { Secret, awaySince } from "../parts/Secret.tsx";
import { Usage } from "../parts/Usage.tsx";
import { explain, faultOf } from "../pure/errors.ts";
import type { Id } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { duration, exact, since } from "../pure/when.ts";
import { agentOf, connections, isLoading, remove, rotateKey, watch, type Agent as Record, type Registered } from "../store/agents.ts";
import { inform } from "../store/notices.ts";
import { now } from "../store/now.ts";
import { BASE, go } from "../store/route.ts";
import { w } from "../words.ts";
import { About, EditAgent } from "./AgentEdit.tsx";
import { AgentWork } from "./AgentWork.tsx";

const WATCH_MS = 4000;

export function Agent({ id, onRoom }: { id: Id; onRoom: (agent: Id) => void }) {
  const agent = agentOf(id);
  const [asking, setAsking] = useState<"edit" | "rotate" | "delete" | null>(null);
  const [registered, setRegistered] = useState<Registered | null>(null);
  useEffect(() => watch(WATCH_MS, id), [id]);
  const name = agent ? visible(agent.name) : "";
  useEffect(() => { if (name) document.title = `${name} · ${w.app}`; }, [name]);
  const close = (): void => setAsking(null);

  if (!agent) {
    return (
      <main class="page" id="main">
        <header class="pagehead"><a class="backlink always" href={`${BASE}/agents`} aria-label={w.back}><Icon name="chevron-left" /></a><h1 tabIndex={-1}>{w.agents.title}</h1></header>
        <p class="hint">{isLoading.value ? w.loading : w.agentPage.missing}</p>
      </main>
    );
  }
  return (
    <main class="page" id="main">
      <header class="pagehead">
        <a class="backlink always" href={`${BASE}/agents`} aria-label={w.back}><Icon name="chevron-left" /></a>
        <Face id={agent.id} name={agent.name} isAgent />
        <div><h1 tabIndex={-1}>{name}</h1><p class="handle">@{agent.handle}</p></div>
        <button type="button" class="plain" onClick={() => setAsking("edit")}><Icon name="pencil" size={16} />{w.agentPage.edit}</button>
        <button type="button" onClick={() => onRoom(id)}><Icon name="plus" size={16} />{w.nav.newRoom}</button>
      </header>
      <section class="sheet">
        <h2>{w.agentPage.now}</h2>
        <Standing agent={agent} />
      </section>
      <AgentWork agent={agent} />
      {agent.is_external && <Connections agent={agent} />}
      <section class="sheet">
        <h2>{w.agentWork.usage}</h2>
        <Usage groups={["day", "room", "tree", "model"]} agent={id} />
      </section>
      <About agent={agent} />
      <section class="sheet">
        <h2>{w.agentPage.danger}</h2>
        <div class="deeds">
          {agent.is_external && <button type="button" class="plain" onClick={() => setAsking("rotate")}><Icon name="key-round" size={16} />{w.agentPage.rotate}</button>}
          <button type="button" class="plain danger" onClick={() => setAsking("delete")}><Icon name="trash" size={16} />{w.agentPage.delete}</button>
        </div>
      </section>
      {asking === "edit" && <EditAgent agent={agent} onClose={close} />}
      {asking === "rotate" && <Rotate agent={agent} onClose={close} onDone={setRegistered} />}
      {asking === "delete" && <Delete agent={agent} onClose={close} />}
      {registered && <Secret registered={registered} isNew={false} onClose={() => setRegistered(null)} />}
    </main>
  );
}

function Standing({ agent }: { agent: Record }) {
  const last = awaySince(agent.id);
  const { connected } = agent;
  const isOn = !agent.is_external || connected === true;
  const text = !agent.is_external ? w.agents.platform
    : connected === undefined ? w.agents.unknown
    : !connected ? w.agents.notConnected
    : agent.since ? w.agents.connectedSince(since(new Date(agent.since).toISOString(), now.value)) : w.agents.connected;
  return (
    <div class="now" role="status">
      <p class="presence"><Dot isOn={isOn} />{text}</p>
      {agent.is_external && connected !== undefined && (
        <p class="hint">{last ? w.agents.lastSeen(since(last.at, now.value), last.reason) : connected ? "" : w.agents.neverSeen}</p>
      )}
    </div>
  );
}

const FIRST = 10;

/** How the agent was connected: now, and the times before. */
function Connections({ agent }: { agent: Record }) {
  const [isAll, setAll] = useState(false);
  const { id, connected, last_disconnected_at } = agent;
  const past = useRead(() => connections(id), [id, connected, last_disconnected_at]);
  const words = w.agentPage;
  const time = (instant: string) => <time dateTime={instant} title={exact(instant)}>{since(instant, now.value)}</time>;
  return (
    <section class="sheet">
      <h2>{words.connections}</h2>
      <ul class="lines connections">
        {connected !== undefined && <li><Presence isOn={connected} /></li>}
        {past.value?.slice(0, isAll ? undefined : FIRST).map(({ began_at: began, ended_at: ended, reason }) => (
          <li key={ended}>
            <span>{began ? <>{time(began)} – {time(ended)}</> : <>{words.until} {time(ended)}</>}</span>
            <span class="hint">{[began ? duration(Date.parse(ended) - Date.parse(began)) : "", w.disconnect[reason] ?? reason].filter(Boolean).join(" · ")}</span>
          </li>
        ))}
      </ul>
      {past.fault && <Failed text={past.fault} onRetry={past.again} />}
      {!isAll && (past.value?.length ?? 0) > FIRST && <button type="button" class="plain small" onClick={() => { setAll(true); refocus(); }}>{w.agentWork.all}</button>}
    </section>
  );
}

function Rotate({ agent, onClose, onDone }: { agent: Record; onClose: () => void; onDone: (registered: Registered) => void }) {
  const form = useConfirmedForm(async (_, password) => {
    onDone(await rotateKey(agent.id, password));
    onClose();
  });
  return (
    <Dialog title={w.agentPage.rotate} onClose={onClose}>
      <form onSubmit={form.submit}>
        <p>{w.agentPage.rotateText}</p>
        {form.password}
        <Fault text={form.fault && !faultOf(form.fault, "current_password") ? explain(form.fault) : ""} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>{w.cancel}</button>
          <button class="danger" disabled={form.isBusy} data-focus>{w.agentPage.rotateSubmit}</button>
        </footer>
      </form>
    </Dialog>
  );
}

function Delete({ agent, onClose }: { agent: Record; onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const submit = async (): Promise<void> => {
    if (typed.trim().replace(/^@/, "") !== agent.handle) throw new Error(w.agentPage.deleteConfirm(agent.handle));
    await remove(agent.id);
    inform(w.agentPage.deleted(agent.name));
    go("/agents", true);
  };
  return (
    <Confirm title={w.agentPage.delete} text={w.agentPage.deleteText} submit={w.agentPage.deleteSubmit} danger onSubmit={submit} onClose={onClose}>
      <Field label={w.agentPage.deleteConfirm(agent.handle)} autocomplete="off" spellcheck={false} required pattern={`@?${agent.handle.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&")}`}
        value={typed} onInput={event => setTyped(event.currentTarget.value)} data-focus />
    </Confirm>
  );
}
