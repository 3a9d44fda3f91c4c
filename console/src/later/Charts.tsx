// What the server did in the last hour: lines, and the same as a table.

import { clock, Loading, number, Section, useRead } from "../shared.ts";
import { byMinute, folded, points } from "../pure/throughput.ts";
import type { ThroughputView } from "../wire/api.ts";
import { throughput } from "./read.ts";
import { words } from "./words.ts";

const WATCH_MS = 5000;
const [WIDTH, HEIGHT] = [300, 64];
/** The minutes in a row of the table. */
const ROW_MINUTES = 10;
const MINUTE_MS = 60_000;

type Name = keyof typeof words.series;
const CHARTS: [title: string, series: Name[], isLevel?: boolean][] = [
  [words.charts.messages, ["messages", "deliveries"]],
  [words.charts.attempts, ["attempts_success", "attempts_failed"]],
  [words.charts.requests, ["requests", "client_errors", "server_errors"]],
  [words.charts.sockets, ["user_sockets", "agent_sockets"], true],
];

export function Charts() {
  const read = useRead(throughput, [], WATCH_MS);
  const one = read.value;
  return (
    <Section title={words.throughput} intro={words.throughputText(one?.node_id)}>
      <Loading of={read} />
      {one && (!one.until || one.series["messages"]?.length === 0 ? <p class="hint">{words.notYet}</p> : (
        <div class="charts">{CHARTS.map(([title, series, isLevel = false]) => <Chart key={title} title={title} series={series} isLevel={isLevel} of={one} until={one.until!} />)}</div>
      ))}
    </Section>
  );
}

function Chart({ title, series, isLevel, of, until }: { title: string; series: Name[]; isLevel: boolean; of: ThroughputView; until: string }) {
  const lines = series.map(name => ({ name: words.series[name], values: byMinute(of.series[name] ?? [], of.step_seconds, isLevel) }));
  const most = Math.max(...lines.flatMap(({ values }) => values.map(value => value ?? 0)));
  const told = isLevel ? words.mostAtOnce(number(most)) : words.most(number(most));
  // A level shows its newest value, and everything else its sum.
  const sum = (values: (number | null)[]): string => number(folded(values, values.length, isLevel)[0] ?? 0);
  const rows = lines.map(({ values }) => folded(values, ROW_MINUTES, isLevel));
  return (
    <figure class="chart">
      <figcaption><b>{title}</b> <span class="hint">{told}</span></figcaption>
      <svg viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`} preserveAspectRatio="none" role="img" aria-label={words.chart(title, lines.map(({ name, values }) => words.line(name, sum(values))), told)}>
        {lines.map(({ name, values }, at) => <polyline key={name} class={`line line-${at}`} points={points(values, most, WIDTH, HEIGHT)} />)}
      </svg>
      <ul class="legend">
        {lines.map(({ name, values }, at) => (
          <li key={name}><svg width="22" height="8" aria-hidden="true"><line class={`line line-${at}`} x1="0" y1="4" x2="22" y2="4" /></svg>{name} <b>{sum(values)}</b></li>
        ))}
      </ul>
      <details>
        <summary>{words.asTable}</summary>
        <table class="sums">
          <caption class="vh">{words.tableOf(title)}</caption>
          <thead><tr><th scope="col">{words.until}</th>{lines.map(({ name }) => <th key={name} scope="col">{name}</th>)}</tr></thead>
          <tbody>
            {rows[0]!.map((_, at) => {
              const end = clock(new Date(Date.parse(until) - (rows[0]!.length - 1 - at) * ROW_MINUTES * MINUTE_MS).toISOString());
              return <tr key={at}><th scope="row">{end}</th>{rows.map((row, line) => <td key={line}>{row[at] == null ? words.unknown : number(row[at]!)}</td>)}</tr>;
            })}
          </tbody>
        </table>
      </details>
    </figure>
  );
}
