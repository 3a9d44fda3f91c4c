// All work that agents owe, across rooms: why it is not done, and what can be done about it.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Fault } from "../parts/Dialog.tsx";
import { Field, Select } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Nothing, Page, Section, Tabs } from "../parts/Page.tsx";
import { WorkBulk, type Target } from "../parts/WorkBulk.tsx";
import { WorkRow } from "../parts/WorkRow.tsx";
import { visible } from "../pure/visible.ts";
import { since } from "../pure/when.ts";
import { filtersOf, groupsOf, isOrganization, keyOf, viewOf, VIEWS, type Item, type View } from "../pure/work.ts";
import { agents } from "../store/agents.ts";
import { refreshAttention, workChanges } from "../store/attention.ts";
import { Ledger } from "../store/ledger.ts";
import { now } from "../store/now.ts";
import { isAdmin } from "../store/organization.ts";
import { rooms } from "../store/rooms.ts";
import { address, BASE, choose, place } from "../store/route.ts";
import type { Deed } from "../store/work.ts";
import { w } from "../words.ts";

export function Work() {
  const { query } = place.value;
  const search = query.toString();
  const ledger = useMemo(() => new Ledger(isOrganization(query) ? "organization" : "mine", filtersOf(query)), [search]);
  useEffect(() => {
    void ledger.load();
    return () => ledger.close();
  }, [ledger]);
  const rows = ledger.rows.value;
  const view = viewOf(query);
  const isAll = ledger.scope === "organization";
  return (
    <Page title={w.work.title} intro={w.work.intro}
      action={<button type="button" class="plain" onClick={() => { void ledger.load(); refreshAttention(); }}><Icon name="rotate-cw" size={16} />{w.work.refresh}</button>}>
      {(isAdmin.value || isAll) && (
        <Tabs label={w.work.scope} tabs={["", "organization"].map(scope =>
          [address({ scope, error: undefined, agent: undefined, room: undefined }), scope ? w.organization.title : w.work.mine, isAll === (scope !== "")])} />
      )}
      <Tabs label={w.work.view} tabs={(Object.keys(VIEWS) as View[]).map(name => [address({ state: undefined, flag: undefined, ...VIEWS[name] }), w.work.views[name], view === name])} />
      <Filters rows={rows} hasErrors={!isAll} />
      <List key={search} ledger={ledger} view={view} />
    </Page>
  );
}

function Filters({ rows, hasErrors }: { rows: Item[]; hasErrors: boolean }) {
  const { query } = place.value;
  const names = new Map<string, string>(hasErrors ? agents.value.map(one => [one.id, one.name]) : []);
  const titles = new Map<string, string>(hasErrors ? rooms.value.map(one => [one.id, one.title]) : []);
  for (const one of rows) {
    names.set(one.agent.id, one.agent.name);
    titles.set(one.chat_room_id, one.chat_room_title ?? titles.get(one.chat_room_id) ?? w.room.untitled);
  }
  const isSet = ["agent", "room", "error", "root"].some(name => query.get(name));
  return (
    <form class="filters" onSubmit={event => { event.preventDefault(); choose({ error: String(new FormData(event.currentTarget as HTMLFormElement).get("error") ?? "").trim() }); }}>
      <Options name="agent" label={w.usage.groups.agent} all={w.work.allAgents} options={names} />
      <Options name="room" label={w.usage.groups.room} all={w.work.allRooms} options={titles} />
      {hasErrors && <Field key={query.get("error")} label={w.work.error} name="error" type="search" maxLength={200} autocomplete="off" defaultValue={query.get("error") ?? ""} />}
      {hasErrors && <button class="plain">{w.work.filter}</button>}
      {isSet && <p class="hint">{query.get("root") && w.work.inTree} <a href={BASE + address({ agent: undefined, room: undefined, error: undefined, root: undefined })}>{w.clear}</a></p>}
    </form>
  );
}

function Options({ name, label, all, options }: { name: string; label: string; all: string; options: Map<string, string> }) {
  const value = place.value.query.get(name) ?? "";
  const list = [...options].sort(([, a], [, b]) => a.localeCompare(b));
  if (value && !options.has(value)) list.push([value, value]);
  return (
    <Select label={label} value={value} onChange={one => choose({ [name]: one })} options={[["", all], ...list.map(([id, text]): [string, string] => [id, visible(text)])]} />
  );
}

const DEEDS: [Deed["kind"], string][] = [["retry", w.delivery.retry], ["deadLetter", w.delivery.deadLetter], ["reassign", w.work.reassign], ["sendAgain", w.delivery.sendAgain]];

function List({ ledger, view }: { ledger: Ledger; view: View | undefined }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isAll, setAll] = useState(false);
  const [asking, setAsking] = useState<{ kind: Deed["kind"]; target: Target } | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const rows = ledger.rows.value;
  const hasMore = ledger.hasMore.value;
  const isLoading = ledger.isLoading.value;
  const isFresh = view === "needy" && ledger.filters.every(one => Object.keys(one).length === 1);
  const picked = rows.filter(one => chosen.has(keyOf(one)));
  const isEach = rows.length > 0 && picked.length === rows.length;

  // What somebody reads, or has chosen, stays as it is until they ask for more.
  const change = workChanges.value;
  const seen = useRef(change);
  const isHeld = useRef(false);
  isHeld.current = chosen.size > 0 || isAll || asking !== null;
  useEffect(() => {
    if (change === seen.current) return;
    seen.current = change;
    if (!isHeld.current && !ledger.isLoading.value && !box.current?.querySelector("details[open]")) ledger.refresh();
  }, [change]);

  // The row that had the focus may have gone.
  const had = useRef(false);
  had.current = box.current?.contains(document.activeElement) === true;
  useLayoutEffect(() => {
    if (had.current && document.activeElement === document.body) document.querySelector<HTMLElement>("main h1")?.focus();
  }, [rows]);

  const choose = (key: string, isOn: boolean): void => {
    const next = new Set(chosen);
    if (isOn) next.add(key); else next.delete(key);
    setAll(false);
    setChosen(next);
  };
  const none = (): void => {
    setAll(false);
    setChosen(new Set());
  };
  const close = (didRun: boolean): void => {
    setAsking(null);
    if (!didRun) return;
    none();
    ledger.refresh();
    refreshAttention();
  };
  const start = (kind: Deed["kind"]) => (): void => setAsking({ kind, target: isAll ? { filters: ledger.filters } : { items: picked } });
  const take = (item: Item): void => ledger.take(item);
  return (
    <>
      {ledger.scope === "mine" && <Groups rows={rows} hasMore={hasMore} />}
      <Fault text={ledger.fault.value} />
      <p class="hint" role="status">{ledger.isOld.value && <>{w.work.newer} <button type="button" class="link" onClick={() => void ledger.load()}>{w.work.refresh}</button></>}</p>
      <div ref={box}>
        {rows.length > 0 && (
          <>
            <div class="deeds picks">
              <label class="pick"><input type="checkbox" checked={isAll || isEach} ref={input => { if (input) input.indeterminate = picked.length > 0 && !isEach && !isAll; }}
                onChange={event => (event.currentTarget.checked ? setChosen(new Set(rows.map(keyOf))) : none())} />{w.work.chooseShown}</label>
              <span class="hint" role="status">{isAll ? w.work.chosenAll : picked.length > 0 ? w.work.chosen(picked.length) : ""}</span>
              {isEach && hasMore && !isAll && <button type="button" class="link" onClick={() => setAll(true)}>{w.work.chooseAll}</button>}
              {picked.length > 0 && DEEDS.filter(([kind]) => kind !== "deadLetter" || view !== "dead").map(([kind, text]) => (
                <button key={kind} type="button" class="plain small" onClick={start(kind)}>{text}</button>
              ))}
            </div>
            <ul class="cards work" aria-label={w.work.list}>
              {rows.map(one => { const key = keyOf(one); return <WorkRow key={key} item={one} scope={ledger.scope} isChosen={isAll || chosen.has(key)} onChoose={isOn => choose(key, isOn)} onItem={take} />; })}
            </ul>
          </>
        )}
        {rows.length === 0 && !ledger.fault.value && (isLoading ? <p class="hint" role="status">{w.loading}</p> : (
          <Nothing icon="check" title={isFresh ? w.work.noneNeedy : w.work.none} text={isFresh ? w.work.noneNeedyText : undefined} />
        ))}
        {hasMore && <button type="button" class="plain" onClick={() => void ledger.more()}>{w.loadMore}</button>}
      </div>
      {asking && <WorkBulk {...asking} scope={ledger.scope} onItem={take} onClose={close} />}
    </>
  );
}

function Groups({ rows, hasMore }: { rows: Item[]; hasMore: boolean }) {
  const groups = useMemo(() => groupsOf(rows), [rows]);
  if (!groups.some(one => one.count > 1)) return null;
  return (
    <Section title={w.work.groups} intro={hasMore && w.work.groupsPart(rows.length)}>
      <ul class="lines groups">
        {groups.slice(0, 20).map(one => (
          <li key={one.key}>
            {one.error ? <a href={BASE + address({ error: one.error })}>{visible(one.text)}</a> : <span>{visible(one.text)}</span>}
            <span class="hint">{w.work.group(one.count)} · {one.agents.slice(0, 3).map(visible).join(", ")}{one.agents.length > 3 && ` +${one.agents.length - 3}`} · {w.work.between(since(one.first, now.value), since(one.last, now.value))}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
