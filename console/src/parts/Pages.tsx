// What a screen reads: one answer, or a list in pages.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { explain } from "../pure/errors.ts";
import { Paged, type Answer, type Metadata } from "../store/paged.ts";
import { w } from "../words.ts";
import { Fault, refocus } from "./Dialog.tsx";

/** Calls `work` immediately, then every `everyMs` while the page is visible, except while a call is running (`isDone`). */
function useWatch(work: () => void, isDone: () => boolean, inputs: unknown[], everyMs: number): void {
  useEffect(() => {
    work();
    if (!everyMs) return;
    const timer = setInterval(() => { if (document.visibilityState === "visible" && isDone()) work(); }, everyMs);
    return () => clearInterval(timer);
  }, inputs);
}

/** One answer. An earlier one that comes late is not taken. */
export function useRead<T>(read: () => Promise<T>, inputs: unknown[] = [], everyMs = 0) {
  const [value, setValue] = useState<T | null>(null);
  const [fault, setFault] = useState<unknown>(null);
  const turn = useRef(0);
  const isAwaited = useRef(false);
  const set = (next: T): void => { isAwaited.current = false; turn.current++; setValue(next); setFault(null); };
  const again = (): void => {
    const mine = ++turn.current;
    isAwaited.current = true;
    // A read that cannot even be asked for fails like one that is refused.
    (async () => read())().then(answer => { if (mine === turn.current) set(answer); }, (cause: unknown) => { if (mine === turn.current) { isAwaited.current = false; setFault(cause); } });
  };
  useWatch(again, () => !isAwaited.current, inputs, everyMs);
  useEffect(() => () => { turn.current++; }, []);
  return { value, fault, again, set };
}

/** A list of one screen, in pages by cursor. While only the first page is shown, it is read again every `everyMs`. */
export function usePaged<T extends { id?: string | null }, M extends Metadata>(read: (cursor?: string) => Promise<Answer<T, M>>, inputs: unknown[] = [], everyMs = 0): Paged<T, M> {
  const list = useMemo(() => new Paged<T, M>(row => String(row.id), cursor => read(cursor ?? undefined)), inputs);
  useWatch(() => void list.load(), () => !list.isLong && !list.isBusy.value, [list], everyMs);
  useEffect(() => () => list.clear(), [list]);
  return list;
}

export function Rows<T, M extends Metadata>({ list, empty, kind = "lines", row }: { list: Paged<T, M>; empty?: ComponentChildren; kind?: string; row: (one: T) => ComponentChildren }) {
  const rows = list.rows.value;
  return <>{rows.length > 0 && <ul class={kind}>{rows.map(row)}</ul>}<More list={list} empty={empty} /></>;
}

/** Says that rows are loading, could not be read, or do not exist, and leads to the next page. */
export function More<T, M extends Metadata>({ list, empty }: { list: Paged<T, M>; empty?: ComponentChildren }) {
  const isLoaded = list.isLoaded.value;
  const fault = list.fault.value;
  return (
    <>
      <Loading of={{ value: isLoaded || null, fault, again: () => void list.retry() }} />
      {isLoaded && !fault && list.rows.value.length === 0 && empty}
      {list.hasMore.value && !fault && <button type="button" class="plain" aria-disabled={list.isBusy.value} onClick={() => { if (!list.isBusy.value) void list.more().then(() => refocus()); }}>{w.loadMore}</button>}
    </>
  );
}

/** Says that an answer is awaited, or why there is none. */
export function Loading({ of: { value, fault, again } }: { of: { value: unknown; fault: unknown; again: () => void } }) {
  if (fault) return <div class="deeds"><Fault text={explain(fault)} /><button type="button" class="plain small" onClick={again}>{w.again}</button></div>;
  return value === null ? <p class="hint" role="status">{w.loading}</p> : null;
}
