// The caller's agents, and the dialog that registers one.

import { useEffect, useRef } from "preact/hooks";
import { Confirm, passwordIn, typed } from "../parts/Dialog.tsx";
import { Face, Presence } from "../parts/Face.tsx";
import { Field } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Nothing, Page } from "../parts/Page.tsx";
import { awaySince, Secret } from "../parts/Secret.tsx";
import type { Id } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { since } from "../pure/when.ts";
import { agents, isLoading, register, registered, watch, type Agent } from "../store/agents.ts";
import { now } from "../store/now.ts";
import { BASE, go } from "../store/route.ts";
import { keyFor } from "../wire/call.ts";
import { w } from "../words.ts";

/** The server counts the work of all agents for it. */
const WATCH_MS = 15_000;

export function Agents({ isRegistering, onRoom }: { isRegistering: boolean; onRoom: (agent: Id) => void }) {
  useEffect(() => watch(WATCH_MS), []);
  const done = registered.value;
  const close = (): void => {
    registered.value = null;
    go("/agents", true);
  };
  return (
    <Page title={w.agents.title} name={isRegistering ? w.registering.title : undefined} intro={w.agents.intro} action={<>
      {agents.value.length > 1 && <a class="button plain" href={`${BASE}/agents/delete`}>{w.several}</a>}
      <a class="button plain" href={`${BASE}/usage`}>{w.usage.title}</a>
      <a class="button" href={`${BASE}/agents/new`}><Icon name="plus" size={16} />{w.registering.title}</a>
    </>}>
      {agents.value.length > 0 && (
        <ul class="cards">{agents.value.map(one => <Item key={one.id} agent={one} />)}</ul>
      )}
      {agents.value.length === 0 && (isLoading.value ? <p class="hint" role="status">{w.loading}</p> : <Nothing icon="bot" title={w.agents.none} text={w.agents.noneText} />)}
      {done ? <Secret registered={done} isNew onClose={close} onRoom={() => { close(); onRoom(done.agent.id); }} />
        : isRegistering && <RegisterAgent onClose={close} />}
    </Page>
  );
}

function Item({ agent }: { agent: Agent }) {
  const { connected } = agent;
  const last = connected === false ? awaySince(agent.id) : null;
  return (
    <li>
      <a class="card" href={`${BASE}/agents/${agent.id}`}>
        <Face id={agent.id} name={agent.name} isAgent />
        <span class="names"><span class="name">{visible(agent.name)}</span> <span class="handle">@{agent.handle}</span></span>
        <span class="description">{visible(agent.description)}</span>
        <span class="standing">
          {!agent.is_external ? <span class="hint">{w.agents.platform}</span> : connected !== undefined ? <Presence isOn={connected} /> : <span class="hint">{w.agents.unknown}</span>}
          {agent.pause && <span class="tag">{w.agentPage.paused}</span>}
          {last && <span class="hint">{w.agents.lastSeen(since(last.at, now.value), last.reason)}</span>}
        </span>
      </a>
    </li>
  );
}

function RegisterAgent({ onClose }: { onClose: () => void }) {
  const sent = useRef({});
  const submit = async (data: FormData): Promise<false> => {
    const about = [typed(data, "name"), typed(data, "description")] as const;
    await register(keyFor(sent.current, about), ...about, passwordIn(data));
    return false;
  };
  return (
    <Confirm title={w.registering.title} submit={w.registering.submit} onSubmit={submit} onClose={onClose}>
      {fault => (
        <>
          <Field label={w.agents.name} hint={w.registering.nameHint} name="name" required maxLength={100} autocomplete="off" data-focus fault={fault("name")} />
          <Field label={w.registering.description} name="description" required maxLength={500} autocomplete="off" fault={fault("description")} />
        </>
      )}
    </Confirm>
  );
}
