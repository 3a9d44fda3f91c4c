// Asks before many work items are changed, shows how far it is, and says what was changed and what was not.

import { useEffect, useMemo, useState } from "preact/hooks";
import { explain } from "../pure/errors.ts";
import { retryable, type Filter, type Item } from "../pure/work.ts";
import { agents } from "../store/agents.ts";
import { Run } from "../store/bulk.ts";
import { collect } from "../store/ledger.ts";
import type { Deed, Scope } from "../store/work.ts";
import { w } from "../words.ts";
import { ReasonField } from "./Delivery.tsx";
import { Confirm, Dialog, Fault } from "./Dialog.tsx";
import { ChooseAgent } from "./Reassign.tsx";

/** The most that are counted, and the most that are changed one by one. */
const MOST = 1000;

interface Found { items: Item[]; isMore: boolean }
/** What was chosen: these items, or all that match. */
export type Target = { items: Item[] } | { filters: Filter[] };

interface Words { title: string; text: (count: string) => string; done: (count: string) => string; many?: (count: number, isMore: boolean) => string }

export function WorkBulk({ kind, words = w.work.bulk[kind], scope, target, onItem, onClose }: { kind: Deed["kind"]; words?: Words; scope: Scope; target: Target; onItem: (item: Item) => void; onClose: (didRun: boolean) => void }) {
  const many = words.many ?? w.work.bulkMany;
  const filters = useMemo(() => ("filters" in target ? (kind === "retry" ? retryable(target.filters) : target.filters) : []), []);
  const [found, setFound] = useState<Found | null>("items" in target ? { items: target.items, isMore: false } : null);
  // The page changes the items that it has counted. If there are more, the server changes all that match; it can neither
  // filter them by error nor send them again.
  const isByServer = found?.isMore && kind !== "sendAgain" && filters.every(one => !one.error);
  const [fault, setFault] = useState("");
  const [run, setRun] = useState<Run | null>(null);
  const [reason, setReason] = useState("");
  const [to, setTo] = useState("");
  useEffect(() => {
    if (found) return;
    const ending = new AbortController();
    collect(scope, filters, MOST, ending.signal).then(setFound, cause => { if (!ending.signal.aborted) setFault(explain(cause)); });
    return () => ending.abort();
  }, []);

  const submit = async (): Promise<false> => {
    const deed: Deed = kind === "deadLetter" ? { kind, reason: reason.trim() } : kind === "reassign" ? { kind, to, reason: reason.trim() } : { kind };
    const started = new Run(scope, deed, onItem);
    setRun(started);
    await (isByServer ? started.matching(filters) : started.each(found!.items));
    return false;
  };
  const close = (): void => onClose(run !== null);
  const count = found ? many(found.items.length, found.isMore) : "";
  if (run) return <Running run={run} title={words.title} of={isByServer ? count : String(found!.items.length)} done={count => words.done(many(count, false))} onClose={close} />;
  return (
    <Confirm title={words.title} submit={words.title} danger={kind === "deadLetter"} isReady={Boolean(found?.items.length)} onSubmit={submit} onClose={close}>
      {!found ? !fault && <p class="hint" role="status">{w.work.bulkCounting}</p> : found.items.length === 0 ? <p>{w.work.bulkNone}</p> : (
        <>
          <p>{words.text(count)}</p>
          {found.isMore && <p class="hint">{isByServer ? w.work.bulkLater : w.work.bulkFirst(found.items.length)}</p>}
          {kind === "reassign" && <ChooseAgent agents={[...new Map([...found.items.map(one => one.agent), ...agents.value].map(one => [one.id, one])).values()]} value={to} onChoose={setTo} />}
          {(kind === "deadLetter" || kind === "reassign") && <ReasonField value={reason} onInput={setReason} isOptional={kind === "reassign"} />}
        </>
      )}
      <Fault text={fault} />
    </Confirm>
  );
}

function Running({ run, title, of, done, onClose }: { run: Run; title: string; of: string; done: (count: number) => string; onClose: () => void }) {
  useEffect(() => () => run.stop(), []);
  const { changed, skipped, refused, fault, isOver, isStopped } = run.progress.value;
  const all = [...refused];
  const total = changed + skipped + all.reduce((sum, [, count]) => sum + count, 0);
  return (
    <Dialog title={title} onClose={isOver ? onClose : () => run.stop()}>
      <div>
        <div role="status" class="report">
          {isOver ? <p>{done(changed)}</p> : <p>{w.work.bulkProgress(total, of)}</p>}
          {isOver && isStopped && <p>{w.work.bulkStopped}</p>}
          {all.map(([why, count]) => <p key={why}>{w.work.bulkRefused(count, why)}</p>)}
          {skipped > 0 && <p>{w.work.bulkSkipped(skipped)}</p>}
        </div>
        <Fault text={fault} />
        <footer>
          {isOver ? <button type="button" onClick={onClose}>{w.done}</button>
            : <button type="button" class="plain" disabled={isStopped} onClick={() => run.stop()}>{w.work.bulkStop}</button>}
        </footer>
      </div>
    </Dialog>
  );
}
