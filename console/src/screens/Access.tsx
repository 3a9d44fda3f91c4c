// Sections of the settings: the password, API keys, and sessions.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Confirm, Fault, passwordIn, typed, useConfirm, useForm } from "../parts/Dialog.tsx";
import { Field, Select, Switch } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Section } from "../parts/Page.tsx";
import { Loading, Rows, useRead } from "../parts/Pages.tsx";
import { ShownOnce } from "../parts/Secret.tsx";
import { Time } from "../parts/Time.tsx";
import { visible } from "../pure/visible.ts";
import { since } from "../pure/when.ts";
import { createKey, endOthers, endSession, keys, revoke, sessions, type Key } from "../store/access.ts";
import { agentOf, agents } from "../store/agents.ts";
import { inform } from "../store/notices.ts";
import { now } from "../store/now.ts";
import { roomOf, rooms } from "../store/rooms.ts";
import type { CreatedKeyView } from "../wire/api.ts";
import { keyFor } from "../wire/call.ts";
import { changePassword, user } from "../wire/session.ts";
import { w } from "../words.ts";

export function Password() {
  const box = useRef<HTMLFormElement>(null);
  const form = useForm(async data => {
    await changePassword(String(data.get("current")), String(data.get("new")));
    inform(w.access.passwordChanged);
    box.current?.reset();
  });
  const field = { type: "password", required: true, maxLength: 256 } as const;
  return (
    <Section title={w.access.password} intro={w.access.passwordText}>
      <form onSubmit={form.submit} class="narrow" ref={box}>
        <input type="hidden" name="username" autocomplete="username" value={user.value!.handle} />
        <Field {...field} label={w.access.currentPassword} name="current" autocomplete="current-password" fault={form.at("current_password")} />
        <Field {...field} label={w.password.new} hint={w.password.hint} name="new" minLength={10} autocomplete="new-password" fault={form.at("new_password")} />
        <Fault text={form.rest()} />
        <button class="plain" aria-disabled={form.isBusy}>{w.access.changePassword}</button>
      </form>
    </Section>
  );
}

const nameOf = (key: Key): string => visible(key.name ?? w.access.unnamed);

/** A thing that can be ended: its name, facts, and the button. */
function Line({ name, tags, facts, deed, label, onDeed }: { name: ComponentChildren; tags: (string | false | null | undefined)[]; facts: ComponentChildren[]; deed?: string; label: string; onDeed: () => void }) {
  return (
    <li>
      <span class="names">
        <span class="name">{name}</span> {tags.map(tag => tag && <span key={tag} class="tag">{tag}</span>)}
        <span class="hint">{facts.map((one, at) => <>{at > 0 && " · "}{one}</>)}</span>
      </span>
      {deed && <button type="button" class="plain small danger" aria-label={label} onClick={onDeed}>{deed}</button>}
    </li>
  );
}

export function Keys() {
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedKeyView | null>(null);
  const [question, ask] = useConfirm();
  useEffect(() => { void keys.load(); }, []);
  const row = (one: Key) => {
    const { id, prefix, expires_at: end, last_used_at: used, chat_id: room, agent_id: agent } = one;
    const name = nameOf(one);
    return (
      <Line key={id} name={name} tags={[one.read_only && w.access.readOnly, room && w.access.onlyRoom(roomOf(room)?.title), agent && w.access.onlyAgent(agentOf(agent)?.name)].map(tag => tag && visible(tag))}
        facts={[...(prefix ? [`${prefix}…`] : []), used ? <Time at={used} text={w.access.lastUsed} /> : w.access.neverUsed, <Time at={one.inserted_at} text={w.access.created} />, !end ? w.access.noExpiry : <Time at={end} text={Date.parse(end) <= now.value ? w.access.expired : w.access.expires} />]}
        deed={w.access.revoke} label={w.of(w.access.revoke, name)}
        onDeed={() => ask({ deed: w.access.revoke, name, text: w.access.revokeText, done: w.delivery.summary(name, w.access.revoked), run: () => revoke(id) })} />
    );
  };
  return (
    <Section title={w.access.keys} intro={w.access.keysText} action={<button type="button" class="plain" onClick={() => setCreating(true)}><Icon name="plus" size={16} />{w.access.newKey}</button>}>
      <Rows list={keys} empty={<p class="hint">{w.access.noKeys}</p>} row={row} />
      {isCreating && <CreateKey onClose={() => setCreating(false)} onDone={setCreated} />}
      {created && (
        <ShownOnce title={w.access.keyDone(nameOf(created.api_key))} secret={created.credentials.api_key} onClose={() => setCreated(null)}>
          {() => <p class="hint">{w.access.keyUse}</p>}
        </ShownOnce>
      )}
      {question}
    </Section>
  );
}

function CreateKey({ onClose, onDone }: { onClose: () => void; onDone: (created: CreatedKeyView) => void }) {
  const sent = useRef({});
  const submit = async (data: FormData): Promise<void> => {
    const day = typed(data, "expires");
    const wanted = {
      name: typed(data, "name"),
      read_only: data.has("read_only"),
      // Until the end of the day here; empty choices are no limits.
      expires_at: day ? new Date(`${day}T23:59:59`).toISOString() : null,
      chat_id: typed(data, "room") || null,
      agent_id: typed(data, "agent") || null,
    };
    onDone(await createKey(keyFor(sent.current, wanted), { ...wanted, current_password: passwordIn(data) || null }));
  };
  const limit = (list: { id: string; name: string }[]) => [["", w.noLimit], ...list.map(one => [one.id, visible(one.name)])] as [string, string][];
  return (
    <Confirm title={w.access.newKey} submit={w.access.create} onSubmit={submit} onClose={onClose}>
      {fault => (
        <>
          <Field label={w.agents.name} name="name" required maxLength={100} autocomplete="off" data-focus fault={fault("name")} />
          <Field label={w.access.expiresAt} hint={w.access.expiresHint} name="expires" type="date" fault={fault("expires_at")} />
          <Select label={w.access.limitRoom} name="room" options={limit(rooms.value.map(one => ({ id: one.id, name: one.title })))} />
          <Select label={w.access.limitAgent} name="agent" options={limit(agents.value)} />
          <Switch label={w.access.mayOnlyRead} name="read_only" />
        </>
      )}
    </Confirm>
  );
}

export function Sessions() {
  const read = useRead(sessions);
  const [question, ask] = useConfirm();
  const list = read.value;
  const time = (instant: string): string => since(instant, now.value);
  const end = (deed: string, text: string, done: string, run: () => Promise<unknown>, title?: string) => () => ask({ deed, text, done, run: () => run().finally(read.again), ...(title ? { title } : {}) });
  return (
    <>
      <Loading of={read} />
      <ul class="lines">
        {list?.map(one => (
          <Line key={one.id} name={<Time at={one.inserted_at} text={w.access.session} />} tags={[one.is_current && w.access.current]}
            facts={[<Time at={one.last_used_at} text={w.access.lastUsed} />, <Time at={one.expires_at} text={w.access.endsAt} />]}
            {...(one.is_current ? {} : { deed: w.access.end })} label={w.access.endFrom(time(one.inserted_at))}
            onDeed={end(w.access.end, w.access.endText, w.access.ended, () => endSession(one.id), `${w.access.endFrom(time(one.inserted_at))}?`)} />
        ))}
      </ul>
      {list?.some(one => !one.is_current) && <div class="deeds"><button type="button" class="plain small danger" onClick={end(w.access.endOthers, w.access.endOthersText, w.access.endedOthers, endOthers)}>{w.access.endOthers}</button></div>}
      {question}
    </>
  );
}
