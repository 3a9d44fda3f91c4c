// All organizations, what they use of their plans, and giving them others.

import { Bar, Confirm, Fragment, inform, level, Loading, number, passwordIn, Rows, Section, Select, Time, usePaged, useRead, useState, visible, w } from "../shared.ts";
import { size } from "../pure/throughput.ts";
import type { OrganizationInUseView, PlanView } from "../wire/api.ts";
import { renew } from "./Accounts.tsx";
import { assignPlan, organizations, plans } from "./read.ts";
import { words } from "./words.ts";

const WATCH_MS = 10_000;

export function Organizations() {
  const list = usePaged(organizations, [], WATCH_MS);
  const [chosen, choose] = useState<OrganizationInUseView | null>(null);
  return (
    <Section title={words.organizations} intro={words.organizationsText}>
      <Rows list={list} row={one => (
        <li key={one.id} class="house">
          <span class="facts">
            <b>{visible(one.name)}</b>
            <span class="hint">{words.members(one.members)} · {words.plan}: {visible(one.plan.name)}</span>
            {one.pause && <span class="alarm"><Time at={one.pause.since} text={words.pausedSince} />{one.pause.reason && `: ${visible(one.pause.reason)}`}</span>}
          </span>
          <dl class="quotas">
            {(["agents", "chats", "bytes"] as const).map(name => <Quota key={name} name={words.limits[name]} used={one.used[name]} limit={one.plan[name]} text={name === "bytes" ? size : number} />)}
          </dl>
          <button type="button" class="plain small" aria-label={w.of(words.changePlan, visible(one.name))} onClick={() => choose(one)}>{words.changePlan}</button>
        </li>
      )} />
      {chosen && <ChangePlan one={chosen} onClose={() => choose(null)} onDone={plan => renew(list, chosen.id, { plan })} />}
    </Section>
  );
}

function Quota({ name, used, limit, text }: { name: string; used: number; limit: number | null | undefined; text: (count: number) => string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{limit == null ? words.unlimited(text(used)) : <>{words.ofLimit(text(used), text(limit))}<Bar share={limit > 0 ? used / limit : 1} level={level(used, limit)} /></>}</dd>
    </div>
  );
}

function Limits({ of }: { of: PlanView }) {
  const limit = (count: number | null | undefined, text: (count: number) => string): string => (count == null ? w.noLimit : text(count));
  return (
    <dl class="limits">
      {(["agents", "chats", "participants", "messages", "bytes"] as const).map(name => (
        <Fragment key={name}><dt>{words.limits[name]}</dt><dd>{limit(of[name], name === "bytes" ? size : number)}</dd></Fragment>
      ))}
      <dt>{w.memories.title}</dt><dd>{w.organization.included(of.memories)}</dd>
    </dl>
  );
}

function ChangePlan({ one, onClose, onDone }: { one: OrganizationInUseView; onClose: () => void; onDone: (plan: PlanView) => void }) {
  const read = useRead(plans);
  const name = visible(one.name);
  const [chosen, choose] = useState(one.plan.name);
  const plan = read.value?.find(plan => plan.name === chosen);
  const submit = async (data: FormData): Promise<void> => {
    await assignPlan(one.id, plan!.name, passwordIn(data));
    onDone(plan!);
    inform(words.planDone(name, plan!.name));
  };
  return (
    <Confirm title={words.changePlanTitle(name)} text={words.changePlanText} submit={words.changePlan} isReady={plan !== undefined} onSubmit={submit} onClose={onClose}>
      <Loading of={read} />
      {read.value && <Select label={words.plan} value={chosen} onChange={choose} data-focus options={read.value.map(plan => [plan.name, words.planOf(plan.name, plan.organizations)])} />}
      {plan && <Limits of={plan} />}
    </Confirm>
  );
}
