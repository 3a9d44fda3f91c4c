// A room: its messages, who is in it, and what one can do.

import { useEffect, useMemo, useState } from "preact/hooks";
import { Composer } from "../parts/Composer.tsx";
import { Confirm, typed } from "../parts/Dialog.tsx";
import { Dot } from "../parts/Face.tsx";
import { Feed } from "../parts/Feed.tsx";
import { Field } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Menu, type Choice } from "../parts/Menu.tsx";
import { Blank, useTitle } from "../parts/Page.tsx";
import { PeoplePanel } from "../parts/PeoplePanel.tsx";
import { TaskCounts } from "../parts/Tasks.tsx";
import { ApiError } from "../pure/errors.ts";
import type { Id } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { agentOf } from "../store/agents.ts";
import { complain, inform } from "../store/notices.ts";
import { dropOutbox } from "../store/outbox.ts";
import { OpenRoom } from "../store/room.ts";
import { drop, find, gone, isObserved, mute, openRoom, roomOf, take } from "../store/rooms.ts";
import { BASE, go } from "../store/route.ts";
import { call } from "../wire/call.ts";
import { hasBoards, user } from "../wire/session.ts";
import { w } from "../words.ts";
import { Later, load } from "./Later.tsx";

const MOST_NAMED = 3;

export function Room({ id, at }: { id: Id; at: string | null }) {
  // Who comes back finds the room as it is then.
  return gone.value.has(id) ? <Blank title={w.room.removed} /> : <Open id={id} at={at} />;
}

function Open({ id, at }: { id: Id; at: string | null }) {
  const room = useMemo(() => new OpenRoom(id, at ?? undefined), [id, at]);
  const [isMissing, setMissing] = useState(false);
  const [panel, setPanel] = useState<"people" | "board" | null>(null);
  const [asking, setAsking] = useState<"rename" | "leave" | "delete" | null>(null);
  const row = roomOf(id);

  useEffect(() => {
    room.open();
    openRoom.value = id;
    // Also for rooms beyond the part of the list that was read.
    find(id).catch((cause: unknown) => { if (cause instanceof ApiError && cause.status === 404) setMissing(true); else complain(cause); });
    return () => {
      room.close();
      openRoom.value = null;
    };
  }, [room]);
  useEffect(() => { if (row?.unread) room.begin(row.unread); }, [room, row?.unread]);
  const title = row?.title ?? w.room.untitled;
  useTitle(title);

  if (isMissing) return <Blank title={w.notFound.title} text={w.room.missing} />;

  const people = room.people.byId.value;
  const mine = people.get(user.value?.id ?? "");
  const isParticipant = row?.membership ? !isObserved(row) : people.size === 0 || mine !== undefined;
  const isOwner = (mine?.role ?? row?.my_role) === "owner";
  const agents = room.people.agents.value;
  const path = { chat_id: id };
  const control = (operation: "stopAgents" | "playAgents", done: string) => async (): Promise<void> => {
    try {
      take((await call(operation, { path })).data);
      inform(done);
    } catch (cause) { complain(cause); }
  };

  const choices: Choice[] = [];
  if (isOwner) {
    choices.push({ label: w.room.rename, icon: "pencil", run: () => setAsking("rename") });
    if (agents.length > 0) {
      choices.push(row?.work_status === "stopped"
        ? { label: w.room.play, icon: "play", run: () => void control("playAgents", w.room.playDone)() }
        : { label: w.room.stop, icon: "octagon-pause", run: () => void control("stopAgents", w.room.stopDone)() });
    }
  }
  if (agents.length > 0) choices.push({ label: w.work.ofRoom, icon: "list-checks", run: () => go(`/work?state=open&room=${id}`) });
  choices.push({ label: w.search.inRoom, icon: "search", run: () => go(`/search?q=in:${id}`) });
  choices.push({ label: w.room.transcript, icon: "download", run: () => void load().then(parts => parts.transcript(id)).catch(complain) });
  if (row?.unread) {
    const { muted } = row.unread;
    choices.push({ label: muted ? w.room.unmute : w.room.mute, icon: "bell", run: () => void mute(id, !muted) });
  }
  if (mine) choices.push({ label: w.room.leave, icon: "log-out", run: () => setAsking("leave") });
  if (isOwner) choices.push({ label: w.room.delete, icon: "trash", danger: true, run: () => setAsking("delete") });
  const leave = (): void => {
    drop(id);
    dropOutbox(id);
    go("/", true);
  };

  const toggle = (name: "people" | "board") => ({
    "aria-expanded": panel === name, "aria-controls": panel === name ? name : undefined, onClick: () => setPanel(panel === name ? null : name),
  });

  return (
    <div class={panel ? `roombox open ${panel}` : "roombox"}>
      <main class="room" id="main" aria-labelledby="room-title">
        <header class="bar">
          <a class="backlink" href={`${BASE}/`} aria-label={w.back}><Icon name="chevron-left" /></a>
          <h1 id="room-title" tabIndex={-1} title={title}>{visible(title)}</h1>
          {agents.length > 0 && (
            <ul class="crew" aria-label={w.agents.title}>
              {agents.slice(0, MOST_NAMED).map(one => (
                <li key={one.id}><Dot isOn={one.online === true} />{visible(one.name)}<span class="vh">, {one.online ? w.people.connected : w.people.notConnected}</span></li>
              ))}
              {agents.length > MOST_NAMED && <li>+{agents.length - MOST_NAMED}</li>}
            </ul>
          )}
          {hasBoards.value && (
            <button type="button" class="quiet" {...toggle("board")} title={w.board.title}>
              <Icon name="clipboard-list" /><span class="vh">{w.board.title}</span>{row && <TaskCounts counts={row.task_counts} />}
            </button>
          )}
          <button type="button" class="quiet" {...toggle("people")}
            aria-label={`${w.room.people}, ${w.room.peopleCount(people.size)}`} title={w.room.people}>
            <Icon name="users" /><span aria-hidden="true">{people.size || ""}</span>
          </button>
          <Menu choices={choices} />
        </header>
        {row?.work_status === "stopped" && (
          <p class="strip"><Icon name="octagon-pause" size={16} />{w.room.stopped}
            {isOwner && <button type="button" class="link" onClick={() => void control("playAgents", w.room.playDone)()}>{w.room.play}</button>}</p>
        )}
        <Feed key={`${id}-${at}`} room={room} isParticipant={isParticipant} at={at} />
        <Working room={room} />
        {isParticipant ? <Composer key={id} room={room} />
          : <p class="strip observer">{w.room.observing((row?.via_agent_ids ?? []).map(one => agentOf(one)?.name ?? "").filter(Boolean))}</p>}
      </main>
      {panel === "people" && <PeoplePanel room={room} isParticipant={isParticipant} mine={mine?.role} onClose={() => setPanel(null)} />}
      {panel === "board" && (
        <Later title={w.board.title} isPanel>{({ Board }) => <Board room={id} isParticipant={isParticipant} onClose={() => { setPanel(null); document.querySelector<HTMLElement>(".room [aria-expanded]")?.focus(); }} />}</Later>
      )}
      {asking === "rename" && <Rename title={title} onClose={() => setAsking(null)} onSave={async text => take((await call("renameChat", { path, body: { chat: { title: text } } })).data)} />}
      {asking === "leave" && (
        <Confirm title={w.room.leave} text={w.room.leaveAsk} submit={w.room.leave} onClose={() => setAsking(null)}
          onSubmit={async () => { await call("removeParticipant", { path: { ...path, participant_id: user.value!.id } }); leave(); }} />
      )}
      {asking === "delete" && (
        <Confirm title={w.room.delete} text={w.room.deleteAsk} submit={w.room.delete} danger onClose={() => setAsking(null)}
          onSubmit={async () => { await call("deleteChat", { path }); leave(); }} />
      )}
    </div>
  );
}

function Working({ room }: { room: OpenRoom }) {
  const names = [...room.working.value].map(id => room.people.byId.value.get(id)?.name ?? w.room.someAgent);
  return <p class="working" role="status">{names.length > 0 && <><span class="pulse" aria-hidden="true" />{w.room.working(names)}</>}</p>;
}

function Rename({ title, onSave, onClose }: { title: string; onSave: (title: string) => Promise<void>; onClose: () => void }) {
  return (
    <Confirm title={w.room.rename} submit={w.save} onSubmit={data => onSave(typed(data, "title"))} onClose={onClose}>
      {fault => <Field label={w.newRoom.name} name="title" required maxLength={200} autocomplete="off" defaultValue={title} data-focus fault={fault("title")} />}
    </Confirm>
  );
}
