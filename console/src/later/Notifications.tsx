// The notification channels of the user, and what was sent on them.

import {
  call, complain, Confirm, Dot, Field, Icon, inform, Loading, refocus, Rows, Section, Select, ShownOnce, Switch, Time, typed, useConfirm, useMemo, usePaged, useRead, useState, visible, w,
} from "../shared.ts";
import type { NotificationChannelView, NotificationView } from "../wire/api.ts";
import { notifications as words } from "./notificationwords.ts";
import { subscribe } from "./webpush.ts";

type Channel = NotificationChannelView;
type Kind = "email" | "ntfy" | "web_push" | "webhook";
type Content = "none" | "title" | "excerpt";

const WATCH_MS = 5000;

export function Notifications() {
  const read = useRead(async () => (await call("listNotificationChannels", {})).data, [], WATCH_MS);
  const log = usePaged<NotificationView, {}>(cursor => call("listNotifications", { query: { limit: 10, ...(cursor ? { cursor } : {}) } }), [], WATCH_MS);
  const [asking, setAsking] = useState<"new" | Channel | null>(null);
  const [secret, setSecret] = useState("");
  const [question, ask] = useConfirm();
  const channels = read.value;
  const names = useMemo(() => new Map(channels?.map(one => [one.id, nameOf(one)])), [channels]);
  const again = (): void => { read.again(); void log.load(); };
  const run = (deed: Promise<unknown>, done: string): void => {
    deed.then(() => { inform(done); again(); }, complain).finally(() => refocus());
  };
  const remove = (one: Channel): void => ask({
    deed: w.remove, name: nameOf(one), text: words.removeText, done: words.removed,
    run: async () => { await call("removeNotificationChannel", { path: { channel_id: one.id } }); again(); },
  });
  return (
    <Section title={w.settings.notifications} intro={words.intro} action={channels && <button type="button" class="plain" onClick={() => setAsking("new")}><Icon name="plus" size={16} />{words.add}</button>}>
      <Loading of={read} />
      {channels?.length === 0 && <p class="hint">{words.none}</p>}
      {channels && channels.length > 0 && (
        <ul class="lines">
          {channels.map(one => (
            <li key={one.id}>
              <span class="names">
                <span class={one.status === "off" ? "name failed" : "name"}>{one.status === "active" ? <Dot isOn /> : <Icon name={one.status === "off" ? "circle-x" : "triangle-alert"} size={16} />} {nameOf(one)}: {words.statuses[one.status] ?? one.status}</span>
                <span class="hint">{facts(one)}</span>
                {one.off_at && <span class="hint failed"><Time at={one.off_at} text={words.off} /> {words.reasons[one.off_reason ?? ""]} {one.off_note && visible(one.off_note)}</span>}
                {!one.off_at && one.last_error && <span class="hint failed">{visible(one.last_error)}</span>}
              </span>
              {one.status === "off"
                ? <button type="button" class="plain small" aria-label={w.of(words.enable, nameOf(one))} onClick={() => run(call("changeNotificationChannel", { path: { channel_id: one.id }, body: { enabled: true } }), words.enabled)}>{words.enable}</button>
                : <button type="button" class="plain small" aria-label={w.of(words.test, nameOf(one))} onClick={() => run(call("testNotificationChannel", { path: { channel_id: one.id } }), words.tested)}>{words.test}</button>}
              <button type="button" class="plain small" aria-label={w.of(words.change, nameOf(one))} onClick={() => setAsking(one)}><Icon name="pencil" size={16} /></button>
              <button type="button" class="plain small danger" aria-label={w.of(w.remove, nameOf(one))} onClick={() => remove(one)}><Icon name="trash" size={16} /></button>
            </li>
          ))}
        </ul>
      )}
      {channels && <h3>{words.recent}</h3>}
      {channels && <Rows list={log} empty={<p class="hint">{words.noneSent}</p>} row={one => <Sent key={one.id} one={one} name={names.get(one.channel_id) ?? ""} />} />}
      {asking && <Edit channel={asking === "new" ? null : asking} onClose={() => setAsking(null)} onDone={text => { again(); setSecret(text); }} />}
      {secret && <ShownOnce title={words.isSet} secret={secret} label={words.secret} what={words.what} once={words.once} onClose={() => setSecret("")}>{() => null}</ShownOnce>}
      {question}
    </Section>
  );
}

const nameOf = (one: Channel): string => {
  const kind = words.kinds[one.kind as Kind] ?? one.kind;
  return one.url ? `${kind} (${visible(new URL(one.url).host)})` : kind;
};

const facts = ({ content, quiet_hours: quiet, digest_minutes: minutes }: Channel): string =>
  [words.contents[content as Content], quiet && words.quietAt(quiet), minutes > 0 && words.every(minutes)].filter(Boolean).join(" · ");

function Sent({ one, name }: { one: NotificationView; name: string }) {
  const { kind, status, last_error: error, inserted_at: at } = one;
  return (
    <li>
      <span class="names">
        <span class="name">{words.about[kind] ?? kind}, {name}</span>
        <span class="hint"><Time at={at} /> · {words.sent[status] ?? status}{error && ` · ${visible(error)}`}</span>
      </span>
    </li>
  );
}

function Edit({ channel, onClose, onDone }: { channel: Channel | null; onClose: () => void; onDone: (secret: string) => void }) {
  const [kind, setKind] = useState<Kind>((channel?.kind as Kind | undefined) ?? "email");
  const submit = async (data: FormData): Promise<void> => {
    const settings = {
      content: typed(data, "content") as Content,
      quiet_hours: typed(data, "quiet_hours") || null,
      digest_minutes: Number(typed(data, "digest_minutes") || 0),
      links: data.has("links"),
    };
    if (channel) {
      await call("changeNotificationChannel", { path: { channel_id: channel.id }, body: settings });
      inform(words.changed);
      return onDone("");
    }
    const { quiet_hours, ...others } = settings;
    const target = kind === "web_push" ? await subscribe() : kind === "email" ? {} : { url: typed(data, "url"), ...(typed(data, "token") ? { token: typed(data, "token") } : {}) };
    const made = (await call("createNotificationChannel", { body: { kind, ...target, ...others, ...(quiet_hours ? { quiet_hours } : {}) } })).data;
    if (!made.secret) inform(words.added);
    onDone(made.secret ?? "");
  };
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Confirm title={channel ? words.change : words.add} submit={channel ? w.save : words.add} onSubmit={submit} onClose={onClose}>
      {fault => (
        <>
          {!channel && <Select label={words.kind} name="kind" value={kind} options={Object.entries(words.kinds)} onChange={value => setKind(value as Kind)} data-focus />}
          {!channel && <p class="hint">{words.hints[kind]}</p>}
          {!channel && (kind === "ntfy" || kind === "webhook") && <Field label={words.url} name="url" type="url" required maxLength={2000} autocomplete="off" spellcheck={false} placeholder="https://" fault={fault("url")} />}
          {!channel && kind === "ntfy" && <Field label={words.token} hint={words.tokenHint} name="token" autocomplete="off" spellcheck={false} fault={fault("token")} />}
          <Select label={words.content} name="content" defaultValue={channel?.content ?? "none"} options={Object.entries(words.contents)} />
          <Field label={words.quiet} hint={words.quietHint} name="quiet_hours" maxLength={60} placeholder={`22:00-07:00 ${zone}`} defaultValue={channel?.quiet_hours ?? ""} fault={fault("quiet_hours")} />
          <Field label={words.digest} hint={words.digestHint} name="digest_minutes" type="number" min={0} max={1440} defaultValue={String(channel?.digest_minutes ?? 0)} fault={fault("digest_minutes")} />
          <Switch label={words.links} hint={words.linksHint} name="links" defaultChecked={channel?.links ?? false} />
        </>
      )}
    </Confirm>
  );
}
