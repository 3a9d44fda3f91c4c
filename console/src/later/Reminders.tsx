// Messages that are sent later: the draft of a room, and what is scheduled there.

import { call, complain, Confirm, Field, Icon, inform, isMine, isOwner, keyFor, now, refocus, roomOf, Rows, Select, Time, typed, usePaged, user, useRef, useState, visible, w } from "../shared.ts";
import { said, stamp } from "../pure/reminder.ts";
import type { Id } from "../pure/message.ts";
import type { OpenRoom } from "../store/room.ts";
import type { ReminderView } from "../wire/api.ts";
import { reminders as words } from "./words.ts";

interface Draft { text: string; mentioned: { id: Id; isHere: boolean }[] }

export function Reminders({ room, draft: { text, mentioned }, onSent, onClose }: { room: OpenRoom; draft: Draft; onSent: () => void; onClose: () => void }) {
  const chat_id = room.id;
  const list = usePaged<ReminderView, {}>(cursor => call("listReminders", { query: { chat_id, limit: 50, cursor } }), [chat_id]);
  const sent = useRef({});
  const hasText = text.trim() !== "";
  const submit = async (data: FormData): Promise<void> => {
    for (const one of mentioned) if (!one.isHere) await room.people.add(one.id);
    const at = new Date(typed(data, "deliver_at"));
    const every = typed(data, "every");
    const body = { message: { content: text.trim(), mentions: mentioned.map(({ id }) => ({ id })), deliver_at: at.toISOString(), every: every ? `FREQ=${every}` : null } };
    await call("sendMessage", { path: { chat_id }, body, idempotencyKey: keyFor(sent.current, body) });
    onSent();
    inform(words.done);
  };
  return (
    <Confirm title={words.title} submit={words.schedule} isReady={hasText} onSubmit={submit} onClose={onClose}>
      {fault => (
        <>
          {hasText ? (
            <>
              <p class="said" dir="auto">{visible(text.trim())}</p>
              <Field label={words.at} name="deliver_at" type="datetime-local" required min={stamp(now.value)} defaultValue={stamp(now.value + 3_600_000)} data-focus fault={fault("deliver_at") || fault("content")} />
              <Select label={words.repeat} name="every" options={words.rules} />
              <p class="hint">{words.utc}</p>
            </>
          ) : <p class="hint">{words.noText}</p>}
          <h3>{words.scheduled}</h3>
          <Rows list={list} row={one => <Row key={one.id} one={one} onDone={() => { list.drop(one.id); refocus(document.querySelector<HTMLElement>("dialog[open] h2")); }} />} empty={<p class="hint">{words.none}</p>} />
        </>
      )}
    </Confirm>
  );
}

function Row({ one, onDone }: { one: ReminderView; onDone: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const { id, deliver_at, every, last_failure: failure, sender_id, chat_id } = one;
  const row = roomOf(chat_id);
  const mayCancel = sender_id === user.value!.id || isMine(sender_id) || (row !== undefined && isOwner(row));
  const text = visible(said(one));
  const cancel = (): void => {
    setBusy(true);
    call("cancelReminder", { path: { reminder_id: id } }).then(() => { inform(words.cancelled); onDone(); }, (cause: unknown) => { setBusy(false); complain(cause); });
  };
  return (
    <li>
      <span class="names">
        <span class="name" dir="auto">{text}</span>
        <span class="hint">@{one.sender_handle} · {deliver_at && <Time at={deliver_at} />}{every && <> · {words.every(every)}</>}</span>
        {failure && <span class="hint failed"><Icon name="triangle-alert" size={14} /> {failure.message}</span>}
      </span>
      {mayCancel && <button type="button" class="plain small" disabled={isBusy} aria-label={w.of(w.cancel, text)} onClick={cancel}>{w.cancel}</button>}
    </li>
  );
}
