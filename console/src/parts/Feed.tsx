// The messages of a room. Whatever is added or dropped, the row that somebody reads stays in its place.

import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Row } from "../pure/fold.ts";
import { plain } from "../pure/markdown.ts";
import { isText, mentionsOf, type Message } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { clock, exact, fullDay } from "../pure/when.ts";
import { load, script } from "../screens/Later.tsx";
import { complain } from "../store/notices.ts";
import type { OpenRoom } from "../store/room.ts";
import type { Pending } from "../store/outbox.ts";
import { user } from "../wire/session.ts";
import { w } from "../words.ts";
import { Face } from "./Face.tsx";
import { Icon } from "./Icon.tsx";
import { Markdown } from "./Markdown.tsx";
import { Steps } from "./Steps.tsx";
import { FileNames, Text } from "./Text.tsx";

const NEAR_PX = 800;
const AT_END_PX = 48;
const SPOKEN_EVERY_MS = 2000;

export function Feed({ room, isParticipant, at }: { room: OpenRoom; isParticipant: boolean; at: string | null }) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(at === null);
  const anchor = useRef<{ row: Element; top: number } | null>(null);
  const shown = useRef<string | undefined>(undefined);
  const unseen = useSignal(0);
  const rows = room.rows.value;
  const pending = room.outbox.pending.value;
  const { older, newer } = room.window.value;
  const hasFiles = rows.some(row => row.kind === "text" && row.message.attachments.length > 0);
  const [parts, setParts] = useState(script);
  const isEmpty = useComputed(() => room.window.value.rows.length === 0).value;

  const visibleRows = (): { row: Element; top: number; bottom: number }[] => {
    const frame = box.current!.getBoundingClientRect();
    const seen = [];
    for (const row of box.current!.querySelectorAll("[data-row]")) {
      const { top, bottom } = row.getBoundingClientRect();
      if (bottom > frame.top && top < frame.bottom) seen.push({ row, top, bottom });
    }
    return seen;
  };
  room.beforeChange = () => {
    const first = box.current && !isAtEnd.current ? visibleRows()[0] : undefined;
    anchor.current = first ? { row: first.row, top: first.top } : null;
  };
  room.isAtEnd = () => isAtEnd.current;
  room.middle = () => {
    const seen = box.current ? visibleRows().filter(one => one.row.hasAttribute("data-text")) : [];
    return seen[Math.floor(seen.length / 2)]?.row.id.slice(4);
  };

  useEffect(() => {
    if (hasFiles && !parts) load().then(found => { room.beforeChange(); setParts(found); }, () => complain(w.files.unloaded));
  }, [hasFiles]);
  useLayoutEffect(() => {
    const feed = box.current!;
    if (isAtEnd.current && !newer) feed.scrollTop = feed.scrollHeight;
    else if (anchor.current?.row.isConnected) feed.scrollTop += anchor.current.row.getBoundingClientRect().top - anchor.current.top;
    anchor.current = null;
    const last = room.window.value.rows.at(-1);
    if (shown.current && last && last.id !== shown.current && !newer && !isAtEnd.current && last.sender_id !== user.value?.id) unseen.value++;
    shown.current = last?.id;
    if (isAtEnd.current) room.sawEnd();
  }, [rows, pending, parts]);

  // A link to a message shows it in the middle.
  useLayoutEffect(() => {
    if (isEmpty || !at) return;
    const row = document.getElementById(`row-${at}`);
    if (!row) return;
    row.scrollIntoView({ block: "center" });
    row.classList.add("target");
  }, [isEmpty, at]);

  // What was unread when the room was opened begins at the top, if it is more than a screen.
  useLayoutEffect(() => {
    const feed = box.current!;
    const line = at === null ? feed.querySelector(".day.new") : null;
    const place = line ? line.getBoundingClientRect().top - feed.getBoundingClientRect().top : 0;
    if (!line || (place >= 0 && !newer)) return;
    isAtEnd.current = false;
    feed.scrollTop += place;
  }, [isEmpty, at]);

  useEffect(() => {
    const seen = (): void => room.sawEnd();
    document.addEventListener("visibilitychange", seen);
    return () => document.removeEventListener("visibilitychange", seen);
  }, [room]);

  // The feed grows and shrinks with the window, the composer, and what is opened in it.
  useEffect(() => {
    const feed = box.current!;
    const watcher = new ResizeObserver(() => { if (isAtEnd.current && !room.window.value.newer) feed.scrollTop = feed.scrollHeight; });
    watcher.observe(feed);
    watcher.observe(feed.firstElementChild!);
    return () => watcher.disconnect();
  }, []);

  const scrolled = (): void => {
    const feed = box.current!;
    const below = feed.scrollHeight - feed.scrollTop - feed.clientHeight;
    isAtEnd.current = below < AT_END_PX && !room.window.value.newer;
    if (isAtEnd.current) {
      unseen.value = 0;
      room.sawEnd();
    }
    if (feed.scrollTop < NEAR_PX) void room.back();
    if (below < NEAR_PX) void room.forth();
  };
  const toEnd = async (): Promise<void> => {
    isAtEnd.current = true;
    await room.toEnd();
    unseen.value = 0;
    box.current!.scrollTop = box.current!.scrollHeight;
    box.current!.focus();
  };
  const key = (event: KeyboardEvent): void => { if (event.key === "Escape" && event.target === box.current) void toEnd(); };
  const count = unseen.value + room.missed.value;

  // Rows that did not change are not drawn again.
  const cache = useRef(new Map<string, { key: unknown[]; node: JSX.Element }>());
  const fresh = new Map<string, { key: unknown[]; node: JSX.Element }>();
  const drawn = (row: Row, draw: () => JSX.Element): JSX.Element => {
    const key: unknown[] = row.kind === "text" ? [row.message, row.isContinued, isParticipant, parts] : row.kind === "steps" ? [...row.events, row.dropped, row.isPartial, row.hasEarlier] : [row.id];
    const known = cache.current.get(row.id);
    const isSame = known && known.key.length === key.length && known.key.every((part, at) => part === key[at]);
    const entry = isSame ? known : { key, node: draw() };
    fresh.set(row.id, entry);
    return entry.node;
  };
  useEffect(() => { cache.current = fresh; });

  return (
    <div class="feedbox">
      <div class="feed" ref={box} onScroll={scrolled} onKeyDown={key} tabIndex={0} role="region" aria-label={w.room.messages}>
        <div class="content">
          {room.isLoading.value && <p class="notice-line" role="status">{w.loading}</p>}
          {room.fault.value && (
            <p class="notice-line fault">{room.fault.value} <button type="button" class="link" onClick={() => void room.fill()}>{w.again}</button></p>
          )}
          {!older && !room.isLoading.value && !room.fault.value && <p class="notice-line">{isEmpty && rows.length === 0 ? w.room.empty : w.room.begin}</p>}
          <ol class="rows">
            {rows.map(row => drawn(row, () => {
              switch (row.kind) {
                case "new": return <li key={row.id} class="day new"><span>{w.room.newLine}</span></li>;
                case "day": return <li key={row.id} class="day"><span>{fullDay(row.at)}</span></li>;
                case "text": return (
                  <li key={row.id} id={`row-${row.id}`} data-row data-text><Guarded><Text message={row.message} room={room} isContinued={row.isContinued} isParticipant={isParticipant} parts={parts} /></Guarded></li>
                );
                case "attention": return (
                  <li key={row.id} id={`row-${row.id}`} data-row data-text class="attention">
                    <Guarded><Attention message={row.message} /></Guarded>
                  </li>
                );
                case "steps": return <li key={row.id} data-row><Guarded><Steps room={room} line={row} /></Guarded></li>;
                case "unknown": return <li key={row.id} data-row class="unknown"><button type="button" class="link" onClick={() => void room.openGap(row.after)}>{w.room.steps}</button></li>;
              }
            }))}
            {!newer && pending.map(one => <Unsent key={one.key} one={one} room={room} />)}
          </ol>
        </div>
      </div>
      {(count > 0 || newer) && (
        <button type="button" class="jump" onClick={() => void toEnd()}><Icon name="arrow-down" size={16} />{count > 0 ? w.room.newOnes(count) : w.room.newest}</button>
      )}
      <Spoken room={room} />
    </div>
  );
}

/** A fault in one row leaves the others. */
export function Guarded({ children }: { children: ComponentChildren }) {
  const [fault] = useErrorBoundary(cause => console.warn(cause));
  return fault ? <p class="notice-line fault">{w.room.undrawable}</p> : <>{children}</>;
}

/** The server posts these in the name of somebody, and agents can post them too, so it says whose name it is. */
function Attention({ message }: { message: Message }) {
  return (
    <>
      <Icon name="triangle-alert" size={16} />
      <Face id={message.sender_id} name={message.sender_name} isAgent={message.sender_type === "Agent"} small />
      <div><b>{w.room.attention(visible(message.sender_name))}</b> <Markdown text={message.content} mentions={[]} isPlain /></div>
      <time dateTime={message.inserted_at} title={exact(message.inserted_at)}>{clock(message.inserted_at)}</time>
    </>
  );
}

/** A text that the server has not confirmed. */
function Unsent({ one, room }: { one: Pending; room: OpenRoom }) {
  const me = user.value!;
  return (
    <li class={`pending ${one.state}`}>
      <article class="text">
        <Face id={me.id} name={`${me.first_name} ${me.last_name}`} isAgent={false} />
        <p class="said" dir="auto">{one.content}</p>
        <FileNames files={one.files} />
        <p class="fate" role="status">{one.state === "sending" ? w.outbox.sending : w.outbox.failed(one.fault)}</p>
        {one.state === "failed" && (
          <div class="actions">
            <button type="button" class="plain small" onClick={() => room.outbox.retry(one.key)}>{w.outbox.retry}</button>
            <button type="button" class="plain small" onClick={() => room.outbox.discard(one.key)}>{w.outbox.discard}</button>
          </div>
        )}
      </article>
    </li>
  );
}

/** Tells screen readers about new texts of others: one at a time, and not every one of a burst. */
function Spoken({ room }: { room: OpenRoom }) {
  const text = useSignal("");
  const spokenAt = useRef(0);
  const last = useRef<string | undefined>(undefined);
  const newest = room.window.value.newer ? undefined : room.window.value.rows.findLast(isText);
  useEffect(() => {
    const before = last.current;
    last.current = newest?.id;
    if (!before || !newest || before === newest.id || newest.sender_id === user.value?.id) return;
    if (Date.now() - spokenAt.current < SPOKEN_EVERY_MS) return;
    spokenAt.current = Date.now();
    const { length } = newest.attachments;
    text.value = w.log(newest.sender_name, plain(newest.content, mentionsOf(newest)) + (length > 0 ? ` (${w.files.count(length)})` : ""));
  }, [newest?.id]);
  return <div class="vh" role="log" aria-live="polite">{text.value}</div>;
}
