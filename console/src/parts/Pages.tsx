// What a screen reads: one answer, or a list in pages.

import { useEffect, useRef, useState } from "preact/hooks";
import { explain } from "../pure/errors.ts";
import { w } from "../words.ts";
import { Fault, refocus } from "./Dialog.tsx";

/** Calls `work` at once, and every `everyMs` while somebody looks. */
function useWatch(work: () => void, inputs: unknown[], everyMs: number): void {
  useEffect(() => {
    work();
    if (!everyMs) return;
    const timer = setInterval(() => { if (document.visibilityState === "visible") work(); }, everyMs);
    return () => clearInterval(timer);
  }, inputs);
}

/** A read that cannot even be asked for fails like one that is refused. */
const attempt = async <T,>(read: () => Promise<T>): Promise<T> => read();

/** One answer. An earlier one that comes late is not taken. */
export function useRead<T>(read: () => Promise<T>, inputs: unknown[], everyMs = 0) {
  const [value, setValue] = useState<T | null>(null);
  const [fault, setFault] = useState("");
  const turn = useRef(0);
  const load = (): void => {
    const mine = ++turn.current;
    attempt(read).then(answer => { if (mine === turn.current) { setValue(answer); setFault(""); } },
      (cause: unknown) => { if (mine === turn.current) setFault(explain(cause)); });
  };
  useWatch(load, inputs, everyMs);
  useEffect(() => () => { turn.current++; }, []);
  return { value, fault, again: load, set: (next: T): void => { turn.current++; setValue(next); setFault(""); } };
}

interface Page { data: unknown[]; metadata: { has_more?: boolean; next_cursor?: string | null } }
interface Held<P extends Page> { rows: P["data"][number][]; first: P; next: string | null }

/** A list in pages by cursor. While only the first page is shown, it is read again every `everyMs`. */
export function usePages<P extends Page>(read: (cursor?: string) => Promise<P>, inputs: unknown[], everyMs = 0) {
  const [held, setHeld] = useState<Held<P> | null>(null);
  const [fault, setFault] = useState<{ text: string; cursor: string | undefined } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const turn = useRef(0);
  const isLong = useRef(false);
  const load = (cursor?: string): void => {
    const mine = ++turn.current;
    setBusy(true);
    attempt(() => read(cursor)).then(page => {
      if (mine !== turn.current) return;
      isLong.current = cursor !== undefined;
      const next = page.metadata.has_more ? (page.metadata.next_cursor ?? null) : null;
      setHeld(before => cursor && before ? { ...before, rows: [...before.rows, ...page.data], next } : { rows: page.data, first: page, next });
      setFault(null);
      setBusy(false);
    }, (cause: unknown) => {
      if (mine !== turn.current) return;
      setFault({ text: explain(cause), cursor });
      setBusy(false);
    });
  };
  useEffect(() => { setHeld(null); isLong.current = false; return () => { turn.current++; }; }, inputs);
  useWatch(() => { if (!isLong.current) load(); }, inputs, everyMs);
  return {
    rows: held?.rows ?? null, first: held?.first ?? null, isBusy,
    hasMore: held?.next != null, more: () => { if (held?.next && !isBusy) load(held.next); },
    fault: fault?.text ?? "", retry: () => load(fault?.cursor), again: () => load(),
    change: (by: (rows: P["data"][number][]) => P["data"][number][]): void => setHeld(before => before && { ...before, rows: by(before.rows) }),
  };
}

/** Loading, a failure with a way on, and the way to the next page. */
export function More({ of, label = w.organization.more }: { of: { rows: unknown[] | null; fault: string; hasMore: boolean; isBusy: boolean; more: () => void; retry: () => void }; label?: string }) {
  const hasButton = of.hasMore && !of.fault;
  // The button that had the focus goes with the last page, or gives way to a failure.
  useEffect(() => (hasButton ? () => refocus() : undefined), [hasButton]);
  return (
    <>
      {!of.rows && !of.fault && <p class="hint" role="status">{w.loading}</p>}
      {of.fault && <Failed text={of.fault} onRetry={of.retry} />}
      {hasButton && <button type="button" class="plain" aria-disabled={of.isBusy} onClick={of.more}>{label}</button>}
    </>
  );
}

export function Failed({ text, onRetry }: { text: string; onRetry: () => void }) {
  return <div class="deeds"><Fault text={text} /><button type="button" class="plain small" onClick={onRetry}>{w.broken.again}</button></div>;
}
