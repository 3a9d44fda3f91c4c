// What waits for somebody, and what can be done about it.

/** The ways to answer that this page knows, the most likely first. */
const WAYS = ["answer", "approve", "approve_session", "decline", "dismiss"] as const;
export type Way = (typeof WAYS)[number];

/** What can be done with an item here. Others may come with later servers; work has a page of its own. */
export const waysOf = ({ answers }: { answers: readonly string[] }): Way[] => WAYS.filter(way => answers.includes(way));

export const isLate = (until: string, now: number): boolean => Date.parse(until) <= now;
