// Mentions in a text that is being written.

import { isAgentHandle } from "./message.ts";

export interface Named { id: string; name: string; handle: string }

/** What can be in a handle, and so neither before nor behind a mention. The server has the same rule. */
const PART = "\\p{L}\\p{N}_/\\-";
const TYPED = new RegExp(`(?<![${PART}@.])@([${PART}.]*)$`, "u");

/**
 * Those of `people` whose `@handle` is in the text, or whose `@Name` if nobody else has it, in the order of the text, and
 * the first `@word` that is nobody. The longest wins: "@Ann Lee" is not @ann.
 */
export function mentionsIn<T extends Named>(text: string, people: T[]): { found: T[]; stray: string } {
  const byWord = new Map<string, T | null>();
  const found = new Set<T>();
  let stray = "";
  for (const one of people) byWord.set(one.name.toLowerCase(), byWord.has(one.name.toLowerCase()) ? null : one);
  for (const one of people) byWord.set(one.handle.toLowerCase(), one);
  const words = [...byWord.keys()].filter(Boolean).sort((a, b) => b.length - a.length).map(word => word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  // "@ann/echo." at the end of a sentence means ann/echo.
  for (const [, word] of text.matchAll(new RegExp(`(?<![${PART}@.])@(${[...words, `[${PART}.]*[\\p{L}\\p{N}_]`].join("|")})(?![${PART}]|\\.[\\p{L}\\p{N}])`, "giu"))) {
    const one = byWord.get(word!.toLowerCase());
    if (one) found.add(one); else stray ||= word!;
  }
  return { found: [...found], stray };
}

/** The mention that is being typed at the caret. */
export function completing(text: string, caret: number): { from: number; query: string } | null {
  const match = TYPED.exec(text.slice(0, caret));
  return match ? { from: caret - match[1]!.length - 1, query: match[1]! } : null;
}

/** Those who match, best first: agents before people, beginnings before the rest. */
export function matching<T extends Named>(people: T[], query: string, most = 8): T[] {
  const wanted = query.toLowerCase();
  const rank = (one: T): number => {
    const handle = one.handle.toLowerCase();
    const last = handle.slice(handle.indexOf("/") + 1);
    const name = one.name.toLowerCase();
    if (last.startsWith(wanted) || name.startsWith(wanted)) return 0;
    if (handle.startsWith(wanted)) return 1;
    return handle.includes(wanted) || name.includes(wanted) ? 2 : 9;
  };
  return people
    .map(one => ({ one, rank: rank(one) * 2 + (isAgentHandle(one.handle) ? 0 : 1) }))
    .filter(entry => entry.rank < 18)
    .sort((a, b) => a.rank - b.rank || a.one.name.localeCompare(b.one.name))
    .slice(0, most)
    .map(entry => entry.one);
}
