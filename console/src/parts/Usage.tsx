// Tokens and their cost: of an agent, of the caller's agents, or of the organization.

import { plain } from "../pure/markdown.ts";
import type { Id } from "../pure/message.ts";
import { day, dayOf, money, number, tokens } from "../pure/usage.ts";
import { visible } from "../pure/visible.ts";
import { agents, isMine } from "../store/agents.ts";
import { now } from "../store/now.ts";
import { roomOf } from "../store/rooms.ts";
import { BASE, choose, place } from "../store/route.ts";
import { usage, type Group } from "../store/usage.ts";
import type { UsageSumView, UsageView } from "../wire/api.ts";
import { w } from "../words.ts";
import { Field, Select } from "./Field.tsx";
import { More, usePaged } from "./Pages.tsx";

/** Days that are shown at first, as the server counts them. */
const DAYS = 30;
const NAME = 120;

export function Usage({ groups, ofAll = false, agent }: { groups: Group[]; ofAll?: boolean; agent?: Id }) {
  const { query } = place.value;
  const group = groups.find(one => one === query.get("by")) ?? groups[0]!;
  const since = dayOf(query.get("from"));
  const until = dayOf(query.get("to"));
  const list = usePaged(cursor => usage(ofAll, {
    group_by: group, limit: 50, since: since || undefined, until: until || undefined, agent_id: agent, cursor,
  }), [group, since, until, agent, ofAll]);
  const rows = list.rows.value;
  const { totals, currency } = list.first.value ?? {};
  const largest = Math.max(1, ...rows.map(tokens));
  const last = until || day(now.value);
  return (
    <>
      <div class="filters">
        <Select label={w.usage.by} value={group} options={groups.map(one => [one, w.usage.groups[one]])} onChange={by => choose({ by })} />
        <Field label={w.usage.since} type="date" max={last} value={since || day(Date.parse(last), DAYS - 1)} onChange={event => choose({ from: event.currentTarget.value })} />
        <Field label={w.usage.until} type="date" min={since} value={last} onChange={event => choose({ to: event.currentTarget.value })} />
        <p class="hint">{w.usage.days}</p>
      </div>
      {rows.length > 0 && (
        <table class="sums">
          <caption class="vh">{w.usage.caption(w.usage.groups[group])}</caption>
          <thead><tr><th scope="col">{w.usage.groups[group]}</th><th scope="col">{w.usage.tokens}</th>{currency && <th scope="col">{w.usage.cost}</th>}</tr></thead>
          <tbody>
            {rows.map(row => (
              <Row key={row.id} sum={row} currency={currency} share={tokens(row) / largest}><Name row={row} group={group} ofAll={ofAll} /></Row>
            ))}
          </tbody>
          {totals && <tfoot><Row sum={totals} currency={currency}>{w.usage.total}</Row></tfoot>}
        </table>
      )}
      {totals && currency && totals.unpriced_tokens > 0 && <p class="hint">{w.usage.unpriced(number(totals.unpriced_tokens))}</p>}
      <More list={list} empty={<div><p>{w.usage.none}</p><p class="hint">{w.usage.noneText}</p></div>} />
    </>
  );
}

function Row({ sum, currency, share, children }: { sum: UsageSumView; currency: string | null | undefined; share?: number; children: preact.ComponentChildren }) {
  const part = (count: number): string => (count > 0 ? number(count) : "");
  return (
    <tr>
      <th scope="row">
        {children}
        <span class="hint">{w.usage.parts(number(sum.input_tokens), number(sum.output_tokens), part(sum.cache_read_tokens), part(sum.cache_write_tokens), sum.reports)}</span>
      </th>
      <td>{number(tokens(sum))}{share !== undefined && <Bar share={share} />}</td>
      {currency && <td>{sum.cost == null ? w.usage.noPrice : money(sum.cost, currency)}</td>}
    </tr>
  );
}

/** How much of a whole. The number beside it says it in words. */
export function Bar({ share, level = "low" }: { share: number; level?: string }) {
  return (
    <svg class={`share ${level}`} viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect width={Math.min(100, share * 100)} height="6" />
    </svg>
  );
}

function Name({ row, group, ofAll }: { row: UsageView; group: Group; ofAll: boolean }) {
  if (group === "day") return <time dateTime={row.id!}>{new Date(row.id!).toLocaleDateString(undefined, { timeZone: "UTC", dateStyle: "medium" })}</time>;
  const name = group === "model" ? row.id : row.name;
  const handle = row.handle && <span class="handle"> @{row.handle}</span>;
  if (name == null) return <>{w.usage.unknown[group]}{handle}</>;
  const text = group === "tree" ? plain(visible(name), agents.value.map(one => ({ id: one.id, name: one.name, handle: one.handle, kind: "mention" })), NAME) : visible(name);
  // Admins see the titles of rooms that they cannot open.
  const room = group === "room" ? row.id : row.chat_room_id;
  const canOpen = room && (!ofAll || roomOf(room));
  const to = group === "agent" ? (row.id && isMine(row.id) ? `/agents/${row.id}` : "")
    : !canOpen ? "" : group === "tree" ? `/rooms/${room}?at=${row.id}` : group === "room" ? `/rooms/${room}` : "";
  return <>{to ? <a href={BASE + to}>{text}</a> : text}{handle}</>;
}
