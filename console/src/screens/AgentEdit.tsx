// What an agent is and may do, and the dialog that changes it.

import { useState } from "preact/hooks";
import { Confirm, typed, typedNumber } from "../parts/Dialog.tsx";
import { Field, Switch } from "../parts/Field.tsx";
import { Section } from "../parts/Page.tsx";
import { changed } from "../pure/usage.ts";
import { visible } from "../pure/visible.ts";
import { exact } from "../pure/when.ts";
import { change, type Agent, type Changes } from "../store/agents.ts";
import { w } from "../words.ts";
import { hasA2a } from "../wire/session.ts";

type Switches = [keyof typeof w.agentWork.switches, [label: string, hint: string]][];

const switches = (): Switches => (Object.entries(w.agentWork.switches) as Switches).filter(([name]) => name !== "a2a" || hasA2a.value);

export function About({ agent }: { agent: Agent }) {
  const words = w.agentWork;
  const card = `${location.origin}/a2a/${agent.id}/.well-known/agent-card.json`;
  return (
    <Section title={w.agentPage.about}>
      <dl>
        <dt>{w.agents.description}</dt><dd class="said" dir="auto">{visible(agent.description)}</dd>
        {agent.bio && <><dt>{words.bio}</dt><dd class="said" dir="auto">{visible(agent.bio)}</dd></>}
        {agent.tags.length > 0 && <><dt>{words.tags}</dt><dd>{visible(agent.tags.join(", "))}</dd></>}
        {agent.model_type && <><dt>{w.usage.groups.model}</dt><dd>{visible(agent.model_type)}</dd></>}
        <dt>{w.agents.created}</dt><dd><time dateTime={agent.inserted_at}>{exact(agent.inserted_at)}</time></dd>
        <dt>{w.agentPage.maxAttempts}</dt><dd>{agent.max_attempts ?? w.noLimit}</dd>
        <dt>{words.exclusive}</dt><dd>{agent.claims === "exclusive" ? words.on : words.off}</dd>
        {switches().map(([name, [label]]) => <><dt>{label}</dt><dd>{agent[name] ? words.on : words.off}</dd></>)}
        {agent.a2a && hasA2a.value && <><dt>{words.card}</dt><dd><a href={card} target="_blank">{card}</a></dd></>}
      </dl>
    </Section>
  );
}

export function EditAgent({ agent: now, onClose }: { agent: Agent; onClose: () => void }) {
  const words = w.agentWork;
  // As it was when the dialog opened: what others change meanwhile is not undone, and what was not changed here is not sent.
  const [agent] = useState(now);
  const texts = { name: agent.name, description: agent.description, bio: agent.bio ?? "", model_type: agent.model_type ?? "", tags: agent.tags.join("\n") };
  const lines = (text: string): string => text.replace(/\r\n?/g, "\n").trim();
  const save = async (data: FormData): Promise<void> => {
    const wanted = changed<Changes>(agent as Changes, { max_attempts: typedNumber(data, "max_attempts"), claims: data.has("exclusive") ? "exclusive" : "shared", ...Object.fromEntries(switches().map(([name]) => [name, data.has(name)])) });
    for (const name of Object.keys(texts) as (keyof typeof texts)[]) {
      const text = lines(typed(data, name));
      if (text !== lines(texts[name])) Object.assign(wanted, { [name]: name === "tags" ? text.split("\n").map(one => one.trim()).filter(Boolean) : text || null });
    }
    if (Object.keys(wanted).length > 0) await change(agent.id, wanted);
  };
  return (
    <Confirm title={w.agentPage.edit} submit={w.save} wide onSubmit={save} onClose={onClose}>
      {fault => (
        <>
          <Field label={w.agents.name} name="name" required maxLength={100} defaultValue={texts.name} data-focus fault={fault("name")} />
          <Field label={w.agents.description} name="description" rows={3} required maxLength={500} defaultValue={texts.description} fault={fault("description")} />
          <Field label={words.bio} name="bio" rows={4} maxLength={2000} defaultValue={texts.bio} fault={fault("bio")} />
          <Field label={words.tags} hint={words.tagsHint} name="tags" rows={3} defaultValue={texts.tags} fault={fault("tags")} />
          <Field label={w.usage.groups.model} hint={words.modelHint} name="model_type" maxLength={100} defaultValue={texts.model_type} fault={fault("model_type")} />
          <Field label={w.agentPage.maxAttempts} hint={w.agentPage.maxAttemptsHint} name="max_attempts" type="number" min={1} max={1000} defaultValue={agent.max_attempts ?? ""} fault={fault("max_attempts")} />
          <Switch name="exclusive" label={words.exclusive} hint={words.exclusiveHint} defaultChecked={agent.claims === "exclusive"} />
          <fieldset>
            <legend>{words.access}</legend>
            {switches().map(([name, [label, hint]]) => <Switch key={name} name={name} label={label} hint={hint} defaultChecked={agent[name]} />)}
          </fieldset>
        </>
      )}
    </Confirm>
  );
}
