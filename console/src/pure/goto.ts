// Finds places by what somebody types.

export interface Target {
  id: string;
  name: string;
  /** Also searched, after the name. */
  also: string;
  /** When it was last used; empty if that is not known. */
  at: string;
}

const WORD = /[\p{L}\p{N}]/u;

/** How well a text matches: 0 all of it, 1 its beginning, 2 the beginning of a word, 3 inside, 9 not at all. */
function rankOf(text: string, wanted: string): number {
  let at = text.indexOf(wanted);
  if (at === 0) return text.length === wanted.length ? 0 : 1;
  if (at < 0) return 9;
  for (; at > 0; at = text.indexOf(wanted, at + 1)) if (!WORD.test(text[at - 1]!)) return 2;
  return 3;
}

/** What is searched, in lower case; made once for many searches. */
export const prepared = <T extends Target>(targets: T[]): { target: T; name: string; also: string }[] =>
  targets.map(target => ({ target, name: target.name.toLowerCase(), also: target.also.toLowerCase() }));

/**
 * The targets that match, best first, and of equal ones the last used first. The whole query is looked for, or each of
 * its words, of which the worst counts.
 */
export function find<T extends Target>(all: { target: T; name: string; also: string }[], query: string, most: number): T[] {
  const whole = query.trim().toLowerCase();
  const words = whole.split(/\s+/);
  const found: { target: T; rank: number }[] = [];
  for (const { target, name, also } of all) {
    // A beginning of the name counts more than one of the rest.
    const one = (wanted: string): number => Math.min(rankOf(name, wanted) * 2, rankOf(also, wanted) * 2 + 1);
    let rank = one(whole);
    if (rank >= 18 && words.length > 1) rank = Math.max(...words.map(one));
    if (rank < 18) found.push({ target, rank: whole ? rank : 0 });
  }
  return found
    .sort((a, b) => a.rank - b.rank || (a.target.at < b.target.at ? 1 : a.target.at > b.target.at ? -1 : 0))
    .slice(0, most)
    .map(entry => entry.target);
}
