// The caller's organization: its name, plan, and pause; the other tabs have files of their own.

import { useEffect, useState } from "preact/hooks";
import { Confirm, typed } from "../parts/Dialog.tsx";
import { Dot } from "../parts/Face.tsx";
import { Field } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Failed } from "../parts/Pages.tsx";
import { AskPause, AskResume } from "../parts/Paused.tsx";
import { Usage } from "../parts/Usage.tsx";
import { explain } from "../pure/errors.ts";
import { number } from "../pure/usage.ts";
import { visible } from "../pure/visible.ts";
import { since } from "../pure/when.ts";
import { agents } from "../store/agents.ts";
import { now } from "../store/now.ts";
import { inform } from "../store/notices.ts";
import { change, isAdmin, isAlone, leave, load, organization } from "../store/organization.ts";
import { BASE } from "../store/route.ts";
import type { OrganizationView } from "../wire/api.ts";
import { w } from "../words.ts";
import { Audit } from "./Audit.tsx";
import { Limits } from "./Limits.tsx";
import { Members } from "./Members.tsx";

const WATCH_MS = 10_000;

export function Organization({ tab }: { tab: string }) {
  const [fault, setFault] = useState("");
  const [isRenaming, setRenaming] = useState(false);
  const read = (): void => { load().then(() => setFault(""), (cause: unknown) => setFault(explain(cause))); };
  useEffect(() => {
    read();
    const timer = setInterval(() => { if (document.visibilityState === "visible") read(); }, WATCH_MS);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => { document.title = [tab && w.organization.tabs[tab], w.organization.title, w.app].filter(Boolean).join(" · "); }, [tab]);
  const one = organization.value;
  // What nobody but admins may read is not offered to others; who comes by a link is told why.
  const tabs = Object.keys(w.organization.tabs).filter(name => name === tab || (name === "usage" ? isAdmin.value && !isAlone.value : name !== "audit" || isAdmin.value));
  return (
    <main class="page" id="main">
      <header class="pagehead">
        <a class="backlink" href={`${BASE}/`} aria-label={w.back}><Icon name="chevron-left" /></a>
        <div><h1 tabIndex={-1}>{one ? visible(one.name) : w.organization.title}</h1>{one && <p class="hint">{w.organization.you(one.role)}</p>}</div>
        {one && isAdmin.value && tab === "" && <button type="button" class="plain" onClick={() => setRenaming(true)}><Icon name="pencil" size={16} />{w.organization.rename}</button>}
      </header>
      <nav class="tabs" aria-label={w.organization.title}>
        {tabs.map(name => <a key={name} href={`${BASE}/organization${name && `/${name}`}`} aria-current={name === tab ? "page" : undefined}>{w.organization.tabs[name]}</a>)}
      </nav>
      {!one && (fault ? <Failed text={fault} onRetry={read} /> : <p class="hint" role="status">{w.loading}</p>)}
      {/* Another organization or another role reads everything anew. */}
      {one && <Tab key={`${one.id} ${one.role}`} tab={tab} one={one} />}
      {one && isRenaming && <Rename one={one} onClose={() => setRenaming(false)} />}
    </main>
  );
}

function Tab({ tab, one }: { tab: string; one: OrganizationView }) {
  if (tab === "limits") return <Limits />;
  if (tab === "audit") return <Audit />;
  if (tab === "usage") return <section class="sheet"><p class="hint">{w.usage.introAll}</p><Usage ofAll groups={["agent", "owner", "room", "tree", "day", "model"]} /></section>;
  return <><State one={one} /><Members /><Plan one={one} />{!isAlone.value && <Leave />}</>;
}

function State({ one }: { one: OrganizationView }) {
  const [isAsking, setAsking] = useState(false);
  const { pause } = one;
  return (
    <section class="sheet">
      <h2>{w.organization.agentsState}</h2>
      <div class="now" role="status">
        <p class="presence"><Dot isOn={!pause} />{pause ? w.organization.paused(since(pause.since, now.value)) : w.organization.running}</p>
        {pause && <p class="hint">{visible(pause.reason)}</p>}
      </div>
      {isAdmin.value && (
        <div class="deeds">
          {pause
            ? <button type="button" onClick={() => setAsking(true)}><Icon name="play" size={16} />{w.organization.resume}</button>
            : <button type="button" class="plain danger" onClick={() => setAsking(true)}><Icon name="octagon-pause" size={16} />{w.organization.pause}</button>}
        </div>
      )}
      {isAsking && (pause ? <AskResume onClose={() => setAsking(false)} /> : <AskPause onClose={() => setAsking(false)} />)}
    </section>
  );
}

function Plan({ one: { plan } }: { one: OrganizationView }) {
  const words = w.organization;
  const limit = (count: number | null | undefined): string => (count == null ? words.noLimit : words.upTo(number(count)));
  return (
    <section class="sheet">
      <h2>{words.plan}</h2>
      <dl>
        <dt>{words.planName}</dt><dd>{visible(plan.name)}</dd>
        <dt>{words.agents}</dt><dd>{words.agentsOf(agents.value.length, limit(plan.agents), isAlone.value)}</dd>
        <dt>{words.chats}</dt><dd>{limit(plan.chats)}</dd>
        <dt>{words.participants}</dt><dd>{limit(plan.participants)}</dd>
        <dt>{words.messages}</dt><dd>{limit(plan.messages)}</dd>
        <dt>{words.bytes}</dt><dd>{plan.bytes == null ? words.noLimit : words.upTo(words.gigabytes((plan.bytes / 1e9).toLocaleString(undefined, { maximumSignificantDigits: 3 })))}</dd>
        <dt>{words.memories}</dt><dd>{words.included(plan.memories)}</dd>
      </dl>
    </section>
  );
}

function Leave() {
  const [isAsking, setAsking] = useState(false);
  const submit = async (): Promise<void> => {
    await leave();
    inform(w.organization.left(visible(organization.value?.name ?? "")));
  };
  return (
    <section class="sheet">
      <h2>{w.organization.leave}</h2>
      <div class="deeds"><button type="button" class="plain danger" onClick={() => setAsking(true)}><Icon name="log-out" size={16} />{w.organization.leave}</button></div>
      {isAsking && <Confirm title={w.organization.leave} text={w.organization.leaveText} submit={w.organization.leave} danger onSubmit={submit} onClose={() => setAsking(false)} />}
    </section>
  );
}

function Rename({ one: now, onClose }: { one: OrganizationView; onClose: () => void }) {
  const [one] = useState(now);
  return (
    <Confirm title={w.organization.rename} submit={w.save} fields={["name"]} onSubmit={data => change(one, { name: typed(data, "name") })} onClose={onClose}>
      {fault => <Field label={w.organization.name} name="name" required maxLength={100} defaultValue={one.name} data-focus fault={fault("name")} />}
    </Confirm>
  );
}
