// The webhook of an agent or of the organization: its state, its deliveries, and what its owner or an admin can change.

import type { ComponentChildren } from "preact";
import {
  ApiError, BASE, complain, Confirm, Dot, Field, find as findRoom, Icon, inform, Loading, now, refocus, roomOf, Rows, Section, ShownOnce, since, StateSign, Switch, Time, typed, useConfirm, useEffect, usePaged, useRead, useRef, useState,
  visible, w,
} from "../shared.ts";
import { disabledAfter, latest, SIGNS, stageOf } from "../pure/webhook.ts";
import type { Paged } from "../store/paged.ts";
import { deliveries, enable, find, remove, resend, rotate, set, type Changed, type Owner, type Sent, type Webhook as Shown } from "./webhook.ts";
import { words } from "./webhookwords.ts";

const WATCH_MS = 5000;

export function Webhook({ agent }: { agent: Owner }) {
  // Nothing is followed while there is none.
  const [isSet, setIsSet] = useState(false);
  const read = useRead(() => find(agent), [agent, isSet], isSet ? WATCH_MS : 0);
  const [asking, setAsking] = useState<"url" | "rotate" | null>(null);
  const [secret, setSecret] = useState<{ title: string; text: string } | null>(null);
  const [question, ask] = useConfirm();
  const webhook = read.value?.webhook ?? null;
  useEffect(() => setIsSet(webhook !== null), [webhook]);
  const close = (): void => setAsking(null);
  const take = (title: string, { webhook, secret: text }: Changed): void => {
    read.set({ webhook });
    // Closed before the secret is shown, so that the focus returns to what opened it.
    close();
    if (text) setSecret({ title, text });
  };
  const onEnable = (): void => ask({ deed: words.enable, title: words.enableTitle, text: words.enableText, danger: false, done: words.enabled, run: async () => read.set({ webhook: await enable(agent) }) });
  const onRemove = (): void => ask({ deed: words.remove, text: said(agent).removeText, done: words.removed, run: async () => { await remove(agent); read.set({ webhook: null }); } });
  return (
    <Section title={w.agentPage.webhook} action={read.value && <button type="button" class="plain" onClick={() => setAsking("url")}><Icon name={webhook ? "pencil" : "plus"} size={16} />{webhook ? words.change : words.set}</button>}>
      <Loading of={read} />
      {read.value && !webhook && <p class="hint">{said(agent).none}</p>}
      {webhook && (
        <Inside agent={agent} webhook={webhook}>
          {webhook.status === "disabled" && <button type="button" onClick={onEnable}><Icon name="play" size={16} />{words.enable}</button>}
          <button type="button" class="plain" onClick={() => setAsking("rotate")}><Icon name="key-round" size={16} />{words.rotate}</button>
          <button type="button" class="plain danger" onClick={onRemove}><Icon name="trash" size={16} />{words.remove}</button>
        </Inside>
      )}
      {asking === "url" && <SetUrl agent={agent} webhook={webhook} onDone={changed => take(words.isSet, changed)} onClose={close} />}
      {asking === "rotate" && (
        <Confirm title={words.rotate} text={words.rotateText} submit={words.rotate} onSubmit={async data => take(words.rotated, await rotate(agent, data.has("revoke")))} onClose={close}>
          <Switch label={words.revoke} hint={words.revokeHint} name="revoke" data-focus />
        </Confirm>
      )}
      {secret && (
        <ShownOnce title={secret.title} secret={secret.text} label={words.secret} what={words.what} once={words.once} onClose={() => setSecret(null)}>
          {() => <p class="hint">{words.use}</p>}
        </ShownOnce>
      )}
      {question}
    </Section>
  );
}

const said = (agent: Owner) => (agent ? words : words.ofOrganization);

function SetUrl({ agent, webhook: current, onDone, onClose }: { agent: Owner; webhook: Shown | null; onDone: (changed: Changed) => void; onClose: () => void }) {
  // As it was when the dialog opened.
  const [webhook] = useState(current);
  const isLost = useRef(false);
  const submit = async (data: FormData): Promise<void> => {
    let changed = await set(agent, typed(data, "url"), typed(data, "events").split(/[\s,]+/).filter(Boolean)).catch((cause: unknown) => {
      isLost.current ||= cause instanceof ApiError && cause.isTemporary;
      throw cause;
    });
    // The answer with the secret was lost, so nobody has seen it.
    if (!webhook && !changed.secret && isLost.current) changed = await rotate(agent);
    if (!changed.secret) inform(words.changed);
    onDone(changed);
  };
  return (
    <Confirm title={webhook ? words.change : words.set} submit={webhook ? w.save : words.set} onSubmit={submit} onClose={onClose}>
      {fault => (
        <>
          <Field label={words.url} hint={said(agent).urlHint} name="url" type="url" required maxLength={2000} autocomplete="off" spellcheck={false} placeholder="https://" defaultValue={webhook?.url ?? ""} data-focus fault={fault("url")} />
          {!agent && <Field label={words.events} hint={words.eventsHint} name="events" autocomplete="off" spellcheck={false} defaultValue={webhook?.events?.join(" ") ?? ""} fault={fault("events")} />}
        </>
      )}
    </Confirm>
  );
}

function Inside({ agent, webhook, children }: { agent: Owner; webhook: Shown; children: ComponentChildren }) {
  const list = usePaged<Sent, {}>(cursor => deliveries(agent, cursor), [agent], WATCH_MS);
  const rows = list.rows.value;
  const success = latest(rows, true);
  const failure = latest(rows, false);
  const { inserted_at, previous_secret_valid_until: until } = webhook;
  return (
    <>
      <Standing webhook={webhook} text={said(agent).disabledText} />
      <dl>
        <dt>{words.url}</dt><dd><code>{visible(webhook.url)}</code></dd>
        {webhook.events && <><dt>{words.events}</dt><dd>{webhook.events.join(" ") || words.allEvents}</dd></>}
        {success && <><dt>{words.success}</dt><dd><Time at={success} /></dd></>}
        {failure && <><dt>{words.failure}</dt><dd><Time at={failure} /></dd></>}
        <dt>{words.created}</dt><dd><Time at={inserted_at} /></dd>
        {until && <><dt>{words.previous}</dt><dd><Time at={until} text={words.previousUntil} /></dd></>}
      </dl>
      <div class="deeds">{children}</div>
      <h3>{words.deliveries}</h3>
      <Rows list={list} empty={<p class="hint">{words.noDeliveries}</p>} row={one => <Delivery key={one.id} agent={agent} one={one} isOn={webhook.status !== "disabled"} list={list} />} />
    </>
  );
}

function Standing({ webhook, text: next }: { webhook: Shown; text: string }) {
  const { status, failing_since: failing, disabled_at: at, disabled_reason: reason } = webhook;
  const end = disabledAfter(webhook);
  const text = words.statuses[status] ?? status;
  return (
    <div class="now" role="status">
      {status === "active" ? <p class="presence"><Dot isOn />{text}</p>
        : <p class={status === "disabled" ? "alarm over" : "alarm"}><Icon name={status === "disabled" ? "circle-x" : "triangle-alert"} size={16} />{text}</p>}
      {end && <p><Time at={failing!} text={words.failing} /> {Date.parse(end) > now.value ? <Time at={end} text={words.disabledAfter} /> : words.disabledSoon}</p>}
      {at && <p><Time at={at} text={words.disabled} /> {reason && (words.reasons[reason] ?? visible(reason))} {next}</p>}
    </div>
  );
}

function Delivery({ agent, one, isOn, list }: { agent: Owner; one: Sent; isOn: boolean; list: Paged<Sent, {}> }) {
  const [isBusy, setBusy] = useState(false);
  const { id, last_status: status, last_error: error, next_attempt_at: next } = one;
  const chat = one.event ? "" : one.chat_room_id;
  const room = roomOf(chat);
  // The list of rooms is read in pages, so this one may not be in it yet.
  useEffect(() => { if (chat && !room) void findRoom(chat).catch(() => undefined); }, [chat]);
  const title = one.event ?? visible(room?.title ?? w.room.untitled);
  const stage = stageOf(one);
  const at = one.last_attempt_at ?? one.inserted_at;
  // Once the list is long, it may not say that the request is over.
  const isOff = isBusy || (stage === "sending" && !list.isLong);
  const press = (): void => {
    if (isOff) return;
    setBusy(true);
    resend(agent, id).then(row => { list.patch(id, row); inform(words.resent); }, complain).finally(() => { setBusy(false); refocus(); });
  };
  const facts = [<Time at={at} />, one.attempts > 0 && words.attempts(one.attempts), status != null && words.http(status), error && visible(error), next && isOn && stage !== "working" && <Time at={next} text={words.next} />];
  return (
    <li>
      <span class="names">
        <span class={stage === "failed" ? "name failed" : "name"}><StateSign state={SIGNS[stage]} /> {words.stages[stage] ?? stage}</span> {one.event ?? <>{w.agentWork.in} <a href={`${BASE}/rooms/${chat}?at=${one.message_id}`}>{title}</a></>}
        <span class="hint">{facts.filter(Boolean).map((fact, place) => <>{place > 0 && " · "}{fact}</>)}</span>
      </span>
      {isOn && <button type="button" class="plain small" aria-disabled={isOff} aria-label={w.of(words.resend, said(agent).resendOf(title, since(at, now.value)))} onClick={press}>{words.resend}</button>}
    </li>
  );
}
