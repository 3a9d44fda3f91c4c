// Finding messages by their words, in all rooms.

import { BASE, call, choose, Field, Icon, Nothing, Page, place, Rows, Time, useEffect, usePaged, visible, w } from "../shared.ts";
import type { SearchHitView } from "../wire/api.ts";
import { asked, partsOf } from "../pure/search.ts";
import { search as words } from "./words.ts";

interface Hit extends SearchHitView { id: string }

const LIMIT = 30;
const TRIES = 5;

/** The server examines a part of all messages at a time. A part without hits is not shown. */
async function read(q: string, cursor?: string) {
  const next = (cursor?: string | null) => call("searchMessages", { query: { q, limit: LIMIT, cursor: cursor ?? undefined } });
  let page = await next(cursor);
  for (let tries = 0; page.data.length === 0 && page.metadata.has_more && tries < TRIES; tries++) page = await next(page.metadata.next_cursor);
  return { metadata: page.metadata, data: page.data.map((hit): Hit => ({ ...hit, id: hit.message_id })) };
}

export function Search() {
  const q = (place.value.query.get("q") ?? "").trim();
  // After the heading, which gets the focus of every screen.
  useEffect(() => { requestAnimationFrame(() => document.querySelector<HTMLElement>("main input[type=search]")?.focus()); }, []);
  return (
    <Page title={w.search.title} intro={words.intro}>
      <form class="filters" role="search" onSubmit={event => { event.preventDefault(); choose({ q: String(new FormData(event.currentTarget).get("q")).trim() }); }}>
        <div class="columns">
          <Field label={words.label} name="q" type="search" maxLength={480} autocomplete="off" dir="auto" defaultValue={q} key={q} />
          <button class="plain"><Icon name="search" size={16} />{w.search.title}</button>
        </div>
      </form>
      {q ? <Hits key={q} q={asked(q)} /> : <dl class="keys">{words.help.map(([text, does]) => <div key={text}><dt><kbd>{text}</kbd></dt><dd>{does}</dd></div>)}</dl>}
    </Page>
  );
}

function Hits({ q }: { q: string }) {
  const list = usePaged<Hit, {}>(cursor => read(q, cursor));
  return <Rows list={list} kind="cards hits" row={hit => <One key={hit.id} hit={hit} />} empty={<div role="status"><Nothing icon="search" title={list.hasMore.value ? words.noneSoFar : words.none} text={words.noneText} /></div>} />;
}

function One({ hit }: { hit: Hit }) {
  const { chat, sender } = hit;
  return (
    <li class="item">
      <p class="hint">
        <a href={`${BASE}/rooms/${chat.id}?at=${hit.message_id}`}>{visible(chat.title || w.room.untitled)} · <Time at={hit.inserted_at} /></a>
        {" · "}<span class="who">{visible(sender.name)}</span>
        {hit.message_type !== "text" && <> · <span class="tag">{words.kinds[hit.message_type] ?? hit.message_type}</span></>}
      </p>
      <p class="said" dir="auto">{partsOf(hit.snippet, hit.highlights).map(({ text, isHit }, at) => (isHit ? <mark key={at}>{visible(text)}</mark> : visible(text)))}</p>
    </li>
  );
}
