// The layout of a screen: its heading, sections, and tabs.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { BASE } from "../store/route.ts";
import { w } from "../words.ts";
import { Icon } from "./Icon.tsx";
import type { IconName } from "./icons.ts";

export function useTitle(title: string): void {
  useEffect(() => { document.title = `${title} · ${w.app}`; }, [title]);
}

interface Frame { title: string; /** What the window is called, if not by the title. */ name?: string | undefined; children?: ComponentChildren }
interface Head { intro?: ComponentChildren; action?: ComponentChildren }

/** `back` is the screen above, for one that is not in the sidebar. */
export function Page({ title, name = title, back, before, intro, action, children }: Frame & Head & { back?: string; before?: ComponentChildren }) {
  useTitle(name);
  return (
    <main class="page" id="main">
      <header class="pagehead">
        <a class={back ? "backlink always" : "backlink"} href={BASE + (back ?? "/")} aria-label={w.back}><Icon name="chevron-left" /></a>
        {before}
        <div><h1 tabIndex={-1}>{title}</h1>{intro && <p class="hint">{intro}</p>}</div>
        {action}
      </header>
      {children}
    </main>
  );
}

/** A screen that has little to show. */
export function Blank({ title, name = title, icon, text, children }: Frame & { icon?: IconName; text?: string | undefined }) {
  useTitle(name);
  return (
    <main class="blank" id="main">
      <div>
        {icon && <Icon name={icon} size={40} />}
        <h1 tabIndex={-1}>{title}</h1>
        {text && <p>{text}</p>}
        {children ?? <a class="button" href={`${BASE}/`}>{w.notFound.home}</a>}
      </div>
    </main>
  );
}

export function Section({ title, intro, action, children }: Frame & Head) {
  return (
    <section class="sheet" aria-label={title}>
      <header class="pagehead"><div><h2>{title}</h2>{intro && <p class="hint">{intro}</p>}</div>{action}</header>
      {children}
    </section>
  );
}

/** Screens or views beside each other. */
export function Tabs({ label, tabs }: { label: string; tabs: [path: string, text: string, isHere: boolean][] }) {
  return (
    <ul class="tabs" aria-label={label}>
      {tabs.map(([path, text, isHere]) => <li key={path}><a href={BASE + path} aria-current={isHere ? "page" : undefined}>{text}</a></li>)}
    </ul>
  );
}

/** A list without rows. */
export function Nothing({ icon, title, text }: { icon: IconName; title: string; text?: string | undefined }) {
  return <div class="nothing"><Icon name={icon} size={32} /><p class="name">{title}</p>{text && <p class="hint">{text}</p>}</div>;
}
