// Mentions in a text that is being written.

import { isAgentHandle } from "./message.ts";

export interface Named { id: string; name: string; handle: string }

const WORD = /(^|[^\w@/.-])@([\w./-]+)/g;

/** Those of `people` whose `@handle` is in the text, in the order of the text. */
export function mentionedIn<T extends Named>(text: string, people: T[]): T[] {
  const byHandle = new Map(people.map(one => [one.handle.toLowerCase(), one]));
  const found = new Set<T>();
  for (const [, , word] of text.matchAll(WORD)) {
    // "@ann/echo." at the end of a sentence means ann/echo.
    for (let handle = word!.toLowerCase(); handle; handle = handle.slice(0, -1)) {
      const one = byHandle.get(handle);
      if (one) found.add(one);
      if (one || /[\w]$/.test(handle)) break;
    }
  }
  return [...found];
}

/** The mention that is being typed at the caret. */
export function completing(text: string, caret: number): { from: number; query: string } | null {
  const match = /(?:^|[^\w@/.-])@([\w./-]*)$/.exec(text.slice(0, caret));
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
