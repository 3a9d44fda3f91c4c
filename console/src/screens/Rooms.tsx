// No room is open: what to do next, and the dialog for a new room.

import { useEffect, useRef, useState } from "preact/hooks";
import { Choose, Somebody } from "../parts/Choose.tsx";
import { Dialog, Fault, useForm } from "../parts/Dialog.tsx";
import { Field } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { explain } from "../pure/errors.ts";
import type { Id } from "../pure/message.ts";
import { agents, isLoading } from "../store/agents.ts";
import { peers, type Peer } from "../store/people.ts";
import { create, isLoading as areRoomsLoading, rooms } from "../store/rooms.ts";
import { BASE, go } from "../store/route.ts";
import { newIdempotencyKey } from "../wire/call.ts";
import { w } from "../words.ts";

export function Rooms({ onNewRoom }: { onNewRoom: () => void }) {
  const isNew = !isLoading.value && agents.value.length === 0;
  return (
    <main class="blank" id="main">
      <div>
        <Icon name={isNew ? "bot" : "message-square"} size={40} />
        <h1 tabIndex={-1}>{isNew ? w.rooms.first : w.rooms.title}</h1>
        <p>{isNew ? w.rooms.firstText : areRoomsLoading.value || rooms.value.length > 0 ? w.rooms.choose : w.room.empty}</p>
        {isNew ? <a class="button" href={`${BASE}/agents/new`}>{w.rooms.register}</a> : <button type="button" onClick={onNewRoom}>{w.rooms.newRoom}</button>}
      </div>
    </main>
  );
}

export function NewRoom({ chosen, onClose }: { chosen: Id[]; onClose: () => void }) {
  const [found, setFound] = useState<Peer[] | null>(null);
  const [who, setWho] = useState<ReadonlySet<Id>>(new Set(chosen));
  useEffect(() => { peers().then(setFound, () => setFound([])); }, []);
  const sent = useRef({ title: "", key: "" });
  const form = useForm(async data => {
    const title = String(data.get("title")).trim();
    if (!sent.current.key || sent.current.title !== title) sent.current = { title, key: newIdempotencyKey() };
    const id = await create(title, [...who], sent.current.key);
    onClose();
    go(`/rooms/${id}`);
  });
  const toggle = (id: Id): void => {
    const next = new Set(who);
    if (!next.delete(id)) next.add(id);
    setWho(next);
  };
  return (
    <Dialog title={w.newRoom.title} onClose={onClose}>
      <form onSubmit={form.submit}>
        <Field label={w.newRoom.name} hint={w.newRoom.nameHint} name="title" maxLength={200} autocomplete="off" data-focus />
        <fieldset>
          <legend>{w.newRoom.who}</legend>
          <Choose peers={found} row={one => (
            <label class="row"><input type="checkbox" checked={who.has(one.id)} onChange={() => toggle(one.id)} /><Somebody one={one} /></label>
          )} />
        </fieldset>
        <Fault text={form.fault ? explain(form.fault) : ""} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>{w.cancel}</button>
          <button disabled={form.isBusy}>{w.newRoom.submit}</button>
        </footer>
      </form>
    </Dialog>
  );
}
