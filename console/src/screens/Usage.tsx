// What the caller's agents have used.

import { Icon } from "../parts/Icon.tsx";
import { Usage } from "../parts/Usage.tsx";
import { BASE } from "../store/route.ts";
import { w } from "../words.ts";

export function OwnUsage() {
  return (
    <main class="page" id="main">
      <header class="pagehead">
        <a class="backlink always" href={`${BASE}/agents`} aria-label={w.back}><Icon name="chevron-left" /></a>
        <div><h1 tabIndex={-1}>{w.usage.title}</h1><p class="hint">{w.usage.intro}</p></div>
      </header>
      <section class="sheet"><Usage groups={["agent", "room", "tree", "day", "model"]} /></section>
    </main>
  );
}
