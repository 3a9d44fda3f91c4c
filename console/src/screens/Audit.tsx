// The audit log of the organization.

import { useState } from "preact/hooks";
import { Field } from "../parts/Field.tsx";
import { Rows, usePaged } from "../parts/Pages.tsx";
import { visible } from "../pure/visible.ts";
import { exact, since } from "../pure/when.ts";
import { now } from "../store/now.ts";
import { audit } from "../store/organization.ts";
import type { AuditEntryView, AuditObjectView } from "../wire/api.ts";
import { w } from "../words.ts";

/** `member.role_set` is read as "member role set"; the API calls a room a chat. */
const spoken = (action: string): string => action.replace(/^chat\./, "room.").replace(/[._]/g, " ");

export function Audit() {
  const words = w.organization;
  const [from, setFrom] = useState("");
  // The day that somebody chooses is one here.
  const list = usePaged(cursor => audit(from && new Date(`${from}T00:00`).toISOString(), cursor), [from]);
  return (
    <section class="sheet">
      <p class="hint">{words.auditText}</p>
      <div class="filters"><Field label={words.since} type="date" value={from} onChange={event => setFrom(event.currentTarget.value)} /></div>
      <Rows list={list} empty={<p>{words.auditNone}</p>} row={one => <li key={one.id}><Entry one={one} /></li>} />
    </section>
  );
}

function Entry({ one: { action, actor, subject, place, detail, inserted_at } }: { one: AuditEntryView }) {
  const words = w.organization;
  // All entries are of this organization, so it is not named again.
  const name = (what: AuditObjectView | null | undefined): string => (what?.name && what.type !== "Organization" ? visible(what.name) : "");
  const where = place?.id === subject.id ? "" : name(place);
  return (
    <>
      <span><b>{visible(spoken(action))}</b> {name(subject)}{where && <span class="hint"> {words.in(where)}</span>}
        {detail && <span class="hint"> · {visible(detail)}</span>}</span>
      <span class="hint when">{words.by(actor ? name(actor) : words.operator)}<br /><time dateTime={inserted_at} title={exact(inserted_at)}>{since(inserted_at, now.value)}</time></span>
    </>
  );
}
