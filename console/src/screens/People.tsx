// Contacts: who they are, who wants to be one, and the directory of agents.

import { useEffect, useState } from "preact/hooks";
import { Somebody } from "../parts/Choose.tsx";
import { Dialog, Fault, refocus, typed, useConfirm, useForm } from "../parts/Dialog.tsx";
import { Field } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Nothing, Page, Section } from "../parts/Page.tsx";
import { Rows } from "../parts/Pages.tsx";
import { Time } from "../parts/Time.tsx";
import type { Id } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { agentOf, agents } from "../store/agents.ts";
import { answer, contacts, directory, load, received, remove, resolve, send, sent, type Answer, type Contact, type Listed, type Request } from "../store/contacts.ts";
import { complain, inform } from "../store/notices.ts";
import { user } from "../wire/session.ts";
import { w } from "../words.ts";

interface Wanted { name: string; handle: string; type: string; is_contact: boolean }

export function People({ onRoom }: { onRoom: (who: Id) => void }) {
  /** The recipient of a request; null until one is found. */
  const [asking, setAsking] = useState<{ wanted: Wanted | null } | null>(null);
  const [question, ask] = useConfirm();
  useEffect(load, []);
  const onRemove = ({ id, user: { name } }: Contact): void => ask({ deed: w.remove, name: visible(name), text: w.contacts.removeText, done: w.delivery.summary(visible(name), w.contacts.removed), run: () => remove(id) });
  return (
    <Page title={w.contacts.title} intro={w.contacts.intro} action={<button type="button" onClick={() => setAsking({ wanted: null })}><Icon name="user-plus" size={16} />{w.contacts.add}</button>}>
      {(received.rows.value.length > 0 || received.fault.value !== null) && (
        <Section title={w.contacts.received} intro={w.contacts.meaning}>
          <Rows list={received} row={one => <Asked key={one.id} request={one} isMine={false} />} />
        </Section>
      )}
      <Section title={w.contacts.contacts}>
        <Rows list={contacts} empty={<Nothing icon="users" title={w.contacts.none} text={w.contacts.noneText} />} row={one => <One key={one.id} contact={one} onRoom={onRoom} onRemove={onRemove} />} />
      </Section>
      {(sent.rows.value.length > 0 || sent.fault.value !== null) && (
        <Section title={w.contacts.sent}>
          <Rows list={sent} row={one => <Asked key={one.id} request={one} isMine />} />
        </Section>
      )}
      <Section title={w.contacts.directory} intro={w.contacts.directoryText}>
        <Rows list={directory} empty={<p class="hint">{w.contacts.directoryNone}</p>} row={one => <InDirectory key={one.handle} one={one} onAsk={() => setAsking({ wanted: one })} />} />
      </Section>
      {asking && <Ask wanted={asking.wanted} onClose={() => setAsking(null)} />}
      {question}
    </Page>
  );
}

function One({ contact, onRoom, onRemove }: { contact: Contact; onRoom: (who: Id) => void; onRemove: (contact: Contact) => void }) {
  const { contact_id: id, contact_type: type, online, user } = contact;
  const name = visible(user.name);
  const room = w.of(w.contacts.startRoom, name);
  const removal = w.of(w.remove, name);
  return (
    <li>
      <Somebody one={{ ...user, id, type, online }} />
      {user.email && <span class="hint">{visible(user.email)}</span>}
      <span class="deeds">
        <button type="button" class="quiet square" aria-label={room} title={room} onClick={() => onRoom(id)}><Icon name="message-square" size={16} /></button>
        <button type="button" class="quiet square" aria-label={removal} title={removal} onClick={() => onRemove(contact)}><Icon name="x" size={16} /></button>
      </span>
    </li>
  );
}

const stateOf = (status: string): string => w.contacts.states[status] ?? status;

/** A request that the caller sent, or that waits for the caller. */
function Asked({ request, isMine }: { request: Request; isMine: boolean }) {
  const [isBusy, setBusy] = useState(false);
  const { id, status, message, inserted_at, recipient } = request;
  const other = isMine ? { ...recipient, type: request.recipient_type } : { ...request.requester, type: request.requester_type };
  const name = visible(other.name);
  const button = (step: Answer, text: string) => (
    <button type="button" class={step === "approve" ? "small" : "plain small"} disabled={isBusy} aria-label={step === "cancel" ? w.contacts.to(text, name) : w.of(text, name)} onClick={() => {
      setBusy(true);
      answer(id, step).then(status => inform(w.delivery.summary(name, stateOf(status))), complain).finally(() => { setBusy(false); refocus(); });
    }}>{text}</button>
  );
  const state = isMine ? stateOf(status) : request.recipient_type === "Agent" ? w.contacts.toAgent(visible(agentOf(request.recipient_id)?.name ?? recipient.name)) : "";
  return (
    <li>
      <Somebody one={other} />
      <span class="hint">{state && `${state} · `}<Time at={inserted_at} /></span>
      {status === "pending" && (
        <span class="deeds">
          {isMine ? button("cancel", w.contacts.cancel) : <>{button("reject", w.contacts.reject)}{button("approve", w.contacts.accept)}</>}
        </span>
      )}
      {message && <p class="said" dir="auto">{visible(message)}</p>}
    </li>
  );
}

function InDirectory({ one, onAsk }: { one: Listed; onAsk: () => void }) {
  const isMine = agents.value.some(agent => agent.handle === one.handle);
  return (
    <li>
      <Somebody one={{ ...one, id: one.handle }} />
      {isMine || one.is_contact ? <span class="tag">{isMine ? w.people.yours : w.contacts.isContact}</span>
        : <button type="button" class="plain small" aria-label={w.contacts.to(w.contacts.send, visible(one.name))} onClick={onAsk}>{w.contacts.send}</button>}
      {one.description && <p class="hint" dir="auto">{visible(one.description)}</p>}
    </li>
  );
}

/** Looks a handle up, shows who that is, and sends the request. */
function Ask({ wanted, onClose }: { wanted: Wanted | null; onClose: () => void }) {
  const [found, setFound] = useState(wanted);
  const form = useForm(async data => {
    if (!found) return setFound(await resolve(typed(data, "handle")));
    const request = await send(found.handle, typed(data, "message"));
    inform(w.delivery.summary(visible(request.recipient.name), stateOf(request.status)));
    onClose();
  });
  // What had the focus is gone.
  useEffect(() => document.querySelector<HTMLElement>("dialog [data-focus]")?.focus(), [found]);
  const obstacle = found && (found.is_contact ? w.contacts.alreadyContact : found.handle === user.value?.handle && w.contacts.self);
  const fault = form.at(found ? "message" : "handle");
  return (
    <Dialog title={w.contacts.add} onClose={onClose}>
      <form onSubmit={form.submit}>
        {!found ? <Field label={w.handle} hint={w.contacts.handleHint} name="handle" required maxLength={200} autocomplete="off" autocapitalize="none" spellcheck={false} data-focus fault={fault} /> : (
          <>
            <p><Somebody one={{ ...found, id: found.handle }} /></p>
            <p class="hint" role="status">{obstacle || w.contacts.meaning}</p>
            {!obstacle && <Field label={w.contacts.message} name="message" maxLength={500} autocomplete="off" data-focus fault={fault} />}
          </>
        )}
        <Fault text={form.rest()} />
        <footer>
          <button type="button" class="plain" data-focus={obstacle ? true : undefined} onClick={found && !wanted ? () => setFound(null) : onClose}>{found && !wanted ? w.back : w.cancel}</button>
          {!obstacle && <button disabled={form.isBusy}>{found ? w.contacts.send : w.contacts.lookUp}</button>}
        </footer>
      </form>
    </Dialog>
  );
}
