// A dialog that leads to a room, an agent, a person, or a page.

import { useEffect, useMemo, useState } from "preact/hooks";
import { Dialog } from "../parts/Dialog.tsx";
import { Face } from "../parts/Face.tsx";
import { Icon } from "../parts/Icon.tsx";
import type { IconName } from "../parts/icons.ts";
import { comboOf, Options, stepped } from "../parts/Options.tsx";
import { find, prepared, type Target } from "../pure/goto.ts";
import type { Id } from "../pure/message.ts";
import { visible } from "../pure/visible.ts";
import { agents, isMine } from "../store/agents.ts";
import { everyRoom, isReading, load, others } from "../store/goto.ts";
import { go } from "../store/route.ts";
import { isOperator, user } from "../wire/session.ts";
import { w } from "../words.ts";

const MOST_SHOWN = 50;

interface Place extends Target { kind: keyof typeof w.goTo.kinds; icon?: IconName }

const SCREENS: [path: string, name: string, icon: IconName][] = [
  ["/inbox", w.inbox.title, "inbox"], ["/search", w.search.title, "search"], ["/work", w.work.title, "list-checks"], ["/agents", w.agents.title, "bot"], ["/agents/new", w.registering.title, "plus"], ["/people", w.contacts.title, "users"], ["/memories", w.memories.title, "archive"], ["/organization", w.organization.title, "building-2"],
  ["/usage", w.usage.title, "list-tree"], ["/settings", w.settings.title, "settings"],
];
const page = ([id, name, icon]: (typeof SCREENS)[number]): Place => ({ id, name, icon, also: "", at: "", kind: "page" });
const pages = SCREENS.map(page);
const server = page(["/operator", w.operator.title, "server"]);

export function GoTo({ onClose, onRoom }: { onClose: () => void; onRoom: (who: Id) => void }) {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  useEffect(() => { void load(); }, []);
  const all = useMemo(() => {
    const some = (kind: Place["kind"], list: readonly { id: Id; name: string; handle: string }[]): Place[] =>
      list.map(one => ({ id: one.id, name: one.name, also: `@${one.handle}`, at: "", kind }));
    return prepared([
      ...everyRoom.value.map((room): Place => ({ id: room.id, name: room.title, also: "", at: room.last_message_at ?? room.inserted_at, kind: "room" })),
      ...pages,
      ...(isOperator.value ? [server] : []),
      ...some("agent", agents.value),
      ...some("person", others.value.filter(one => !isMine(one.id) && one.id !== user.value?.id)),
    ]);
  }, [everyRoom.value, agents.value, others.value]);
  const found = useMemo(() => find(all, query, MOST_SHOWN), [all, query]);
  const at = Math.min(chosen, found.length - 1);

  const pick = ({ kind, id }: Place): void => {
    onClose();
    if (kind === "person") onRoom(id);
    else go(kind === "page" ? id : `/${kind}s/${id}`);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.isComposing || found.length === 0) return;
    const next = stepped(event.key, at, found.length);
    if (next !== null) setChosen(next);
    else if (event.key === "Enter") pick(found[at]!);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={w.goTo.title} onClose={onClose}>
      <div class="goto">
        <input type="text" role="combobox" aria-label={w.goTo.label} placeholder={w.goTo.label} autocomplete="off" spellcheck={false} value={query} data-focus
          aria-expanded={found.length > 0} {...comboOf("places", found.length, at)} onKeyDown={key}
          onInput={event => { setQuery(event.currentTarget.value); setChosen(0); }} />
        <p class="hint" role="status">{isReading.value ? w.goTo.loading : w.composer.found(found.length)}</p>
        {found.length > 0 && (
          <Options id="places" label={w.goTo.results} options={found} chosen={at} onPick={pick} row={one => (
            <>
              {one.kind === "agent" || one.kind === "person" ? <Face id={one.id} name={one.name} isAgent={one.kind === "agent" || one.also.includes("/")} small /> : <Icon name={one.icon ?? "message-square"} />}
              <span class="name">{visible(one.name)}</span> {one.also && <span class="handle">{one.also}</span>}
              <span class="tag">{w.goTo.kinds[one.kind]}</span>
            </>
          )} />
        )}
      </div>
    </Dialog>
  );
}
