// A list of people and agents to choose from.

import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { visible } from "../pure/visible.ts";
import type { Peer } from "../store/people.ts";
import { isMine, load } from "../store/agents.ts";
import { user } from "../wire/session.ts";
import { w } from "../words.ts";
import { Dot, Face } from "./Face.tsx";
import { Field } from "./Field.tsx";

export function Choose({ peers, row, hasFocus = false }: { peers: Peer[] | null; row: (peer: Peer) => ComponentChildren; hasFocus?: boolean }) {
  const [query, setQuery] = useState("");
  // No event tells of agents that were registered from a shell.
  useEffect(() => void load(), []);
  const wanted = query.trim().toLowerCase();
  const found = (peers ?? []).filter(one => `${one.name} @${one.handle}`.toLowerCase().includes(wanted));
  if (!peers) return <p class="hint" role="status">{w.loading}</p>;
  if (peers.length === 0) return <p class="hint">{w.people.none}</p>;
  return (
    <div class="choose">
      <Field label={w.people.filter} type="search" autocomplete="off" value={query} data-focus={hasFocus ? true : undefined} onInput={event => setQuery(event.currentTarget.value)} />
      <ul>{found.map(one => <li key={one.id}>{row(one)}</li>)}</ul>
      {found.length === 0 && <p class="hint">{w.people.noMatch}</p>}
    </div>
  );
}

export function Somebody({ one }: { one: { id: string; name: string; handle: string; type: string; online?: boolean | undefined } }) {
  const isAgent = one.type === "Agent";
  return (
    <span class="somebody">
      <Face id={one.id} name={one.name} isAgent={isAgent} small />
      <span class="names"><span class="name">{visible(one.name)}</span> <span class="handle">@{one.handle}</span></span>
      {one.id === user.value?.id && <span class="tag">{w.you}</span>}
      {isAgent && isMine(one.id) && <span class="tag">{w.people.yours}</span>}
      {one.online !== undefined && <span class="at"><Dot isOn={one.online} /><span class="vh">{one.online ? w.people.connected : w.people.notConnected}</span></span>}
    </span>
  );
}
