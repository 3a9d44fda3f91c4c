// Who is in a room: add and remove.

import { useEffect, useState } from "preact/hooks";
import { visible } from "../pure/visible.ts";
import { since } from "../pure/when.ts";
import { agentOf, isMine } from "../store/agents.ts";
import { complain, inform } from "../store/notices.ts";
import { now } from "../store/now.ts";
import { peers, type Peer, type Person, type RoomRole } from "../store/people.ts";
import { BASE } from "../store/route.ts";
import type { OpenRoom } from "../store/room.ts";
import { user } from "../wire/session.ts";
import { w } from "../words.ts";
import { Choose, Somebody } from "./Choose.tsx";
import { Confirm, Dialog } from "./Dialog.tsx";
import { Dot, Face } from "./Face.tsx";
import { Icon } from "./Icon.tsx";
import { Menu } from "./Menu.tsx";
import { awaySince } from "./Secret.tsx";

export function PeoplePanel({ room, isParticipant, mine, onClose }: { room: OpenRoom; isParticipant: boolean; mine: string | undefined; onClose: () => void }) {
  const [isAdding, setAdding] = useState(false);
  const people = room.people.all.value;
  const groups: [string, Person[]][] = [
    [w.agents.title, people.filter(one => one.type === "Agent")],
    [w.room.people, people.filter(one => one.type !== "Agent")],
  ];
  return (
    <aside class="panel" aria-labelledby="people-title" id="people">
      <header class="bar">
        <h2 id="people-title" tabIndex={-1}>{w.people.title(people.length)}</h2>
        <button type="button" class="quiet square" aria-label={w.close} onClick={onClose}><Icon name="x" /></button>
      </header>
      {isParticipant && <button type="button" class="plain add" onClick={() => setAdding(true)}><Icon name="user-plus" size={16} />{w.people.add}</button>}
      {groups.filter(([, list]) => list.length > 0).map(([title, list]) => (
        <section key={title} aria-label={title}>
          <h3>{title}</h3>
          <ul>{list.map(one => <One key={one.id} one={one} room={room} mine={mine} />)}</ul>
        </section>
      ))}
      {isAdding && <Add room={room} onClose={() => setAdding(false)} />}
    </aside>
  );
}

function One({ one, room, mine }: { one: Person; room: OpenRoom; mine: string | undefined }) {
  const [isAsking, setAsking] = useState(false);
  const isAgent = one.type === "Agent";
  const isMe = one.id === user.value?.id;
  const canRemove = mine === "owner" || mine === "admin";
  const isOn = one.online === true;
  const name = visible(one.name);
  const last = isOn ? null : awaySince(one.id);
  const state = isOn ? (one.is_external === false ? w.people.platform : w.people.connected)
    : last ? w.people.notConnectedSince(since(last.at, now.value), last.reason) : w.people.notConnected;
  // Owners give any role; admins make members admins, and themselves members.
  const roles: RoomRole[] = mine === "owner" ? ["owner", "admin", "member"] : mine === "admin" && (isMe || one.role === "member") ? ["admin", "member"] : [];
  const set = (role: RoomRole): void => { room.people.setRole(one.id, role).then(() => inform(w.people.roleDone(name, role)), complain); };
  return (
    <li class="person">
      <Face id={one.id} name={one.name} isAgent={isAgent} />
      <div>
        <p class="name">
          {isMine(one.id) ? <a href={`${BASE}/agents/${one.id}`}>{name}</a> : name}
          {isMe && <span class="tag">{w.you}</span>}
          {agentOf(one.id)?.pause && <span class="tag">{w.agentPage.paused}</span>}
          {one.role !== "member" && <span class="tag">{one.role === "owner" ? w.people.owner : w.organization.role["admin"]}</span>}
        </p>
        <p class="handle">@{one.handle}</p>
        {(isAgent || isOn) && <p class="presence"><Dot isOn={isOn} />{state}</p>}
      </div>
      <Menu label={w.organization.actions(name)} choices={[
        ...roles.filter(role => role !== one.role).map(role => ({ label: w.people.make[role], icon: "users" as const, run: () => set(role) })),
        ...(canRemove && !isMe ? [{ label: w.people.remove, icon: "x" as const, danger: true, run: () => setAsking(true) }] : []),
      ]} />
      {isAsking && <Confirm title={w.people.removeAsk(name)} submit={w.remove} danger onSubmit={() => room.people.remove(one.id)} onClose={() => setAsking(false)} />}
    </li>
  );
}

function Add({ room, onClose }: { room: OpenRoom; onClose: () => void }) {
  const [found, setFound] = useState<Peer[] | null>(null);
  useEffect(() => { peers(room.id).then(setFound, cause => { complain(cause); onClose(); }); }, []);
  const add = async (one: Peer): Promise<void> => {
    try {
      await room.people.add(one.id);
      setFound(list => list?.filter(other => other.id !== one.id) ?? null);
      inform(w.people.added(one.name));
    } catch (cause) { complain(cause); }
  };
  return (
    <Dialog title={w.people.addTitle} onClose={onClose}>
      <Choose peers={found} row={one => (
        <button type="button" class="row" onClick={() => void add(one)}><span class="vh">{w.people.addOne}</span> <Somebody one={one} /><Icon name="plus" size={16} /></button>
      )} />
    </Dialog>
  );
}
