// Instants and durations as people read them.

const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });
const short = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const withYear = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const both = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

export const clock = (instant: string): string => time.format(new Date(instant));
export const fullDay = (instant: string): string => date.format(new Date(instant));
export const exact = (instant: string): string => both.format(new Date(instant));

/** Two instants have the same key if they are on the same day here. */
export function dayKey(instant: string | number): string {
  const at = new Date(instant);
  return `${at.getFullYear()}-${at.getMonth()}-${at.getDate()}`;
}

/** The time if it is today, else the day, with the year if it is another one. */
export function brief(instant: string, now: number): string {
  const at = new Date(instant);
  return dayKey(instant) === dayKey(now) ? clock(instant) : (at.getFullYear() === new Date(now).getFullYear() ? short : withYear).format(at);
}

/** The time if it is today, else the day and the time. */
export function since(instant: string, now: number): string {
  return dayKey(instant) === dayKey(now) ? clock(instant) : `${brief(instant, now)}, ${clock(instant)}`;
}

/** "5 minutes ago". */
export function ago(instant: string, now: number): string {
  const seconds = Math.round((Date.parse(instant) - now) / 1000);
  const steps: [Intl.RelativeTimeFormatUnit, number][] = [["day", 86_400], ["hour", 3600], ["minute", 60]];
  for (const [unit, size] of steps) {
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
  }
  return relative.format(Math.min(0, seconds), "second");
}

/** "0.4 s", "12 s", "3 min 5 s", "2 h 4 min". */
export function duration(ms: number): string {
  if (ms < 10_000) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}
