// Sums of tokens, their cost, and how much of a budget is used.

export interface Tokens { input_tokens: number; output_tokens: number; cache_read_tokens: number; cache_write_tokens: number }

const whole = new Intl.NumberFormat(undefined);
export const number = (count: number): string => whole.format(count);
export const tokens = (sum: Tokens): number => sum.input_tokens + sum.output_tokens + sum.cache_read_tokens + sum.cache_write_tokens;

/** "1.25 USD"; sums below one with as many decimals as it takes to see them. */
export function money(cost: string, currency: string): string {
  const amount = Number(cost);
  const decimals = amount === 0 || amount >= 1 ? 2 : 6;
  return `${amount.toLocaleString(undefined, { minimumFractionDigits: 2, maximumFractionDigits: decimals })} ${currency}`;
}

/** The warning that the server posts as well: at 80 % and at 100 %. */
export type Level = "low" | "near" | "over";
export const level = (used: number, amount: number): Level => (used >= amount ? "over" : used >= amount * 0.8 ? "near" : "low");
/** Never 100 % before all is used, and never 0 % once something is. */
export function percent(used: number, amount: number): number {
  if (used <= 0) return 0;
  return used >= amount ? Math.round(used / amount * 100) : Math.min(99, Math.max(1, Math.round(used / amount * 100)));
}

const DAY_MS = 86_400_000;
/** A day in UTC, such as `2026-07-01`, as the server counts them. */
export function day(now: number, before = 0): string {
  const at = new Date(now - before * DAY_MS);
  return Number.isNaN(at.valueOf()) ? "" : at.toISOString().slice(0, 10);
}

/** A day that an address names; empty if that is none. */
export const dayOf = (text: string | null): string => (text && day(Date.parse(text)) === text ? text : "");

/** The members of `next` that differ from `before`: what nobody changed is not sent, so it overwrites nothing. */
export function changed<T extends object>(before: Partial<T>, next: T): Partial<T> {
  const same = (one: unknown, other: unknown): boolean => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
  return Object.fromEntries(Object.entries(next).filter(([name, value]) => !same(before[name as keyof T], value))) as Partial<T>;
}
