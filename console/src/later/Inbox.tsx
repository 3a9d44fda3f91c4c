// The inbox: everything that waits for the user, across rooms.

import {
  BASE, call, complain, Confirm, Field, inform, Nothing, now, Page, place, refocus, refreshAttention, Rows, Tabs, Time, typed, useEffect, usePaged, useRef, useState, visible, w, workChanges,
} from "../shared.ts";
import type { AttentionView } from "../wire/api.ts";
import { isLate, waysOf, type Way } from "../pure/inbox.ts";
import { inbox as words } from "./words.ts";

type Item = AttentionView;
type State = keyof typeof words.states;

const stateOf = (query: URLSearchParams): State => {
  const state = query.get("state") ?? "";
  return Object.hasOwn(words.states, state) ? (state as State) : "open";
};

export function Inbox() {
  const state = stateOf(place.value.query);
  const list = usePaged<Item, {}>(cursor => call("listAttention", { query: { state, limit: 50, cursor } }), [state]);
  const [answering, setAnswering] = useState<Item | null>(null);
  // What somebody reads stays as it is while it is longer than a page.
  const change = workChanges.value;
  const seen = useRef(change);
  useEffect(() => {
    if (change === seen.current) return;
    seen.current = change;
    if (!list.isLong && !list.isBusy.value) void list.load();
  }, [change]);
  const done = (item: Item, text: string): void => {
    if (state === "open") list.drop(item.id);
    inform(text);
    refreshAttention();
    refocus();
  };
  return (
    <Page title={w.inbox.title} intro={words.intro}>
      <Tabs label={w.agents.status} tabs={(Object.keys(words.states) as State[]).map(one => [one === "open" ? "/inbox" : `/inbox?state=${one}`, words.states[one], one === state])} />
      <Rows list={list} kind="cards inbox" row={one => <Row key={one.id} item={one} onAnswer={() => setAnswering(one)} onDone={text => done(one, text)} />}
        empty={<Nothing icon="inbox" title={words.none[state]} text={state === "open" ? words.noneText : undefined} />} />
      {answering && <Answer item={answering} onDone={() => done(answering, words.done.answer)} onClose={() => setAnswering(null)} />}
    </Page>
  );
}

function Row({ item, onAnswer, onDone }: { item: Item; onAnswer: () => void; onDone: (text: string) => void }) {
  const { kind, asker, chat, expires_at: until } = item;
  const name = asker ? visible(asker.name) : "";
  const room = chat && visible(chat.title || w.room.untitled);
  const at = chat && item.message_id ? `${BASE}/rooms/${chat.id}?at=${item.message_id}` : null;
  const isOpen = item.state === "open";
  return (
    <li class={item.blocking && isOpen ? "item blocking" : "item"}>
      <p class="hint">
        <span class="tag">{words.kinds[kind] ?? kind}</span>{" "}
        {name && <span class="who">{name}</span>}{name && " · "}
        {room && <>{at ? <a href={at}>{room}</a> : room} · </>}
        <Time at={item.inserted_at} />
        {isOpen && item.blocking && <> · <strong>{words.blocking}</strong></>}
        {until && item.state !== "answered" && <> · <span class={isLate(until, now.value) ? "late" : ""}><Time at={until} text={isLate(until, now.value) ? words.expired : words.expires} /></span></>}
      </p>
      <p class="said" dir="auto">{item.work ? words.work(item.work.count, item.work.flags.map(flag => w.work.flags[flag as keyof typeof w.work.flags] ?? flag)) : visible(item.summary)}</p>
      {item.default && item.state !== "answered" && <p class="hint" dir="auto">{words.default(visible(item.default))}</p>}
      {item.state === "answered" ? <Outcome item={item} /> : <Ways item={item} name={name} onAnswer={onAnswer} onDone={onDone} />}
    </li>
  );
}

function Outcome({ item }: { item: Item }) {
  const by = item.answered_by ? visible(item.answered_by.name) : "";
  const text = words.outcomes[item.outcome ?? ""]?.(by) ?? words.states.answered;
  return (
    <p class="hint">{item.chat && item.answer_id ? <a href={`${BASE}/rooms/${item.chat.id}?at=${item.answer_id}`}>{text}</a> : text}
      {item.answered_at && <> · <Time at={item.answered_at} /></>}</p>
  );
}

function Ways({ item, name, onAnswer, onDone }: { item: Item; name: string; onAnswer: () => void; onDone: (text: string) => void }) {
  const [isBusy, setBusy] = useState(false);
  const isContact = item.kind === "contact_request";
  const said = isContact ? words.contact : words;
  const run = (way: Way): void => {
    if (way === "answer") return onAnswer();
    if (isBusy) return;
    setBusy(true);
    const path = { attention_id: item.id };
    const work = way === "dismiss" ? call("dismissAttention", { path }) : call("answerAttention", { path, body: { answer: { decision: way } } });
    work.then(() => onDone(said.done[way]), cause => { complain(cause); refreshAttention(); }).finally(() => setBusy(false));
  };
  const { work, chat } = item;
  return (
    <div class="deeds">
      {waysOf(item).map((way, at) => (
        <button key={way} type="button" class={at === 0 && way !== "dismiss" ? "small" : "plain small"} aria-disabled={isBusy} aria-label={w.of(said.ways[way], name || words.kinds[item.kind] || item.kind)} onClick={() => run(way)}>{said.ways[way]}</button>
      ))}
      {work && <a class="button plain small" href={`${BASE}/work?flag=${work.flags.join(",")}&agent=${work.agent_id}${chat ? `&room=${chat.id}` : ""}`}>{words.showWork}</a>}
      {isContact && <a class="button plain small" href={`${BASE}/people`}>{w.contacts.title}</a>}
      {item.kind === "webhook" && item.asker && <a class="button plain small" href={`${BASE}/agents/${item.asker.id}`}>{w.agentPage.webhook}</a>}
    </div>
  );
}

function Answer({ item, onDone, onClose }: { item: Item; onDone: () => void; onClose: () => void }) {
  // The server takes the same answer twice, so one whose response was lost can be sent again.
  const submit = async (data: FormData): Promise<void> => {
    await call("answerAttention", { path: { attention_id: item.id }, body: { answer: { content: typed(data, "content") } } });
    onDone();
  };
  return (
    <Confirm title={w.of(words.answerTo, item.asker ? visible(item.asker.name) : words.someone)} submit={words.ways.answer} onSubmit={submit} onClose={onClose}>
      {fault => (
        <>
          <p class="said" dir="auto">{visible(item.summary)}</p>
          {item.default && <p class="hint" dir="auto">{words.default(visible(item.default))}</p>}
          <Field label={words.yourAnswer} hint={words.answerHint} name="content" rows={4} required maxLength={16_384} data-focus dir="auto" fault={fault("content")} />
        </>
      )}
    </Confirm>
  );
}
