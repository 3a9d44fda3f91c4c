// When something happened, or will happen.

import { exact, since } from "../pure/when.ts";
import { now } from "../store/now.ts";

/** The time, in a text if one is given, with the exact time as its title. */
export function Time({ at, text = time => time, class: kind }: { at: string; text?: (time: string) => string; class?: string }) {
  return <time class={kind} dateTime={at} title={exact(at)}>{text(since(at, now.value))}</time>;
}
