// One of the caller's agents.

import { useEffect, useRef, useState } from "preact/hooks";
import { Confirm, passwordIn, refocus } from "../parts/Dialog.tsx";
import { Dot, Face, Presence } from "../parts/Face.tsx";
import { Field } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Page, Section } from "../parts/Page.tsx";
import { Loading, useRead } from "../parts/Pages.tsx";
import { AskPause, AskResume } from "../parts/Paused.tsx";
import { Secret, awaySince } from "../parts/Secret.tsx";
import { Time } from "../parts/Time.tsx";
import { Usage } from "../parts/Usage.tsx";
import type { Id } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { duration, since } from "../pure/when.ts";
import { agentOf, connections, isLoading, remove, rotateKey, watch, type Agent as Record, type Registered } from "../store/agents.ts";
import { inform } from "../store/notices.ts";
import { now } from "../store/now.ts";
import { go } from "../store/route.ts";
import { keyFor } from "../wire/call.ts";
import { hasWebhooks } from "../wire/session.ts";
import { w } from "../words.ts";
import { About, EditAgent } from "./AgentEdit.tsx";
import { LaterSection } from "./LaterSection.tsx";
import { AgentWork } from "./AgentWork.tsx";

const WATCH_MS = 4000;

export function Agent({ id, onRoom }: { id: Id; onRoom: (agent: Id) => void }) {
  const agent = agentOf(id);
  const [asking, setAsking] = useState<"edit" | "rotate" | "delete" | "pause" | "resume" | null>(null);
  const [registered, setRegistered] = useState<Registered | null>(null);
  const sent = useRef({});
  useEffect(() => watch(WATCH_MS, id), [id]);
  const name = agent ? visible(agent.name) : "";
  const close = (): void => setAsking(null);
  const rotate = async (data: FormData): Promise<void> => {
    setRegistered(await rotateKey(keyFor(sent.current, id), id, passwordIn(data)));
    sent.current = {};
  };

  if (!agent) return <Page title={w.agents.title} back="/agents"><p class="hint">{isLoading.value ? w.loading : w.agentPage.missing}</p></Page>;
  return (
    <Page title={name} back="/agents" before={<Face id={agent.id} name={agent.name} isAgent />} intro={`@${agent.handle}`} action={<>
      <button type="button" class="plain" onClick={() => setAsking("edit")}><Icon name="pencil" size={16} />{w.agentPage.edit}</button>
      <button type="button" onClick={() => onRoom(id)}><Icon name="plus" size={16} />{w.newRoom.title}</button>
    </>}>
      <Section title={w.agentPage.now} action={<button type="button" class="plain" onClick={() => setAsking(agent.pause ? "resume" : "pause")}><Icon name={agent.pause ? "play" : "octagon-pause"} size={16} />{agent.pause ? w.organization.resumeShort : w.agentPage.pause}</button>}>
        <Standing agent={agent} />
      </Section>
      <AgentWork agent={agent} />
      {agent.is_external && <LaterSection title={w.agentPage.doors}>{({ Doors }) => <Doors key={id} agent={id} />}</LaterSection>}
      {agent.is_external && <Connections agent={agent} />}
      {agent.is_external && hasWebhooks.value && <LaterSection title={w.agentPage.webhook}>{({ Webhook }) => <Webhook key={id} agent={id} />}</LaterSection>}
      <Section title={w.usage.title}><Usage groups={["day", "room", "tree", "model"]} agent={id} /></Section>
      <About agent={agent} />
      <Section title={w.agentPage.danger}>
        <div class="deeds">
          {agent.is_external && <button type="button" class="plain" onClick={() => setAsking("rotate")}><Icon name="key-round" size={16} />{w.agentPage.rotate}</button>}
          <button type="button" class="plain danger" onClick={() => setAsking("delete")}><Icon name="trash" size={16} />{w.agentPage.delete}</button>
        </div>
      </Section>
      {asking === "edit" && <EditAgent agent={agent} onClose={close} />}
      {asking === "rotate" && (
        <Confirm title={w.agentPage.rotate} text={w.agentPage.rotateText} submit={w.agentPage.rotate} danger onSubmit={rotate} onClose={close} />
      )}
      {asking === "pause" && <AskPause agent={agent} onClose={close} />}
      {asking === "resume" && <AskResume agent={agent} onClose={close} />}
      {asking === "delete" && <Delete agent={agent} onClose={close} />}
      {registered && <Secret registered={registered} isNew={false} onClose={() => setRegistered(null)} />}
    </Page>
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
      {agent.pause && <p><span class="tag">{w.agentPage.paused}</span> <Time at={agent.pause.since} />: {visible(agent.pause.reason ?? "")}</p>}
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
  return (
    <Section title={words.connections}>
      <ul class="lines connections">
        {connected !== undefined && <li><Presence isOn={connected} /></li>}
        {past.value?.slice(0, isAll ? undefined : FIRST).map(({ began_at: began, ended_at: ended, reason }) => (
          <li key={ended}>
            <span>{began ? <><Time at={began} /> –</> : words.until} <Time at={ended} /></span>
            <span class="hint">{[began ? duration(Date.parse(ended) - Date.parse(began)) : "", w.disconnect[reason] ?? reason].filter(Boolean).join(" · ")}</span>
          </li>
        ))}
      </ul>
      <Loading of={past} />
      {!isAll && (past.value?.length ?? 0) > FIRST && <button type="button" class="plain small" onClick={() => { setAll(true); refocus(); }}>{w.agentWork.all}</button>}
    </Section>
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
    <Confirm title={w.agentPage.delete} text={w.agentPage.deleteText} submit={w.agentPage.delete} danger onSubmit={submit} onClose={onClose}>
      <Field label={w.agentPage.deleteConfirm(agent.handle)} autocomplete="off" spellcheck={false} required pattern={`@?${agent.handle.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&")}`}
        value={typed} onInput={event => setTyped(event.currentTarget.value)} data-focus />
    </Confirm>
  );
}
