// A sign for a person (round) or an agent (square), and whether it is connected.

import { w } from "../words.ts";

function hue(id: string): number {
  let sum = 0;
  for (let at = 0; at < id.length; at++) sum = (sum * 31 + id.charCodeAt(at)) >>> 0;
  return sum % 8;
}

const initials = (name: string): string =>
  name.split(/[\s._-]+/).filter(Boolean).slice(0, 2).map(part => [...part][0]!.toUpperCase()).join("") || "?";

export function Face({ id, name, isAgent, small = false }: { id: string; name: string; isAgent: boolean; small?: boolean }) {
  return <span class={`face hue-${hue(id)}${isAgent ? " agent" : ""}${small ? " small" : ""}`} aria-hidden="true">{initials(name)}</span>;
}

/** A full dot is connected, a ring is not. */
export function Dot({ isOn }: { isOn: boolean }) {
  return <span class={isOn ? "dot on" : "dot"} aria-hidden="true" />;
}

export function Presence({ isOn }: { isOn: boolean }) {
  return <span class="presence"><Dot isOn={isOn} />{isOn ? w.people.connected : w.people.notConnected}</span>;
}
