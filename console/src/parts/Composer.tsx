// The composer. Before sending, it says which agents the text wakes, and which of them are not connected.

import { effect, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { completing, matching, mentionsIn } from "../pure/mention.ts";
import { isAgentHandle } from "../pure/message.ts";
import { since } from "../pure/when.ts";
import { load, script } from "../screens/Later.tsx";
import { readDraft, writeDraft, type Picked } from "../store/drafts.ts";
import { enterSends } from "../store/look.ts";
import { complain } from "../store/notices.ts";
import { now } from "../store/now.ts";
import { peers, type Peer } from "../store/people.ts";
import type { OpenRoom } from "../store/room.ts";
import { hasFiles, user } from "../wire/session.ts";
import { w } from "../words.ts";
import { Dot, Face } from "./Face.tsx";
import { Icon } from "./Icon.tsx";
import { comboOf, Options, stepped } from "./Options.tsx";
import { awaySince } from "./Secret.tsx";

type Candidate = Picked & { isHere: boolean };

/** Puts a mention into the composer of the open room. */
export let mentionInComposer: (handle: string) => void = () => undefined;

export function Composer({ room }: { room: OpenRoom }) {
  const box = useRef<HTMLTextAreaElement>(null);
  const me = user.value!.id;
  const [draft] = useState(() => readDraft(me, room.id));
  const text = useSignal(draft.text);
  /** Only these are added to the room by sending: a handle that somebody pasted adds nobody. */
  const picked = useSignal(draft.picked);
  /** The text that is on its way; it stays the draft until the outbox has it. */
  const leaving = useSignal("");
  const at = useSignal<{ from: number; query: string } | null>(null);
  const chosen = useSignal(0);
  const [others, setOthers] = useState<Peer[]>([]);
  const chooser = useRef<HTMLInputElement>(null);
  const isDropping = useSignal(false);
  const [isLater, setLater] = useState(false);
  const files = room.outbox.files.value;
  const canSend = files.every(one => one.stored) && (text.value.trim() !== "" || files.length > 0);

  const all: Candidate[] = room.people.all.value.map(one => ({ ...one, isHere: true }));
  const here = all.filter(one => one.id !== me);
  const away: Candidate[] = others.filter(one => !room.people.byId.value.has(one.id)).map(one => ({ ...one, isHere: false }));
  const everybody = [...all, ...picked.value.filter(one => !room.people.byId.value.has(one.id)).map(one => ({ ...one, isHere: false }))];
  const found = at.value ? [...matching(here, at.value.query), ...matching(away, at.value.query, 4)].slice(0, 10) : [];
  const isListOpen = found.length > 0;
  const read = (typed: string) => {
    const { found, stray } = mentionsIn(typed, everybody);
    return { mentioned: found.filter(one => one.id !== me), stray };
  };
  const { mentioned, stray } = read(text.value);

  const isChoosing = at.value !== null;
  // Those who were found before are shown meanwhile, and if it fails.
  useEffect(() => { if (isChoosing) peers(room.id).then(setOthers, () => undefined); }, [isChoosing]);
  useEffect(() => {
    mentionInComposer = handle => {
      const field = box.current;
      if (!field) return;
      const gap = field.value && !/\s$/.test(field.value) ? " " : "";
      write(`${field.value}${gap}@${handle} `);
      field.focus();
    };
  });
  // At once instead of after the next frame: a page that is reloaded loses no letter.
  useLayoutEffect(() => effect(() => { writeDraft(me, room.id, { text: text.value || leaving.value, picked: picked.value }); }), []);

  const write = (value: string): void => {
    text.value = value;
    if (box.current) box.current.value = value;
  };
  const look = (): void => {
    const field = box.current!;
    text.value = field.value;
    at.value = completing(field.value, field.selectionStart);
    chosen.value = 0;
  };
  const pick = (one: Candidate): void => {
    const field = box.current!;
    if (!one.isHere) picked.value = [...picked.value.filter(other => other.id !== one.id), { id: one.id, name: one.name, handle: one.handle, online: one.online }];
    field.setRangeText(`@${one.handle} `, at.value!.from, field.selectionStart, "end");
    look();
    at.value = null;
    field.focus();
  };
  const send = async (): Promise<void> => {
    if (!canSend || leaving.value) return;
    const typed = text.value.trim();
    const wanted = read(typed).mentioned;
    leaving.value = text.value;
    write("");
    at.value = null;
    // The button is disabled now.
    box.current?.focus();
    try {
      for (const one of wanted) if (!room.people.byId.value.has(one.id)) await room.people.add(one.id);
      room.outbox.send(typed, wanted.map(one => one.id));
      picked.value = [];
      // Also if the room was left meanwhile.
      writeDraft(me, room.id, { text: "", picked: [] });
    } catch (cause) {
      write(leaving.value);
      complain(cause);
    } finally {
      leaving.value = "";
    }
  };
  /** `null` is a folder. */
  const attach = (list: (File | null)[]): void => {
    box.current?.focus();
    load().then(parts => parts.attach(room.outbox, list), () => complain(w.files.unloaded));
  };
  const paste = (event: ClipboardEvent): void => {
    const { files: pasted, types } = event.clipboardData!;
    // A text that was copied with its look comes with a picture of it.
    if (!hasFiles.value || pasted.length === 0 || (types.includes("text/plain") && types.includes("text/html"))) return;
    event.preventDefault();
    attach([...pasted]);
  };
  // Files that miss the room would replace the page.
  useLayoutEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const drag = (event: DragEvent): void => {
      if (!hasFiles.value || !event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      clearTimeout(timer);
      isDropping.value = event.type !== "drop";
      // Browsers do not always report that a drag has left the page.
      timer = setTimeout(() => { isDropping.value = false; }, 600);
      if (event.type === "drop" && !document.querySelector("dialog[open]")) {
        attach([...event.dataTransfer.items].filter(one => one.kind === "file").map(one => (one.webkitGetAsEntry()?.isDirectory ? null : one.getAsFile())));
      }
    };
    addEventListener("dragover", drag);
    addEventListener("drop", drag);
    return () => {
      removeEventListener("dragover", drag);
      removeEventListener("drop", drag);
      clearTimeout(timer);
    };
  }, [room]);
  const key = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (isListOpen) {
      const next = stepped(event.key, chosen.value, found.length);
      if (next !== null) chosen.value = next;
      else if (event.key === "Enter" || event.key === "Tab") pick(found[chosen.value]!);
      else if (event.key === "Escape") at.value = null;
      else return;
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    const isSend = event.key === "Enter" && (enterSends.value ? !event.shiftKey && !event.altKey : event.ctrlKey || event.metaKey);
    if (!isSend) return;
    event.preventDefault();
    void send();
  };

  return (
    <>
      <form class={isDropping.value ? "composer dropping" : "composer"} onSubmit={event => { event.preventDefault(); void send(); }}>
        {isListOpen && (
          <Options id="mentions" label={w.composer.suggestions} options={found} chosen={chosen.value} onPick={pick} row={one => (
            <>
              <Face id={one.id} name={one.name} isAgent={isAgentHandle(one.handle)} small />
              <span class="name">{one.name}</span> <span class="handle">@{one.handle}</span>
              {one.isHere ? <span class="at"><Dot isOn={one.online === true} /></span> : <span class="tag">{w.composer.bringIn}</span>}
            </>
          )} />
        )}
        <p class="vh" role="status">{at.value ? w.composer.found(found.length) : ""}</p>
        {files.length > 0 && script && <script.Tray outbox={room.outbox} />}
        <div class="box">
          {hasFiles.value && (
            <>
              <input type="file" multiple hidden ref={chooser} onChange={({ currentTarget }) => { attach([...currentTarget.files!]); currentTarget.value = ""; }} />
              <button type="button" class="quiet square" aria-label={w.files.attach} title={w.files.attach} onClick={() => chooser.current!.click()}><Icon name="paperclip" /></button>
            </>
          )}
          <label class="vh" for="composer">{w.composer.label}</label>
          <textarea id="composer" ref={box} rows={Math.min(10, Math.max(1, text.value.split("\n").length))} placeholder={w.composer.placeholder}
            defaultValue={text.value} dir="auto" readOnly={leaving.value !== ""} aria-busy={leaving.value !== ""} onInput={look} onPaste={paste} onClick={look} onKeyDown={key} onBlur={() => { at.value = null; }}
            aria-haspopup="listbox" {...comboOf("mentions", found.length, chosen.value)} aria-describedby="composer-effect" />
          <button type="button" class="quiet square" aria-label={w.composer.later} title={w.composer.later} disabled={room.outbox.files.value.length > 0} onClick={() => void load().then(() => setLater(true), () => complain(w.unloaded))}><Icon name="clock" /></button>
          <button class="square" aria-label={w.composer.send} title={w.composer.send} disabled={!canSend}><Icon name="send-horizontal" /></button>
        </div>
        <Effect room={room} hasText={canSend && !isListOpen} mentioned={mentioned} stray={stray} />
      </form>
      {isLater && script && <script.Reminders room={room} draft={{ text: text.value, mentioned }} onSent={() => { write(""); picked.value = []; }} onClose={() => setLater(false)} />}
    </>
  );
}

/** What sending does. */
function Effect({ room, hasText, mentioned, stray }: { room: OpenRoom; hasText: boolean; mentioned: Candidate[]; stray: string }) {
  const agents = mentioned.filter(one => isAgentHandle(one.handle));
  const humans = mentioned.filter(one => !isAgentHandle(one.handle));
  const added = mentioned.filter(one => !one.isHere);
  const isAway = (one: Candidate): boolean => (one.isHere ? room.people.byId.value.get(one.id)?.online === false : one.online === false);
  const away = agents.filter(isAway);

  const awake = agents.filter(one => !isAway(one));
  const parts: { text: string; isWarning: boolean }[] = [];
  const files = room.outbox.files.value;
  const hasFailed = files.some(one => one.state === "failed");
  if (files.some(one => !one.stored)) parts.push({ text: hasFailed ? w.files.fix : w.files.wait, isWarning: hasFailed });
  if (awake.length > 0) parts.push({ text: w.composer.wakes(awake.map(one => one.name)), isWarning: false });
  if (agents.length === 0 && hasText && (stray || room.people.agents.value.length > 0)) parts.push({ text: stray ? w.composer.stray(stray) : w.composer.wakesNobody, isWarning: stray !== "" });
  if (humans.length > 0) parts.push({ text: w.composer.notifies(humans.map(one => one.name)), isWarning: false });
  if (added.length > 0) parts.push({ text: w.composer.adds(added.map(one => one.name)), isWarning: false });
  for (const one of away) {
    const last = awaySince(one.id);
    const detail = last ? since(last.at, now.value) + (last.reason ? ` (${last.reason})` : "") : "";
    parts.push({ text: `${w.composer.notConnected(one.name, detail)}. ${w.composer.waitsFor(last !== null)}`, isWarning: true });
  }
  return (
    <p class="effect" id="composer-effect" aria-live="polite">
      {parts.map(part => <span key={part.text} class={part.isWarning ? "warning" : ""}>{part.isWarning && <Icon name="triangle-alert" size={14} />}{part.text}</span>)}
      {parts.length === 0 && <span class="hint">{enterSends.value ? w.composer.enter : w.composer.newline}</span>}
    </p>
  );
}
