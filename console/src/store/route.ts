// Where the page is: paths below /console.

import { signal } from "@preact/signals";

export const BASE = "/console";

export interface Place { path: string; query: URLSearchParams; secret: string }

function decoded(text: string): string {
  try { return decodeURIComponent(text); } catch { return text; }
}

const here = (): Place => ({
  path: location.pathname.slice(BASE.length).replace(/\/+$/, "") || "/",
  query: new URLSearchParams(location.search),
  secret: decoded(location.hash.slice(1)),
});

export const place = signal<Place>(here());
/** Counts the ways taken, so that the focus follows each. */
export const visits = signal(0);

addEventListener("popstate", () => { place.value = here(); visits.value++; });

/** `isHere` keeps the focus where it is: the way leads to another state of the same screen. */
export function go(path: string, replace = false, isHere = false): void {
  if (replace) history.replaceState(null, "", BASE + path);
  else if (BASE + path !== location.pathname + location.search) history.pushState(null, "", BASE + path);
  place.value = here();
  if (!isHere) visits.value++;
}

/** The address of this page with some parts of its query changed. */
export function address(changes: { [name: string]: string | undefined }): string {
  const { path, query } = place.value;
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) if (value) next.set(name, value); else next.delete(name);
  return next.size > 0 ? `${path}?${next}` : path;
}

/** Goes there, with the focus where it is. */
export const choose = (changes: { [name: string]: string | undefined }): void => go(address(changes), false, true);

/** Follows a link inside the page without reloading it. */
export function follow(event: MouseEvent): void {
  const anchor = (event.target as Element | null)?.closest?.("a");
  if (!anchor || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (anchor.target || anchor.origin !== location.origin || !`${anchor.pathname}/`.startsWith(`${BASE}/`)) return;
  event.preventDefault();
  go(anchor.pathname.slice(BASE.length) + anchor.search || "/");
}
