// Whether the page is live, in words.

import { useEffect, useState } from "preact/hooks";
import { connectNow, link } from "../wire/link.ts";
import { w } from "../words.ts";
import { Dot } from "./Face.tsx";
import { Icon } from "./Icon.tsx";

/** The state in a word or two. */
export function LinkWord() {
  const isOpen = link.value.kind === "open";
  return <span class="presence"><Dot isOn={isOpen} />{isOpen ? w.link.open : w.link.connecting}</span>;
}

/** A bar above the page while the socket is away. Short losses show nothing. */
export function LinkBar() {
  const state = link.value;
  const [isLate, setLate] = useState(false);
  const [, tick] = useState(0);
  const isAway = state.kind !== "open" && state.kind !== "off";
  useEffect(() => {
    if (!isAway) return setLate(false);
    const late = setTimeout(() => setLate(true), 1200);
    const timer = setInterval(() => tick(count => count + 1), 1000);
    return () => { clearTimeout(late); clearInterval(timer); };
  }, [isAway]);
  if (!isAway || !isLate) return <div role="status" class="linkbar" hidden />;
  const seconds = state.kind === "waiting" ? Math.max(1, Math.round((state.at - Date.now()) / 1000)) : 0;
  return (
    <div role="status" class="linkbar">
      <Icon name="wifi-off" size={16} />
      <span>{state.kind === "waiting" ? (state.isStopping ? w.link.stopping(seconds) : w.link.waiting(state.tries, seconds)) : w.link.connecting}</span>
      {state.kind === "waiting" && <button type="button" class="link" onClick={connectNow}>{w.link.now}</button>}
    </div>
  );
}
