// What agents remember, as far as the caller can see it. Contents are data: they are shown as they were stored.

import {
  agents, ApiError, choose, complain, Detail, exact, Field, Icon, inform, isMine, isObserved, Nothing, now, Page, place, refocus, rooms, Rows, Select, since, useConfirm, useEffect, useRef, user, useState, visible, w,
} from "../shared.ts";
import { deedsOf, mayChange, TYPES, type Deed } from "../pure/memory.ts";
import { ask, change, memories, remove, type Filters, type Memory } from "./memories.ts";
import { memories as words } from "./words.ts";

const PREVIEW = 200;
/** What the filters are called in the address. */
const NAMES = { content_query: "text", scope: "about", status: "status", system: "system", type: "type", segment: "segment", source_agent_id: "agent", chat_room_id: "room" } as const;
const SEGMENTS = ["user", "agent", "tool", "guideline"];
/** The values of the API are words. */
const wordOf = (value: string): string => value.replace("_", "-");

export function Memories() {
  const { query } = place.value;
  const filters = Object.fromEntries(Object.entries(NAMES).flatMap(([as, name]) => { const value = query.get(name); return value ? [[as, value]] : []; })) as Filters;
  useEffect(() => ask(filters), [query.toString()]);
  const set = (changes: Filters): void => {
    const named = Object.fromEntries(Object.entries(changes).map(([as, value]) => [NAMES[as as keyof typeof NAMES], String(value ?? "")]));
    const { type, system } = { ...filters, ...changes };
    // A system has types of its own.
    choose(type && system && !TYPES[system]?.includes(type) ? { ...named, type: "" } : named);
  };
  const choice = (label: string, name: keyof Filters, options: (readonly [value: string, text: string])[], any = words.any) => (
    <Select label={label} value={filters[name] ?? ""} onChange={value => set({ [name]: value })} options={[["", any], ...options]} />
  );
  const plain = (values: string[]) => values.map(one => [one, wordOf(one)] as const);
  const types = filters.system ? (TYPES[filters.system] ?? []) : [...new Set(Object.values(TYPES).flat())];
  const { fault } = memories;
  const isRefused = fault.value instanceof ApiError && fault.value.status === 403;
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <Page title={w.memories.title} intro={words.intro}>
      {isRefused ? <Nothing icon="archive" title={words.notInPlan} text={words.notInPlanText} /> : (
        <>
          <form class="filters" role="search" onSubmit={event => { event.preventDefault(); set({ content_query: String(new FormData(event.currentTarget).get("text")).trim() }); }}>
            <div class="columns">
              <Field label={words.search} name="text" type="search" maxLength={200} autocomplete="off" defaultValue={filters.content_query ?? ""} key={filters.content_query ?? ""} />
              <button class="plain"><Icon name="search" size={16} />{words.filter}</button>
            </div>
            {choice(words.scope, "scope", Object.entries(words.scopes))}
            {choice(w.agents.status, "status", [...plain(["archived", "superseded"]), ["all", words.any]], wordOf("active"))}
            {choice(words.system, "system", plain(Object.keys(TYPES)))}
            {choice(words.type, "type", plain(types))}
            {choice(words.segment, "segment", plain(SEGMENTS))}
            {choice(words.agent, "source_agent_id", agents.value.map(one => [one.id, visible(one.name)]))}
            {choice(w.usage.groups.room, "chat_room_id", rooms.value.filter(one => !isObserved(one)).map(one => [one.id, visible(one.title)]))}
            {isFiltered && <button type="button" class="link" onClick={() => choose(Object.fromEntries(Object.values(NAMES).map(name => [name, ""])))}>{w.clear}</button>}
          </form>
          <Rows list={memories} kind="cards memories" row={one => <One key={one.id} memory={one} />}
            empty={isFiltered ? <p class="hint" role="status">{words.noMatch}</p> : <Nothing icon="archive" title={words.none} text={words.noneText} />} />
        </>
      )}
    </Page>
  );
}

function One({ memory }: { memory: Memory }) {
  // What is inside is drawn while it is open.
  const [isOpen, setOpen] = useState(false);
  const { status, content } = memory;
  const facts = [
    words.storedBy(memory.source_agent_name ? visible(memory.source_agent_name) : words.deletedAgent),
    memory.subject_name ? words.about(visible(memory.subject_name)) : "",
    since(memory.inserted_at, now.value),
  ];
  return (
    <li>
      <details onToggle={event => { if (event.target === event.currentTarget) setOpen((event.currentTarget as HTMLDetailsElement).open); }}>
        <summary>
          <Icon name="chevron-right" size={16} />
          <span class="preview" dir="auto">{visible(content.slice(0, PREVIEW))}</span>
          <span class="hint">{facts.filter(Boolean).join(" · ")}</span>
          <span class="tags">
            {[status === "active" ? "" : status, memory.system, memory.type, memory.segment].map(tag => tag && <span key={tag} class="tag">{wordOf(tag)}</span>)}
          </span>
        </summary>
        {isOpen && <Inside memory={memory} />}
      </details>
    </li>
  );
}

function Inside({ memory }: { memory: Memory }) {
  const [question, ask] = useConfirm();
  const [isBusy, setBusy] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const { id, metadata, thought } = memory;
  const press = (deed: Deed): void => {
    const run = (): Promise<void> => (deed === "delete" ? remove(id) : change(id, deed));
    const text = words.permanent[deed];
    const done = words.done[deed];
    if (text) return ask({ deed: words.deeds[deed], text, done, run });
    setBusy(true);
    run().then(() => inform(done), complain).finally(() => { setBusy(false); refocus(box.current?.closest("li")?.querySelector("summary")); });
  };
  return (
    <div class="inside" ref={box}>
      <p class="said" dir="auto">{visible(memory.content)}</p>
      <dl>
        {thought && <><dt>{words.thought}</dt><dd class="said" dir="auto">{visible(thought)}</dd></>}
        <dt>{words.visibility}</dt><dd>{words.visibilities[memory.scope] ?? memory.scope}</dd>
        <dt>{words.stored}</dt><dd><time dateTime={memory.inserted_at}>{exact(memory.inserted_at)}</time></dd>
        {memory.updated_at > memory.inserted_at && <><dt>{words.changed}</dt><dd><time dateTime={memory.updated_at}>{exact(memory.updated_at)}</time></dd></>}
      </dl>
      {Object.keys(metadata).length > 0 && <Detail text={JSON.stringify(metadata, null, 2)} label={words.metadata} />}
      {mayChange(memory, user.value!.id, isMine) ? (
        <div class="deeds">
          {deedsOf(memory.status).map(deed => <button key={deed} type="button" class={deed === "delete" ? "plain small danger" : "plain small"} disabled={isBusy} onClick={() => press(deed)}>{words.deeds[deed]}</button>)}
        </div>
      ) : <p class="hint">{words.readOnly}</p>}
      {question}
    </div>
  );
}
