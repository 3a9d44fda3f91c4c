// The caller's agents, and the dialog that registers one.

import { useEffect, useState } from "preact/hooks";
import { Dialog, Fault } from "../parts/Dialog.tsx";
import { Face, Presence } from "../parts/Face.tsx";
import { Field } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Nothing, Page } from "../parts/Page.tsx";
import { useConfirmedForm } from "../parts/Password.tsx";
import { awaySince, Secret } from "../parts/Secret.tsx";
import { explain, faultOf } from "../pure/errors.ts";
import type { Id } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { since } from "../pure/when.ts";
import { agents, isLoading, register, watch, type Agent, type Registered } from "../store/agents.ts";
import { now } from "../store/now.ts";
import { BASE, go } from "../store/route.ts";
import { w } from "../words.ts";

const WATCH_MS = 5000;

export function Agents({ isRegistering, onRoom }: { isRegistering: boolean; onRoom: (agent: Id) => void }) {
  useEffect(() => watch(WATCH_MS), []);
  return (
    <Page title={w.agents.title} intro={w.agents.intro} action={<>
      <a class="button plain" href={`${BASE}/usage`}>{w.usage.title}</a>
      <a class="button" href={`${BASE}/agents/new`}><Icon name="plus" size={16} />{w.agents.register}</a>
    </>}>
      {agents.value.length > 0 && (
        <ul class="cards">{agents.value.map(one => <Item key={one.id} agent={one} />)}</ul>
      )}
      {agents.value.length === 0 && (isLoading.value ? <p class="hint" role="status">{w.loading}</p> : <Nothing icon="bot" title={w.agents.none} text={w.agents.noneText} />)}
      {isRegistering && <RegisterAgent onClose={() => go("/agents", true)} onRoom={onRoom} />}
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
          {last && <span class="hint">{w.agents.lastSeen(since(last.at, now.value), last.reason)}</span>}
        </span>
      </a>
    </li>
  );
}

export function RegisterAgent({ onClose, onRoom }: { onClose: () => void; onRoom: (agent: Id) => void }) {
  const [registered, setRegistered] = useState<Registered | null>(null);
  const form = useConfirmedForm(async (data, password) => {
    const text = (name: string): string => String(data.get(name)).trim();
    setRegistered(await register(text("name"), text("description"), password));
  });
  if (registered) return <Secret registered={registered} isNew onClose={onClose} onRoom={() => { onClose(); onRoom(registered.agent.id); }} />;
  const fault = (field: string): string => faultOf(form.fault, field);
  const isPlaced = ["name", "description", "current_password"].some(field => fault(field));
  return (
    <Dialog title={w.registering.title} onClose={onClose}>
      <form onSubmit={form.submit}>
        <Field label={w.registering.name} hint={w.registering.nameHint} name="name" required maxLength={100} autocomplete="off" data-focus fault={fault("name")} />
        <Field label={w.registering.description} name="description" required maxLength={500} autocomplete="off" fault={fault("description")} />
        {form.password}
        <Fault text={form.fault && !isPlaced ? explain(form.fault) : ""} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>{w.cancel}</button>
          <button disabled={form.isBusy}>{w.registering.submit}</button>
        </footer>
      </form>
    </Dialog>
  );
}
