// The console: what people see of Parlance in the browser.

import { effect } from "@preact/signals";
import { render, type ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useLayoutEffect, useState } from "preact/hooks";
import { Dialog } from "./parts/Dialog.tsx";
import { LinkBar } from "./parts/LinkState.tsx";
import { Notices } from "./parts/Notices.tsx";
import { Blank } from "./parts/Page.tsx";
import { PausedBar } from "./parts/Paused.tsx";
import { explain } from "./pure/errors.ts";
import type { Id } from "./pure/message.ts";
import { Agent } from "./screens/Agent.tsx";
import { Agents } from "./screens/Agents.tsx";
import { Enter, Login, Mark, Register, SetPassword } from "./screens/Entrance.tsx";
import { Join } from "./screens/Join.tsx";
import { Organization } from "./screens/Organization.tsx";
import { GoTo } from "./screens/GoTo.tsx";
import { Later } from "./screens/Later.tsx";
import { People } from "./screens/People.tsx";
import { NewRoom, Rooms } from "./screens/Rooms.tsx";
import { Room } from "./screens/Room.tsx";
import { Settings } from "./screens/Settings.tsx";
import { Sidebar } from "./screens/Sidebar.tsx";
import { Work } from "./screens/Work.tsx";
import { OwnUsage } from "./screens/Usage.tsx";
import * as agents from "./store/agents.ts";
import { refreshAttention } from "./store/attention.ts";
import * as contacts from "./store/contacts.ts";
import { hasShortcuts } from "./store/look.ts";
import * as organization from "./store/organization.ts";
import * as rooms from "./store/rooms.ts";
import { BASE, follow, go, place, visits } from "./store/route.ts";
import { isOperator, phase, start, user } from "./wire/session.ts";
import { w } from "./words.ts";

function App() {
  const { path } = place.value;
  if (path === "/welcome" || path === "/reset") return <SetPassword key={path} isFirst={path === "/welcome"} />;
  if (path === "/enter") return <Enter />;
  if (phase.value === "starting") return <main class="entrance" id="main"><p class="hint" role="status"><Mark /> {w.starting}</p></main>;
  if (path === "/register" && phase.value === "out") return <Register />;
  if (phase.value === "out" || !user.value) return <Login />;
  return <Inside key={user.value.id} />;
}

function Inside() {
  const [creating, setCreating] = useState<Id[] | null>(null);
  const [hasKeys, setKeys] = useState(false);
  const { path, query } = place.value;
  const [isGoing, setGoing] = useState(false);
  const onGoTo = (): void => setGoing(true);
  useShortcuts(() => setKeys(true), onGoTo);
  const onRoom = (agent: Id): void => setCreating([agent]);
  const onNewRoom = (): void => setCreating([]);
  return (
    <div class={path !== "/" ? "shell" : rooms.rooms.value.length > 0 ? "shell home" : "shell home fresh"} onClick={follow}>
      <a class="skip" href="#main" onClick={event => { event.preventDefault(); (document.getElementById("composer") ?? document.querySelector<HTMLElement>("h1"))?.focus(); }}>{w.skip}</a>
      <div class="bars"><LinkBar /><PausedBar /></div>
      <Sidebar onNewRoom={onNewRoom} onGoTo={onGoTo} />
      <Guarded key={path}><Screen path={path} at={query.get("at")} onNewRoom={onNewRoom} onRoom={onRoom} /></Guarded>
      {creating && <NewRoom chosen={creating} onClose={() => setCreating(null)} />}
      {isGoing && <GoTo onClose={() => setGoing(false)} onRoom={onRoom} />}
      {hasKeys && (
        <Dialog title={w.keys.title} onClose={() => setKeys(false)}>
          <dl class="keys">{w.keys.list.map(([key, does]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{does}</dd></div>)}</dl>
        </Dialog>
      )}
      <Notices />
    </div>
  );
}

/** A fault in one screen leaves the way to the others. */
function Guarded({ children }: { children: ComponentChildren }) {
  const [fault, reset] = useErrorBoundary(cause => console.error(cause));
  if (!fault) return <>{children}</>;
  return (
    <Blank title={w.broken} text={explain(fault)}><button type="button" onClick={reset}>{w.again}</button></Blank>
  );
}

function Screen({ path, at, onNewRoom, onRoom }: { path: string; at: string | null; onNewRoom: () => void; onRoom: (agent: Id) => void }) {
  const [, kind, id, part, message] = path.split("/");
  // The focus follows the way, so that the keyboard and screen readers are where the eye is.
  const visit = visits.value;
  useEffect(() => {
    if (visit === 0 || document.querySelector("dialog[open]")) return;
    document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
  }, [visit]);
  if (path === "/register" && organization.invitation.value) return <Join />;
  if (path === "/inbox") return <Later title={w.inbox.title}>{({ Inbox }) => <Inbox />}</Later>;
  if (path === "/search") return <Later title={w.search.title}>{({ Search }) => <Search />}</Later>;
  if (path === "/" || path === "/login" || path === "/register") return <Rooms onNewRoom={onNewRoom} />;
  if (kind === "rooms" && id && part === "tree" && message) return <Later title={w.tree.title}>{({ Tree }) => <Tree room={id} message={message} />}</Later>;
  if ((kind === "rooms" || kind === "agents") && id === "delete") return <Later title={w.several}>{({ BulkDelete }) => <BulkDelete key={kind} kind={kind} />}</Later>;
  if (kind === "rooms" && id) return <Room key={id} id={id} at={at} />;
  if (path === "/agents" || path === "/agents/new") return <Agents isRegistering={path === "/agents/new"} onRoom={onRoom} />;
  if (kind === "agents" && id) return <Agent key={id} id={id} onRoom={onRoom} />;
  if (path === "/work") return <Work />;
  if (path === "/usage") return <OwnUsage />;
  if (kind === "organization" && Object.hasOwn(w.organization.tabs, id ?? "")) return <Organization key="organization" tab={id ?? ""} />;
  if (kind === "operator") {
    return isOperator.value ? <Later title={w.operator.title}>{({ Operator }) => <Operator tab={path.slice("/operator/".length)} />}</Later>
      : <Blank title={w.operator.title} text={w.operator.notYours} />;
  }
  if (path === "/people") return <People onRoom={onRoom} />;
  if (path === "/memories") return <Later title={w.memories.title}>{({ Memories }) => <Memories />}</Later>;
  if (path === "/settings") return <Settings />;
  return <Blank title={w.notFound.title} text={w.notFound.text} />;
}

/** Single keys count outside of fields only, and can be switched off. */
function useShortcuts(showKeys: () => void, goTo: () => void): void {
  // Before the first paint, so that a key pressed as soon as the page is visible counts.
  useLayoutEffect(() => {
    let isAfterG = false;
    const key = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
      if (event.altKey && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
        const all = rooms.rooms.value;
        const here = all.findIndex(room => place.value.path === `/rooms/${room.id}`);
        const next = all[here < 0 ? 0 : here + (event.key === "ArrowDown" ? 1 : -1)];
        if (next) go(`/rooms/${next.id}`);
        event.preventDefault();
        return;
      }
      if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
        goTo();
        event.preventDefault();
        return;
      }
      if (!hasShortcuts.value || event.ctrlKey || event.metaKey || event.altKey) return;
      if ((event.target as Element).closest("input, textarea, select, [contenteditable]")) return;
      const target = isAfterG ? { r: "/", i: "/inbox", a: "/agents", m: "/memories", o: "/organization", p: "/people", s: "/settings", w: "/work" }[event.key] : undefined;
      isAfterG = event.key === "g";
      if (target) go(target);
      else if (event.key === "c") document.getElementById("composer")?.focus();
      else if (event.key === "/") go("/search");
      else if (event.key === "?") showKeys();
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", key);
    return () => document.removeEventListener("keydown", key);
  }, []);
}

// Stores follow the session.
let mine: Id | null = null;
effect(() => {
  const id = phase.value === "in" ? (user.value?.id ?? null) : null;
  if (id === mine) return;
  mine = id;
  if (id) {
    // Not part of this effect: what the stores read must not run it again.
    queueMicrotask(() => {
      rooms.start(id);
      agents.start(id);
      refreshAttention();
      organization.start();
      contacts.start(id);
    });
  } else if (phase.value === "out" && !["/login", "/welcome", "/reset", "/register", "/enter"].includes(place.value.path)) {
    const wanted = location.pathname.slice(BASE.length) + location.search;
    go(wanted && wanted !== "/" ? `/login?to=${encodeURIComponent(wanted)}` : "/login", true);
  }
});
effect(() => {
  if (phase.value === "in" && place.value.path === "/login") queueMicrotask(() => go(organization.invitation.value ? "/register" : (place.value.query.get("to") ?? "/"), true));
  if (phase.value === "out") document.title = w.app;
});

export * from "./shared.ts";

render(<App />, document.getElementById("app")!);
void start();
