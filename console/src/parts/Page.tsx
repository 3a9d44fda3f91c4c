// The frame of a screen with a heading, and what stands in it.

import type { ComponentChildren } from "preact";
import { BASE } from "../store/route.ts";
import { w } from "../words.ts";
import { Icon } from "./Icon.tsx";
import type { IconName } from "./icons.ts";

export function Page({ title, intro, action, children }: { title: string; intro?: string; action?: ComponentChildren; children: ComponentChildren }) {
  return (
    <main class="page" id="main">
      <header class="pagehead">
        <a class="backlink" href={`${BASE}/`} aria-label={w.back}><Icon name="chevron-left" /></a>
        <div><h1 tabIndex={-1}>{title}</h1>{intro && <p class="hint">{intro}</p>}</div>
        {action}
      </header>
      {children}
    </main>
  );
}

export function Section({ title, intro, action, children }: { title: string; intro?: string; action?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="sheet" aria-label={title}>
      <header class="pagehead"><div><h2>{title}</h2>{intro && <p class="hint">{intro}</p>}</div>{action}</header>
      {children}
    </section>
  );
}

/** A list without rows. */
export function Nothing({ icon, title, text }: { icon: IconName; title: string; text: string }) {
  return <div class="nothing"><Icon name={icon} size={32} /><p class="name">{title}</p><p class="hint">{text}</p></div>;
}
