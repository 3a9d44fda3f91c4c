// The caller's organization: its name, plan, and pause; the other tabs have files of their own.

import { useState } from "preact/hooks";
import { Confirm, typed, useConfirm } from "../parts/Dialog.tsx";
import { Dot } from "../parts/Face.tsx";
import { Field } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Page, Section, Tabs } from "../parts/Page.tsx";
import { Loading, useRead } from "../parts/Pages.tsx";
import { AskPause, AskResume } from "../parts/Paused.tsx";
import { Usage } from "../parts/Usage.tsx";
import { number } from "../pure/usage.ts";
import { visible } from "../pure/visible.ts";
import { since } from "../pure/when.ts";
import { agents } from "../store/agents.ts";
import { now } from "../store/now.ts";
import { inform } from "../store/notices.ts";
import { change, isAdmin, isAlone, leave, load, organization } from "../store/organization.ts";
import type { OrganizationView } from "../wire/api.ts";
import { hasWebhooks } from "../wire/session.ts";
import { w } from "../words.ts";
import { LaterSection } from "./LaterSection.tsx";
import { Audit } from "./Audit.tsx";
import { Limits } from "./Limits.tsx";
import { Members } from "./Members.tsx";

const WATCH_MS = 10_000;

export function Organization({ tab }: { tab: string }) {
  const [isRenaming, setRenaming] = useState(false);
  const read = useRead(load, [], WATCH_MS);
  const one = organization.value;
  // Tabs for admins are hidden from others. Whoever follows a link to one sees why it is refused.
  const tabs = Object.keys(w.organization.tabs).filter(name => name === tab || (name === "usage" ? isAdmin.value && !isAlone.value : name !== "audit" || isAdmin.value));
  return (
    <Page title={one ? visible(one.name) : w.organization.title} name={[tab && w.organization.tabs[tab], w.organization.title].filter(Boolean).join(" · ")} intro={one && w.organization.you(one.role)}
      action={one && isAdmin.value && tab === "" && <button type="button" class="plain" onClick={() => setRenaming(true)}><Icon name="pencil" size={16} />{w.organization.rename}</button>}>
      <Tabs label={w.organization.title} tabs={tabs.map(name => [`/organization${name && `/${name}`}`, w.organization.tabs[name]!, name === tab])} />
      {/* In another organization or role, everything is read again. */}
      {one ? <Tab key={`${one.id} ${one.role}`} tab={tab} one={one} /> : <Loading of={read} />}
      {one && isRenaming && <Rename one={one} onClose={() => setRenaming(false)} />}
    </Page>
  );
}

function Tab({ tab, one }: { tab: string; one: OrganizationView }) {
  if (tab === "limits") return <Limits />;
  if (tab === "audit") return <Audit />;
  if (tab === "usage") return <section class="sheet"><p class="hint">{w.usage.introAll}</p><Usage ofAll groups={["agent", "owner", "room", "tree", "day", "model"]} /></section>;
  return (
    <>
      <State one={one} /><Members /><Plan one={one} />
      {isAdmin.value && hasWebhooks.value && <LaterSection title={w.agentPage.webhook}>{({ Webhook }) => <Webhook agent={null} />}</LaterSection>}
      {!isAlone.value && <Leave />}
    </>
  );
}

function State({ one: { pause } }: { one: OrganizationView }) {
  const [isAsking, setAsking] = useState(false);
  return (
    <Section title={w.agents.title} action={isAdmin.value && (
      <button type="button" class={pause ? "" : "plain danger"} onClick={() => setAsking(true)}><Icon name={pause ? "play" : "octagon-pause"} size={16} />{pause ? w.organization.resume : w.organization.pause}</button>
    )}>
      <div class="now" role="status">
        <p class="presence"><Dot isOn={!pause} />{pause ? w.organization.paused(since(pause.since, now.value)) : w.organization.running}</p>
        {pause && <p class="hint">{visible(pause.reason)}</p>}
      </div>
      {isAsking && (pause ? <AskResume onClose={() => setAsking(false)} /> : <AskPause onClose={() => setAsking(false)} />)}
    </Section>
  );
}

function Plan({ one: { plan, used } }: { one: OrganizationView }) {
  const words = w.organization;
  const gigabytes = (bytes: number): string => words.gigabytes((bytes / 1e9).toLocaleString(undefined, { maximumSignificantDigits: 3 }));
  const beside = (amount: number | undefined, shown: (amount: number) => string, limit: string): string => (amount === undefined ? limit : words.usedOf(shown(amount), limit));
  const limit = (count: number | null | undefined): string => (count == null ? w.noLimit : words.upTo(number(count)));
  return (
    <Section title={words.plan}>
      <dl>
        <dt>{words.plan}</dt><dd>{visible(plan.name)}</dd>
        <dt>{w.agents.title}</dt><dd>{used ? words.usedOf(number(used.agents), limit(plan.agents)) : words.agentsOf(agents.value.length, limit(plan.agents))}</dd>
        <dt>{w.nav.rooms}</dt><dd>{beside(used?.chats, number, limit(plan.chats))}</dd>
        <dt>{words.participants}</dt><dd>{limit(plan.participants)}</dd>
        <dt>{words.messages}</dt><dd>{limit(plan.messages)}</dd>
        <dt>{words.bytes}</dt><dd>{beside(used?.bytes, gigabytes, plan.bytes == null ? w.noLimit : words.upTo(gigabytes(plan.bytes)))}</dd>
        <dt>{w.memories.title}</dt><dd>{words.included(plan.memories)}</dd>
      </dl>
    </Section>
  );
}

function Leave() {
  const [question, ask] = useConfirm();
  const run = async (): Promise<void> => {
    await leave();
    inform(w.organization.left(visible(organization.value?.name ?? "")));
  };
  return (
    <Section title={w.organization.leave} action={
      <button type="button" class="plain danger" onClick={() => ask({ deed: w.organization.leave, text: w.organization.leaveText, run })}><Icon name="log-out" size={16} />{w.organization.leave}</button>
    }>{question}</Section>
  );
}

function Rename({ one: now, onClose }: { one: OrganizationView; onClose: () => void }) {
  const [one] = useState(now);
  return (
    <Confirm title={w.organization.rename} submit={w.save} onSubmit={data => change(one, { name: typed(data, "name") })} onClose={onClose}>
      {fault => <Field label={w.agents.name} name="name" required maxLength={100} defaultValue={one.name} data-focus fault={fault("name")} />}
    </Confirm>
  );
}
