// The way to the screens whose script is loaded when one of them is opened.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { refocus } from "../parts/Dialog.tsx";
import { Blank, Page } from "../parts/Page.tsx";
import { Loading, useRead } from "../parts/Pages.tsx";
import { visits } from "../store/route.ts";
import { w } from "../words.ts";

export type Script = typeof import("../later/later.ts");
export let script: Script | null = null;
export const load = async (): Promise<Script> => (script ??= await import("../later/later.ts"));

/** `isPanel`: shown beside a screen instead of as one. */
export function Later({ title, isPanel = false, children }: { title: string; isPanel?: boolean; children: (script: Script) => ComponentChildren }) {
  const read = useRead(load);
  const loaded = script;
  // The heading that had the focus while the script was loading is replaced.
  useEffect(() => { if (visits.value > 0 && !isPanel) refocus(); }, [loaded, read.fault]);
  // The server refuses the script to a page of another version, too.
  const reload = read.fault ? <button type="button" onClick={() => location.reload()}>{w.reload}</button> : null;
  if (isPanel && !loaded) return <aside class="panel" aria-label={title}>{reload ? <>{w.unloaded} {reload}</> : <Loading of={read} />}</aside>;
  if (reload) return <Blank title={title} text={w.unloaded}>{reload}</Blank>;
  if (!loaded) return <Page title={title}><Loading of={read} /></Page>;
  return <>{children(loaded)}</>;
}
