// What followed from a message: the conversation of agents and people, each message below the one that it follows from.

import {
  BASE, clock, Deliveries, deliveriesOf, Face, Fault, find, Guarded, Icon, isMine, isObserved, isText, Markdown, mentionsOf, Page, roomOf, Steps, Time, useEffect, useMemo, useState, visible, w, WorkBulk,
} from "../shared.ts";
import type { Id } from "../pure/message.ts";
import { rootOf, type TreeMessage } from "../pure/tree.ts";
import { Attachments } from "./Files.tsx";
import { OpenTree } from "./tree.ts";
import { tree as words } from "./words.ts";

/** Deeper rows are not moved further; their hops are numbers. */
const MOST_INDENTED = 12;

export function Tree({ room, message }: { room: Id; message: Id }) {
  const tree = useMemo(() => new OpenTree(room, message), [room, message]);
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    tree.open();
    find(room).catch(() => undefined);
    return () => tree.close();
  }, [tree]);
  const known = roomOf(room);
  const back = `/rooms/${room}?at=${message}`;
  const messages = tree.messages.value;
  const rows = tree.rows.value;
  const root = messages[0];
  const cursor = tree.cursor.value;
  const usage = tree.usage.value;
  const isParticipant = known !== undefined && !isObserved(known);
  const texts = rows.filter(row => row.kind === "message").length;
  const held = messages.flatMap(deliveriesOf).filter(one => one.state === "held");
  const rootId = root && rootOf(root);
  return (
    <Page title={w.tree.title} back={back} intro={<>{words.in} <a href={BASE + back}>{visible(known?.title ?? w.room.untitled)}</a>. {words.part}</>}>
      {root && (
        <div class="deeds picks">
          <span class="hint">{words.size(texts, Boolean(cursor))} · {usage && usage.reports > 0 ? words.tokens(usage.input_tokens, usage.output_tokens) : words.noTokens}
            {held.length > 0 && ` · ${words.held(held.length)}`}</span>
          {held.some(one => isMine(one.agent.id)) && <button type="button" class="plain small" onClick={() => setAsking(true)}>{words.release}</button>}
          <a href={`${BASE}/work?state=open&root=${rootId}`}>{words.work}</a>
        </div>
      )}
      <Fault text={tree.fault.value} />
      <p class="hint" role="status">{tree.isLong.value && <>{words.long} <button type="button" class="link" onClick={() => tree.refresh()}>{w.work.refresh}</button></>}</p>
      {!root && tree.isLoading.value && <p class="hint" role="status">{w.loading}</p>}
      <ol class="tree" aria-label={words.list}>
        {rows.map(row => (
          <li key={row.kind === "steps" ? row.line.id : row.message.id} id={row.kind === "message" ? `tree-${row.message.id}` : undefined}
            class={`d${Math.min(row.depth, MOST_INDENTED)}${row.kind === "message" && row.message.id === message ? " here" : ""}`}>
            <Guarded>{row.kind === "steps" ? <Steps line={row.line} /> : <One message={row.message} above={row.above} isParticipant={isParticipant} />}</Guarded>
          </li>
        ))}
      </ol>
      {cursor && <button type="button" class="plain" onClick={() => tree.more()}>{w.loadMore}</button>}
      {isAsking && <WorkBulk kind="retry" words={words.releasing} scope="mine" target={{ filters: [{ state: "held", root: rootId!, chat_id: room }] }} onItem={() => undefined}
        onClose={didRun => { setAsking(false); if (didRun) tree.refresh(); }} />}
    </Page>
  );
}

function One({ message, above, isParticipant }: { message: TreeMessage; above: TreeMessage | null | undefined; isParticipant: boolean }) {
  const { hop } = message;
  const name = visible(message.sender_name);
  return (
    <article aria-label={w.room.message(name, clock(message.inserted_at))}>
      <header>
        <Face id={message.sender_id} name={message.sender_name} isAgent={message.sender_type === "Agent"} small />
        <span class="name">{name}</span>
        {message.sender_type === "Agent" && <span class="tag">{w.agent}</span>}
        <Time at={message.inserted_at} />
        <span class="tag">{words.hop(hop)}</span>
        <a href={`${BASE}/rooms/${message.chat_room_id}?at=${message.id}`}>{words.show}</a>
      </header>
      {above !== undefined && (
        <p class="hint">{above ? words.follows(visible(above.sender_name), clock(above.inserted_at)) : words.elsewhere}</p>
      )}
      {message.message_type === "attention" && <p class="warning"><Icon name="triangle-alert" size={16} /> {w.room.attention(name)}</p>}
      <Markdown text={message.content} mentions={mentionsOf(message)} isPlain={!isText(message)} />
      <Attachments room={message.chat_room_id} files={message.attachments} />
      <Deliveries message={message} isParticipant={isParticipant} />
    </article>
  );
}
