// The server that answers: its condition, its throughput, and what the store holds.

import { BASE, Dot, duration, Icon, Loading, number, Section, Time, useRead, visible, w } from "../shared.ts";
import { size } from "../pure/throughput.ts";
import type { NodeView, OverviewView } from "../wire/api.ts";
import { Charts } from "./Charts.tsx";
import { overview } from "./read.ts";
import { words } from "./words.ts";

const WATCH_MS = 5000;
const DAY_SECONDS = 86_400;

export function Overview() {
  const read = useRead(overview, [], WATCH_MS);
  const one = read.value;
  return (
    <>
      <Loading of={read} />
      {one && <Condition one={one} />}
      <Charts />
      {one && <Checks one={one} />}
      {one && one.nodes.length > 0 && <Nodes one={one} />}
      {one && <Totals one={one} />}
    </>
  );
}

const uptime = (seconds: number): string => (seconds < 2 * DAY_SECONDS ? duration(seconds * 1000) : words.days(Math.floor(seconds / DAY_SECONDS)));

function Condition({ one }: { one: OverviewView }) {
  return (
    <Section title={words.server}>
      <dl>
        <dt>{words.version}</dt><dd>{one.version} <span class="hint">{one.commit.slice(0, 12)}</span></dd>
        <dt>{words.uptime}</dt><dd>{uptime(one.uptime_seconds)}</dd>
        <dt>{words.store}</dt><dd>{words.stores[one.store.kind] ?? one.store.kind}, {size(one.store.size_bytes)}</dd>
        <dt>{words.disk}</dt><dd class={one.disk_short ? "warning" : undefined}>{one.disk_short ? words.diskFull : words.diskFine}</dd>
        {one.nats_connected != null && <><dt>{words.nats}</dt><dd class={one.nats_connected ? undefined : "warning"}>{one.nats_connected ? words.natsOn : words.natsOff}</dd></>}
        <dt>{words.sockets}</dt><dd>{words.socketsOf(one.sockets.users, one.sockets.agents)}</dd>
      </dl>
    </Section>
  );
}

/** What needs somebody comes first. */
function Checks({ one }: { one: OverviewView }) {
  const rank = (outcome: string): number => ["fault", "warning"].indexOf(outcome) + 1 || 3;
  const found = [...one.findings].sort((one, other) => rank(one.outcome) - rank(other.outcome));
  return (
    <Section title={words.checks}>
      <ul class="lines checks">
        {found.map(({ check, outcome, found, next }) => (
          <li key={`${check} ${found}`}>
            <span><b>{words.check(visible(check))}</b> <span class="hint">{visible(found)}</span>{next && <span class="hint next">{visible(next)}</span>}</span>
            <span class={`outcome ${outcome}`}><Icon name={outcome === "ok" ? "check" : outcome === "warning" ? "triangle-alert" : "circle-x"} size={16} />{words.outcomes[outcome] ?? outcome}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Nodes({ one }: { one: OverviewView }) {
  const { cluster } = one;
  return (
    <Section title={words.nodes} intro={cluster && words.cluster(cluster.nodes, cluster.connected_users, cluster.connected_agents)}>
      <ul class="lines">{one.nodes.map(node => <Node key={node.id} node={node} isThis={node.id === one.node_id} />)}</ul>
    </Section>
  );
}

function Node({ node, isThis }: { node: NodeView; isThis: boolean }) {
  return (
    <li>
      <span><code>{node.id}</code> {isThis && <span class="tag">{words.thisOne}</span>}
        <span class="hint next"><Time at={node.entered_at} text={words.connectedSince} /> · <Time at={node.lease_until} text={words.lease} /></span></span>
      <span class="presence"><Dot isOn={node.alive} />{node.alive ? words.alive : words.dead}</span>
    </li>
  );
}

function Totals({ one: { totals, work } }: { one: OverviewView }) {
  return (
    <Section title={words.totals}>
      <dl>
        <dt>{words.organizations}</dt><dd>{number(totals.organizations)}{totals.paused_organizations > 0 && <span class="hint"> · {words.paused(number(totals.paused_organizations))}</span>}</dd>
        <dt>{words.users}</dt><dd>{number(totals.users)}</dd>
        <dt>{words.agents}</dt><dd>{number(totals.agents)}</dd>
        <dt>{words.rooms}</dt><dd>{number(totals.chats)}</dd>
        <dt>{words.messages}</dt><dd>{number(totals.messages)}</dd>
        <dt>{words.openWork}</dt><dd><a href={`${BASE}/operator/trouble`}>{number(work.open)}</a>{flagged(work) && <span class="hint"> · {flagged(work)}</span>}</dd>
      </dl>
    </Section>
  );
}

/** "2 stuck · 1 dead-lettered", or nothing. */
export function flagged(work: OverviewView["work"]): string {
  const flags = (["unanswered", "stuck", "failing"] as const).map(flag => [work[flag], w.work.flags[flag]] as const);
  const states = (["dead", "held"] as const).map(state => [work[state], w.states[state]] as const);
  return [...flags, ...states].filter(([count]) => count > 0).map(([count, word]) => `${number(count)} ${word}`).join(" · ");
}
