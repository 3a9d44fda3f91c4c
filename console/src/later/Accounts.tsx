// All users and agents, and those agents whose work needs attention.

import { Field, Icon, Nothing, now, Presence, Rows, Section, Somebody, Time, typed, useConfirm, usePaged, user, useState, visible, w } from "../shared.ts";
import type { Paged } from "../store/paged.ts";
import type { AgentOverviewView } from "../wire/api.ts";
import { flagged } from "./Overview.tsx";
import { allAgents, setAgentDisabled, setUserDisabled, trouble, users } from "./read.ts";
import { words } from "./words.ts";

const WATCH_MS = 10_000;

interface Account { id: string; name: string; disabled_at?: string | null }

/** The button that disables or enables an account, and its question. `texts` say what follows. */
function useSwitch(set: (id: string, isDisabled: boolean, password: string) => Promise<unknown>, texts: [disable: string, enable: string], changed: (id: string, changes: { disabled_at: string | null }) => void) {
  const [question, ask] = useConfirm();
  const button = ({ id, name, disabled_at }: Account) => {
    const isDisabled = disabled_at != null;
    const shown = visible(name);
    const [deed, text, done] = isDisabled ? [words.enable, texts[1], words.enabledDone(shown)] : [words.disable, texts[0], words.disabledDone(shown)];
    const run = async (password: string): Promise<void> => {
      await set(id, !isDisabled, password);
      changed(id, { disabled_at: isDisabled ? null : new Date(now.value).toISOString() });
    };
    return <button type="button" class={isDisabled ? "plain small" : "plain small danger"} aria-label={w.of(deed, shown)} onClick={() => ask({ deed, name: shown, text, danger: !isDisabled, run, done })}>{deed}</button>;
  };
  return [question, button] as const;
}

/** Shows the change also on pages that are not read again, and drops the answer to what was asked before it. */
export function renew<T>(list: Paged<T>, id: string, changes: Partial<T>): void {
  list.patch(id, changes);
  void list.load(true);
}

const Disabled = ({ at }: { at: string | null | undefined }) => (at ? <span class="alarm over"><Time at={at} text={words.disabledSince} /></span> : null);

/** A field to find accounts by a part of the name or handle, and what was last looked for. */
function useSearch() {
  const [part, setPart] = useState("");
  const form = (
    <form class="filters" role="search" onSubmit={event => { event.preventDefault(); setPart(typed(new FormData(event.currentTarget), "q")); }}>
      <div class="columns">
        <Field label={words.search} name="q" type="search" maxLength={201} autocomplete="off" />
        <button class="plain"><Icon name="search" size={16} />{words.find}</button>
      </div>
    </form>
  );
  return [part, form] as const;
}

export function Users() {
  const [part, search] = useSearch();
  const list = usePaged(cursor => users(part, cursor), [part], WATCH_MS);
  const [question, button] = useSwitch(setUserDisabled, [words.disableUserText, words.enableUserText], (id, changes) => renew(list, id, changes));
  return (
    <Section title={words.users} intro={words.usersText}>
      {search}
      <Rows list={list} kind="lines accounts" empty={<p class="hint">{words.noMatch}</p>} row={one => (
        <li key={one.id}>
          <Somebody one={{ ...one, type: "User" }} />
          <span class="facts when">
            {one.role === "admin" && <span class="tag">{words.admin}</span>}
            <span class="hint">{visible(one.email)}</span>
            <Disabled at={one.disabled_at} />
          </span>
          {one.id !== user.value?.id && button(one)}
        </li>
      )} />
      {question}
    </Section>
  );
}

export function Agents() {
  const [part, search] = useSearch();
  const list = usePaged(cursor => allAgents(part, cursor), [part], WATCH_MS);
  const [question, button] = useSwitch(setAgentDisabled, [words.disableAgentText, words.enableAgentText], (id, changes) => renew(list, id, changes));
  return (
    <Section title={words.agents} intro={words.agentsText}>
      {search}
      <Rows list={list} kind="lines accounts" empty={<p class="hint">{part ? words.noMatch : words.agentsNone}</p>} row={one => (
        <li key={one.id}>
          <Somebody one={{ ...one, type: "Agent" }} />
          <span class="facts when"><Standing one={one} /><Disabled at={one.disabled_at} /></span>
          {button(one)}
        </li>
      )} />
      {question}
    </Section>
  );
}

function Standing({ one }: { one: AgentOverviewView }) {
  return one.is_external ? <Presence isOn={one.connected === true} /> : <span class="hint">{w.agents.platform}</span>;
}

export function Trouble() {
  const list = usePaged(trouble, [], WATCH_MS);
  return (
    <section class="sheet">
      <p class="hint">{words.troubleText}</p>
      <Rows list={list} kind="lines accounts" empty={<Nothing icon="check" title={words.troubleNone} />} row={one => (
        <li key={one.id}>
          <Somebody one={{ ...one, type: "Agent" }} />
          <span class="facts">
            <b>{flagged(one.work)}</b>
            <span class="hint">{w.agentWork.open(one.work.open)}{one.work.oldest_at && <> · <Time at={one.work.oldest_at} text={words.oldest} /></>}</span>
          </span>
          <span class="facts when">
            <Standing one={one} />
            {one.connected !== true && one.last_disconnected_at && <span class="hint"><Time at={one.last_disconnected_at} text={time => words.lastSeen(time, w.disconnect[one.last_disconnect_reason ?? ""] ?? one.last_disconnect_reason ?? "")} /></span>}
            <Disabled at={one.disabled_at} />
          </span>
        </li>
      )} />
    </section>
  );
}
