// A list that is read page by page: its rows, and what stands in their place.

import type { ComponentChildren } from "preact";
import { explain } from "../pure/errors.ts";
import type { Paged } from "../store/paged.ts";
import { w } from "../words.ts";
import { Fault, refocus } from "./Dialog.tsx";

export function Failed({ fault, again }: { fault: unknown; again: () => void }) {
  return <div class="deeds"><Fault text={explain(fault)} /><button type="button" class="plain small" onClick={again}>{w.contacts.retry}</button></div>;
}

export function Rows<T>({ list, empty, kind = "lines people", row }: { list: Paged<T>; empty: ComponentChildren; kind?: string; row: (one: T) => ComponentChildren }) {
  const rows = list.rows.value;
  const fault = list.fault.value;
  return (
    <>
      {rows.length > 0 && <ul class={kind}>{rows.map(row)}</ul>}
      {fault ? <Failed fault={fault} again={() => void list.load(true)} />
        : !list.isLoaded.value ? <p class="hint" role="status">{w.loading}</p> : rows.length === 0 && empty}
      {list.hasMore.value && !fault && <button type="button" class="plain small" aria-disabled={list.isBusy.value} onClick={() => void list.more().then(() => refocus())}>{w.contacts.more}</button>}
    </>
  );
}
