// No room is open: what to do next, and the dialog for a new room.

import { useEffect, useRef, useState } from "preact/hooks";
import { Choose, Somebody } from "../parts/Choose.tsx";
import { Confirm, typed } from "../parts/Dialog.tsx";
import { Field } from "../parts/Field.tsx";
import { Blank } from "../parts/Page.tsx";
import type { Id } from "../pure/message.ts";
import { agents, isLoading } from "../store/agents.ts";
import { peers, type Peer } from "../store/people.ts";
import { create, isLoading as areRoomsLoading, rooms } from "../store/rooms.ts";
import { BASE, go } from "../store/route.ts";
import { keyFor } from "../wire/call.ts";
import { w } from "../words.ts";

export function Rooms({ onNewRoom }: { onNewRoom: () => void }) {
  const isNew = !isLoading.value && agents.value.length === 0;
  return (
    <Blank name={w.rooms.title} icon={isNew ? "bot" : "message-square"} title={isNew ? w.rooms.first : w.rooms.title}
      text={isNew ? w.rooms.firstText : areRoomsLoading.value || rooms.value.length > 0 ? w.rooms.choose : w.room.empty}>
      {isNew ? <a class="button" href={`${BASE}/agents/new`}>{w.registering.title}</a> : <>
        <button type="button" onClick={onNewRoom}>{w.newRoom.title}</button>
        {rooms.value.length > 1 && <a class="button plain" href={`${BASE}/rooms/delete`}>{w.several}</a>}
      </>}
    </Blank>
  );
}

export function NewRoom({ chosen, onClose }: { chosen: Id[]; onClose: () => void }) {
  const [found, setFound] = useState<Peer[] | null>(null);
  const [who, setWho] = useState<ReadonlySet<Id>>(new Set(chosen));
  useEffect(() => { peers().then(setFound, () => setFound([])); }, []);
  const sent = useRef({});
  const submit = async (data: FormData): Promise<false> => {
    const title = typed(data, "title");
    const id = await create(title, [...who], keyFor(sent.current, title));
    onClose();
    go(`/rooms/${id}`);
    return false;
  };
  const toggle = (id: Id): void => {
    const next = new Set(who);
    if (!next.delete(id)) next.add(id);
    setWho(next);
  };
  return (
    <Confirm title={w.newRoom.title} submit={w.newRoom.submit} onSubmit={submit} onClose={onClose}>
      <Field label={w.newRoom.name} hint={w.newRoom.nameHint} name="title" maxLength={200} autocomplete="off" data-focus />
      <fieldset>
        <legend>{w.newRoom.who}</legend>
        <Choose peers={found} row={one => (
          <label class="row"><input type="checkbox" checked={who.has(one.id)} onChange={() => toggle(one.id)} /><Somebody one={one} /></label>
        )} />
      </fieldset>
    </Confirm>
  );
}
