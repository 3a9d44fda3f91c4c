// The counters of a server, as charts show them.

const MINUTES = 60;

/** What several values come to: their sum, or the last one of a level. */
const together = (values: readonly number[], isLevel: boolean): number => (isLevel ? values.at(-1)! : values.reduce((sum, one) => sum + one, 0));

/** One value for each minute of the last hour, oldest first: what the steps of the minute come to. Null before the server started. */
export function byMinute(steps: readonly number[], stepSeconds: number, isLevel = false): (number | null)[] {
  const each = Math.max(1, Math.round(60 / stepSeconds));
  return Array.from({ length: MINUTES }, (_, at) => {
    const end = steps.length - (MINUTES - 1 - at) * each;
    if (end <= 0) return null;
    return together(steps.slice(Math.max(0, end - each), end), isLevel);
  });
}

/** The rows of the table with the same figures: what each `size` minutes come to, oldest first. */
export function folded(minutes: readonly (number | null)[], size: number, isLevel = false): (number | null)[] {
  const rows: (number | null)[] = [];
  for (let at = 0; at < minutes.length; at += size) {
    const known = minutes.slice(at, at + size).filter(one => one !== null);
    rows.push(known.length === 0 ? null : together(known, isLevel));
  }
  return rows;
}

/** The points of a line in a box, for `polyline`. What is not known has none; a single value is a short line. */
export function points(values: readonly (number | null)[], most: number, width: number, height: number): string {
  const step = width / Math.max(1, values.length - 1);
  const known = values.flatMap((value, at) => (value === null ? [] : [[at * step, height - value / Math.max(1, most) * height] as const]));
  const line = known.length === 1 ? known.flatMap(([x, y]) => [[Math.max(0, x - step), y] as const, [x, y] as const]) : known;
  return line.map(([x, y]) => `${round(x)},${round(y)}`).join(" ");
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** "1.4 GB". */
export function size(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value.toLocaleString(undefined, { maximumSignificantDigits: value >= 100 ? 3 : 2 })}\u00a0${units[unit]}`;
}
