// The rooms and the way to everything else.

import { useState } from "preact/hooks";
import { Face } from "../parts/Face.tsx";
import { LinkWord } from "../parts/LinkState.tsx";
import { Icon } from "../parts/Icon.tsx";
import { plain } from "../pure/markdown.ts";
import { isText, mentionsOf } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { brief } from "../pure/when.ts";
import { attention } from "../store/attention.ts";
import { received } from "../store/contacts.ts";
import { now } from "../store/now.ts";
import { countOf, isLoading, isObserved, loadMore, markAll, next, rooms, type Room } from "../store/rooms.ts";
import { BASE, place } from "../store/route.ts";
import { hasDocs, isOperator, logOut, user } from "../wire/session.ts";
import { w } from "../words.ts";
import { Mark } from "./Entrance.tsx";

const FILTER_FROM = 8;

export function Sidebar({ onNewRoom, onGoTo }: { onNewRoom: () => void; onGoTo: () => void }) {
  const [query, setQuery] = useState("");
  const me = user.value!;
  const wanted = query.trim().toLowerCase();
  const found = rooms.value.filter(room => !wanted || room.title.toLowerCase().includes(wanted) || room.agents.some(one => `${one.name} ${one.handle}`.toLowerCase().includes(wanted)));
  const own = found.filter(room => !isObserved(room));
  const observed = found.filter(isObserved);
  const { path } = place.value;
  const requests = received.total.value ?? 0;
  return (
    <nav class="side" aria-label={w.nav.label}>
      <header>
        <a class="brand" href={`${BASE}/`}><Mark />{w.app}</a>
        <button type="button" class="quiet square" aria-label={w.newRoom.title} title={w.newRoom.title} onClick={onNewRoom}><Icon name="plus" /></button>
      </header>
      <button type="button" class="plain goto-open" onClick={onGoTo} aria-keyshortcuts="Control+K Meta+K"><Icon name="search" size={16} />{w.goTo.open}<kbd>{w.goTo.key}</kbd></button>
      <ul class="places">
        <li><a href={`${BASE}/inbox`} aria-current={path === "/inbox" ? "page" : undefined}><Icon name="inbox" />{w.inbox.title}
          {attention.value && <Badge isNeedy count={attention.value} meaning={w.inbox.count(attention.value)} />}</a></li>
        <li><a href={`${BASE}/search`} aria-current={path === "/search" ? "page" : undefined}><Icon name="search" />{w.search.title}</a></li>
        <li><a href={`${BASE}/work`} aria-current={path === "/work" ? "page" : undefined}><Icon name="list-checks" />{w.work.title}</a></li>
        <li><a href={`${BASE}/agents`} aria-current={path.startsWith("/agents") || path === "/usage" ? "page" : undefined}><Icon name="bot" />{w.agents.title}</a></li>
        <li><a href={`${BASE}/people`} aria-current={path === "/people" ? "page" : undefined}><Icon name="users" />{w.contacts.title}{requests > 0 && <Badge count={requests} meaning={w.contacts.open(requests)} />}</a></li>
        <li><a href={`${BASE}/memories`} aria-current={path === "/memories" ? "page" : undefined}><Icon name="archive" />{w.memories.title}</a></li>
        <li><a href={`${BASE}/organization`} aria-current={path.startsWith("/organization") ? "page" : undefined}><Icon name="building-2" />{w.organization.title}</a></li>
        {isOperator.value && <li><a href={`${BASE}/operator`} aria-current={path.startsWith("/operator") ? "page" : undefined}><Icon name="server" />{w.operator.title}</a></li>}
        <li><a href={`${BASE}/settings`} aria-current={path === "/settings" ? "page" : undefined}><Icon name="settings" />{w.settings.title}</a></li>
        {hasDocs.value && <li><a href="/docs/" target="_blank"><Icon name="external-link" />{w.nav.docs}</a></li>}
      </ul>
      <div class="list">
        {(rooms.value.length >= FILTER_FROM || query) && (
          <label class="filter"><span class="vh">{w.nav.filter}</span><Icon name="search" size={16} />
            <input type="search" value={query} placeholder={w.nav.filter} onInput={event => setQuery(event.currentTarget.value)} /></label>
        )}
        <div class="head"><h2>{w.nav.rooms}</h2>{rooms.value.some(room => (room.unread?.count ?? 0) > 0) && <button type="button" class="link" onClick={() => void markAll()}>{w.nav.markAll}</button>}</div>
        {own.length > 0 ? <List rooms={own} /> : <p class="hint">{isLoading.value ? w.loading : query ? w.people.noMatch : w.nav.none}</p>}
        {observed.length > 0 && <><h2>{w.nav.roomsOfAgents}</h2><List rooms={observed} /></>}
        {next.value && <button type="button" class="link more" onClick={() => void loadMore()}>{w.loadMore}</button>}
      </div>
      <footer>
        <Face id={me.id} name={`${me.first_name} ${me.last_name}`} isAgent={false} small />
        <span class="me"><span class="name">{visible(`${me.first_name} ${me.last_name}`.trim())}</span><LinkWord /></span>
        <button type="button" class="quiet square" aria-label={w.nav.logOut} title={w.nav.logOut} onClick={() => void logOut()}><Icon name="log-out" /></button>
      </footer>
    </nav>
  );
}

/** A number, and for screen readers what it counts. */
function Badge({ count, meaning, isNeedy = false }: { count: number | string; meaning: string; isNeedy?: boolean }) {
  return <span class={isNeedy ? "badge needy" : "badge"}><span aria-hidden="true">{count}</span><span class="vh">, {meaning}</span></span>;
}

function List({ rooms }: { rooms: Room[] }) {
  return <ul class="rooms">{rooms.map(room => <Item key={room.id} room={room} isHere={place.value.path === `/rooms/${room.id}`} at={now.value} />)}</ul>;
}

function Item({ room, isHere, at }: { room: Room; isHere: boolean; at: number }) {
  const last = room.last_message;
  const { mentions, muted } = room.unread ?? { mentions: 0, muted: false };
  const count = countOf(room);
  const when = room.last_message_at;
  const status = room.work_status ?? "idle";
  return (
    <li>
      <a href={`${BASE}/rooms/${room.id}`} aria-current={isHere ? "page" : undefined} class={`${count > 0 ? "unread" : ""}${muted ? " muted" : ""}`}>
        <span class="title">{visible(room.title)}{muted && <span class="vh">, {w.nav.muted}</span>}</span>
        {when && <time dateTime={when}>{brief(when, at)}</time>}
        <span class="preview">{last && isText(last) ? `${last.sender_id === user.value?.id ? w.nav.you : visible(last.sender_name)}: ${plain(last.content, mentionsOf(last), 90)}` : last ? "" : w.nav.nothingYet}</span>
        {status !== "idle" && <span class={`status ${status}`}>{w.workStatus[status] ?? status}</span>}
        {count > 0 && <Badge count={count > 99 ? "99+" : count} meaning={w.nav.unread(count, mentions)} isNeedy={mentions > 0} />}
      </a>
    </li>
  );
}
