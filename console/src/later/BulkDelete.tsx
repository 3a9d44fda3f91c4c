// Choosing several agents or rooms, and deleting them with one question.

import { agents, ApiError, complain, Face, isObserved, isOwner, loadMore, moreRooms, Nothing, Page, rooms, useConfirm, useEffect, useRef, useState, visible, w } from "../shared.ts";
import { MOST, progress, start, type Job, type Kind } from "./bulk.ts";
import { bulk as words } from "./words.ts";

const POLL_MS = 400;

interface Row { id: string; name: string; about: string }

function rowsOf(kind: Kind): Row[] {
  if (kind === "agents") return agents.value.map(one => ({ id: one.id, name: one.name, about: `@${one.handle}` }));
  const deletable = rooms.value.filter(one => isOwner(one) || isObserved(one));
  return deletable.map(one => ({ id: one.id, name: one.title, about: isObserved(one) ? w.nav.roomsOfAgents : "" }));
}

export function BulkDelete({ kind }: { kind: Kind }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [job, setJob] = useState<Job | null>(null);
  const [question, ask] = useConfirm();
  // A row that is deleted goes, and its name is needed if another one of the same job is not.
  const names = useRef(new Map<string, string>());
  const rows = rowsOf(kind);
  const isRunning = job !== null && !job.completed_at;
  useEffect(() => {
    if (!job || job.completed_at) return;
    const timer = setTimeout(() => {
      progress(job.id).then(next => {
        setJob(next);
        if (next.completed_at) setChosen(new Set(next.results.filter(one => one.error).map(one => one.id)));
      }, (cause: unknown) => {
        // Without a connection, it is asked again.
        if (cause instanceof ApiError && cause.isTemporary) return setJob({ ...job });
        setJob(null);
        complain(cause);
      });
    }, POLL_MS);
    return () => clearTimeout(timer);
  }, [job]);

  const wanted = rows.filter(row => chosen.has(row.id));
  const toggle = (id: string): void => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  const press = (): void => {
    ask({
      deed: words.submit(kind, wanted.length), title: `${words.submit(kind, wanted.length)}?`, text: words.text[kind],
      run: async () => {
        names.current = new Map(wanted.map(row => [row.id, row.name]));
        setJob(await start(kind, wanted.map(row => row.id)));
      },
    });
  };
  return (
    <Page title={words.title[kind]} back={kind === "agents" ? "/agents" : "/"} intro={words.intro[kind]}>
      <Results kind={kind} job={job} nameOf={id => visible(names.current.get(id) ?? id)} />
      {rows.length === 0 ? <Nothing icon="trash" title={words.none[kind]} text="" /> : (
        <form class="choose" onSubmit={event => { event.preventDefault(); press(); }}>
          <fieldset disabled={isRunning}>
            <legend class="vh">{words.title[kind]}</legend>
            <label class="row">
              <input type="checkbox" checked={wanted.length > 0 && wanted.length === Math.min(rows.length, MOST)}
                onChange={event => setChosen(new Set(event.currentTarget.checked ? rows.slice(0, MOST).map(row => row.id) : []))} />
              {words.all}
            </label>
            {rows.map(row => (
              <label class="row" key={row.id}>
                <input type="checkbox" checked={chosen.has(row.id)} onChange={() => toggle(row.id)} />
                <Face id={row.id} name={row.name} isAgent={kind === "agents"} small />
                <span class="names"><span class="name">{visible(row.name)}</span> <span class="handle">{row.about}</span></span>
              </label>
            ))}
          </fieldset>
          {kind === "rooms" && moreRooms.value && <button type="button" class="link more" onClick={() => void loadMore()}>{w.loadMore}</button>}
          {wanted.length > MOST && <p class="hint">{words.limit(MOST)}</p>}
          <footer><button class="danger" disabled={isRunning || wanted.length === 0 || wanted.length > MOST}>{words.submit(kind, wanted.length)}</button></footer>
        </form>
      )}
      {question}
    </Page>
  );
}

function Results({ kind, job, nameOf }: { kind: Kind; job: Job | null; nameOf: (id: string) => string }) {
  const failed = job?.completed_at ? job.results.filter(one => one.error) : [];
  return (
    <div role="status">
      {job && <p>{job.completed_at ? words.done(kind, job.succeeded) : words.progress(job.processed, job.total)}</p>}
      {failed.length > 0 && (
        <>
          <p class="fault">{words.kept(kind, failed.length)}</p>
          <ul class="lines">{failed.map(one => <li key={one.id}><span class="name">{nameOf(one.id)}</span> <span class="hint">{words.reasons[one.error!.code] ?? one.error!.message}</span></li>)}</ul>
        </>
      )}
    </div>
  );
}
