// What a search has found, as it is shown.

export interface Part { text: string; isHit: boolean }

/** The parts of a snippet. The server counts code points. */
export function partsOf(snippet: string, highlights: readonly { start: number; end: number }[]): Part[] {
  const chars = [...snippet];
  const parts: Part[] = [];
  let at = 0;
  const add = (to: number, isHit: boolean): void => {
    if (to <= at) return;
    parts.push({ text: chars.slice(at, to).join(""), isHit });
    at = to;
  };
  for (const { start, end } of highlights) {
    add(start, false);
    add(end, true);
  }
  add(chars.length, false);
  return parts;
}

/** What is asked for: texts, unless the query names a kind. It comes first, because a quote at the end may be open. */
export const asked = (query: string): string => (/(^|\s)kind:/i.test(query.replace(/"[^"]*("|$)/g, " ")) ? query : `kind:text ${query}`);
