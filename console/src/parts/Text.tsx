// One text of a room.

import { useState } from "preact/hooks";
import { mentionsOf, type Message } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { clock, exact, since } from "../pure/when.ts";
import { BASE, go } from "../store/route.ts";
import { inform } from "../store/notices.ts";
import { now } from "../store/now.ts";
import type { OpenRoom } from "../store/room.ts";
import type { Script } from "../screens/Later.tsx";
import { call } from "../wire/call.ts";
import { user } from "../wire/session.ts";
import { w } from "../words.ts";
import { mentionInComposer } from "./Composer.tsx";
import { copy } from "./Copy.tsx";
import { Deliveries } from "./Deliveries.tsx";
import { Confirm } from "./Dialog.tsx";
import { Face } from "./Face.tsx";
import { Markdown } from "./Markdown.tsx";
import { Menu, type Choice } from "./Menu.tsx";

/** `parts` draws files, once it is loaded. */
export function Text({ message, room, isContinued, isParticipant, parts }: { message: Message; room: OpenRoom; isContinued: boolean; isParticipant: boolean; parts: Script | null }) {
  const [asking, setAsking] = useState<"edit" | "delete" | null>(null);
  const isMine = message.sender_id === user.value?.id;
  const name = visible(message.sender_name);
  const mentions = mentionsOf(message);
  const path = { chat_id: room.id, message_id: message.id };
  const close = (): void => setAsking(null);

  const choices: Choice[] = [];
  const handle = message.sender_handle;
  if (isParticipant && !isMine && handle) choices.push({ label: w.room.reply, icon: "reply", run: () => mentionInComposer(handle) });
  choices.push(
    { label: w.room.copyText, icon: "copy", run: () => void copied(readable(message)) },
    { label: w.room.copyLink, icon: "external-link", run: () => void copied(`${location.origin}${BASE}/rooms/${room.id}?at=${message.id}`) },
  );
  if (isParticipant) choices.push({ label: w.room.markUnread, icon: "message-square", run: () => void room.markUnread(message) });
  choices.push({ label: w.tree.open, icon: "list-tree", run: () => go(`/rooms/${room.id}/tree/${message.id}`) });
  if (isParticipant && isMine) {
    choices.push(
      { label: w.room.edit, icon: "pencil", run: () => setAsking("edit") },
      { label: w.room.remove, icon: "trash", danger: true, run: () => setAsking("delete") },
    );
  }
  return (
    <article class={isContinued ? "text continued" : "text"} aria-label={w.room.message(name, clock(message.inserted_at))}>
      {!isContinued && <Face id={message.sender_id} name={message.sender_name} isAgent={message.sender_type === "Agent"} />}
      <header class={isContinued ? "vh" : ""}>
        <span class="name" title={handle ? `@${handle}` : undefined}>{name}</span>
        {message.sender_type === "Agent" && <span class="tag">{w.agent}</span>}
        <time dateTime={message.inserted_at} title={exact(message.inserted_at)}>{clock(message.inserted_at)}</time>
        {message.respond_by && <span class="tag" title={exact(message.respond_by)}>{w.room.respondBy(since(message.respond_by, now.value))}</span>}
        {message.updated_at > message.inserted_at && <span class="hint">{w.room.edited}</span>}
      </header>
      <Markdown text={message.content} mentions={mentions} />
      {parts ? <parts.Attachments room={room.id} files={message.attachments} /> : <FileNames files={message.attachments} />}
      <Deliveries message={message} isParticipant={isParticipant} />
      <div class="tools"><Menu label={`${w.more}: ${w.room.message(name, clock(message.inserted_at))}`} choices={choices} /></div>
      {asking === "edit" && <Edit message={message} onClose={close} onSave={async content => void (await call("editMessage", { path, body: { message: { content } } }))} />}
      {asking === "delete" && (
        <Confirm title={w.room.remove} text={w.room.removeAsk} submit={w.room.remove} danger onClose={close}
          onSubmit={async () => void (await call("deleteMessage", { path }))} />
      )}
    </article>
  );
}

export const FileNames = ({ files }: { files: { name: string }[] }) => files.length > 0 ? <p class="hint">{w.files.names(files.map(one => visible(one.name)))}</p> : null;

async function copied(text: string): Promise<void> {
  inform((await copy(text)) ? w.copied : w.notCopied);
}

/** The text with names in place of markers, as it can be edited. */
function readable(message: Message): string {
  const mentions = mentionsOf(message);
  return message.content.replace(/@\[\[([0-9a-f-]{36})\]\]/g, (marker, id) => {
    const one = mentions.find(mention => mention.id === id);
    return one ? `@${one.handle}` : marker;
  });
}

function Edit({ message, onSave, onClose }: { message: Message; onSave: (content: string) => Promise<void>; onClose: () => void }) {
  return (
    <Confirm title={w.room.editLabel} submit={w.save} wide onSubmit={data => onSave(String(data.get("content")))} onClose={onClose}>
      <label class="vh" for="edit">{w.room.editLabel}</label>
      <textarea id="edit" name="content" rows={6} required defaultValue={readable(message)} data-focus dir="auto" />
    </Confirm>
  );
}
