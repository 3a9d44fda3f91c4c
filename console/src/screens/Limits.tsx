// What the organization limits: how many messages and tokens are used, replies in a row, and messages from elsewhere.

import { useState } from "preact/hooks";
import { Confirm, typedNumber } from "../parts/Dialog.tsx";
import { Field, Segments } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Section } from "../parts/Page.tsx";
import { Loading, useRead } from "../parts/Pages.tsx";
import { Bar } from "../parts/Usage.tsx";
import { changed, day, level, number, percent, tokens } from "../pure/usage.ts";
import { visible } from "../pure/visible.ts";
import { budgets, change, isAdmin, organization, setBudgets, type Budget, type Rules } from "../store/organization.ts";
import { usage } from "../store/usage.ts";
import type { BudgetsView, OrganizationView, UsageView } from "../wire/api.ts";
import { w } from "../words.ts";

const SCOPES = ["tree", "room", "agent", "organization"] as const;
const KINDS = ["messages", "tokens"] as const;
const WATCH_MS = 20_000;
type Top = { [one in Budget]?: UsageView | undefined };

/** The agent and the room that have used the most tokens today, where a budget is set. */
async function tops(amounts: BudgetsView): Promise<Top> {
  const top = async (group: "agent" | "room"): Promise<UsageView | undefined> => amounts[`${group}_tokens`] == null ? undefined
    : (await usage(true, { group_by: group, since: day(Date.now()), limit: 1 })).data[0];
  const [agent_tokens, room_tokens] = await Promise.all([top("agent"), top("room")]);
  return { agent_tokens, room_tokens };
}

export function Limits() {
  const [asking, setAsking] = useState<"budgets" | "rules" | null>(null);
  const read = useRead(budgets, [], WATCH_MS);
  const words = w.organization;
  const amounts = read.value;
  const close = (): void => setAsking(null);
  return (
    <>
      <Section title={words.budgets} intro={words.budgetsText} action={amounts && isAdmin.value && <button type="button" class="plain" onClick={() => setAsking("budgets")}><Icon name="pencil" size={16} />{words.budgetsEdit}</button>}>
        <Loading of={read} />
        {amounts && <Table amounts={amounts} />}
      </Section>
      <RuleSheet one={organization.value!} onEdit={() => setAsking("rules")} />
      {asking === "budgets" && amounts && <SetBudgets amounts={amounts} onDone={read.set} onClose={close} />}
      {asking === "rules" && <SetRules one={organization.value!} onClose={close} />}
    </>
  );
}

function Table({ amounts }: { amounts: BudgetsView }) {
  const words = w.organization;
  const top = useRead(async (): Promise<Top> => (isAdmin.value ? tops(amounts) : {}), [amounts]).value ?? {};
  const { used_today: used } = amounts;
  const hasSome = SCOPES.some(scope => KINDS.some(kind => amounts[`${scope}_${kind}`] != null));
  return (
    <>
      <table class="sums">
        <caption class="vh">{words.budgets}</caption>
        <thead><tr><th scope="col">{words.scope}</th>{KINDS.map(kind => <th key={kind} scope="col">{words.kinds[kind]}</th>)}</tr></thead>
        <tbody>
          {SCOPES.map(scope => (
            <tr key={scope}>
              <th scope="row">{words.scopes[scope]}</th>
              {KINDS.map(kind => {
                const name: Budget = `${scope}_${kind}`;
                const amount = amounts[name];
                const most = top[name];
                return (
                  <td key={kind}>
                    {amount == null ? <span class="hint">{w.noLimit}</span> : number(amount)}
                    {amount != null && scope === "organization" && <Level used={used[kind]} amount={amount} text={words.used(number(used[kind]), number(amount))} />}
                    {amount != null && most && <Level used={tokens(most)} amount={amount} text={words.most(visible(most.name ?? w.usage.unknown[scope === "room" ? "room" : "agent"]), number(tokens(most)))} />}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="hint">{words.usedToday(number(used.messages), number(used.tokens))}{!hasSome && ` ${words.notCounted}`}</p>
    </>
  );
}

function Level({ used, amount, text }: { used: number; amount: number; text: string }) {
  const now = level(used, amount);
  const word = w.organization.levels[now];
  return (
    <>
      <Bar share={used / amount} level={now} />
      <span class="hint">{text} ({w.organization.percent(percent(used, amount))})</span>
      {word && <span class={`alarm ${now}`}><Icon name={now === "over" ? "circle-x" : "triangle-alert"} size={14} />{word}</span>}
    </>
  );
}

function SetBudgets({ amounts: now, onDone, onClose }: { amounts: BudgetsView; onDone: (next: BudgetsView) => void; onClose: () => void }) {
  const words = w.organization;
  const [amounts] = useState(now);
  const names = SCOPES.flatMap(scope => KINDS.map((kind): [Budget, string] => [`${scope}_${kind}`, words.budgetLabel(words.scopes[scope], words.kinds[kind])]));
  const save = async (data: FormData): Promise<void> => {
    const wanted = changed<{ [one in Budget]?: number | null }>(amounts, Object.fromEntries(names.map(([name]) => [name, typedNumber(data, name)])));
    if (Object.keys(wanted).length > 0) onDone(await setBudgets(wanted));
  };
  return (
    <Confirm title={words.budgetsEdit} text={words.budgetsHint} submit={w.save} wide onSubmit={save} onClose={onClose}>
      {fault => (
        <div class="pairs">
          {names.map(([name, label], index) => (
            <Field key={name} label={label} name={name} type="number" min={1} max={Number.MAX_SAFE_INTEGER} defaultValue={amounts[name] ?? ""} fault={fault(name)} data-focus={index === 0 || undefined} />
          ))}
        </div>
      )}
    </Confirm>
  );
}

const limit = (count: number | null | undefined): string =>
  count == null ? w.organization.byServer : count === 0 ? w.noLimit : number(count);

function RuleSheet({ one, onEdit }: { one: OrganizationView; onEdit: () => void }) {
  const words = w.organization;
  return (
    <Section title={words.rules} action={isAdmin.value && <button type="button" class="plain" onClick={onEdit}><Icon name="pencil" size={16} />{words.rulesEdit}</button>}>
      <dl>
        <dt>{words.foreign}</dt><dd>{words.foreigns[one.foreign] ?? one.foreign}<p class="hint">{words.foreignTexts[one.foreign]}</p></dd>
        <dt>{words.hops}</dt><dd>{limit(one.max_hops)}</dd>
        <dt>{words.pair}</dt><dd>{limit(one.max_pair_messages)}</dd>
      </dl>
    </Section>
  );
}

function SetRules({ one: now, onClose }: { one: OrganizationView; onClose: () => void }) {
  const words = w.organization;
  const [one] = useState(now);
  const [foreign, setForeign] = useState(one.foreign);
  const save = (data: FormData): Promise<void> =>
    change(one, { foreign: foreign as NonNullable<Rules["foreign"]>, max_hops: typedNumber(data, "max_hops"), max_pair_messages: typedNumber(data, "max_pair_messages") });
  return (
    <Confirm title={words.rulesEdit} submit={w.save} onSubmit={save} onClose={onClose}>
      {fault => (
        <>
          <Segments label={words.foreign} name="foreign" options={words.foreigns} value={foreign} onChange={setForeign} />
          <p class="hint" role="status">{words.foreignTexts[foreign]}</p>
          <p class="hint">{words.foreignHint}</p>
          <Field label={words.hops} hint={words.hopsHint} name="max_hops" type="number" min={0} max={1_000_000} defaultValue={one.max_hops ?? ""} fault={fault("max_hops")} data-focus />
          <Field label={words.pair} hint={words.pairHint} name="max_pair_messages" type="number" min={0} max={10_000} defaultValue={one.max_pair_messages ?? ""} fault={fault("max_pair_messages")} />
        </>
      )}
    </Confirm>
  );
}
