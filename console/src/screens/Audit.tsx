// The audit log of the organization, and that of the server.

import { useState } from "preact/hooks";
import { Field } from "../parts/Field.tsx";
import { Rows, usePaged } from "../parts/Pages.tsx";
import { Time } from "../parts/Time.tsx";
import { visible } from "../pure/visible.ts";
import { audit } from "../store/organization.ts";
import type { AuditEntryView, AuditObjectView } from "../wire/api.ts";
import { w } from "../words.ts";

/** `member.role_set` is read as "member role set"; the API calls a room a chat. */
const spoken = (action: string): string => action.replace(/^chat\./, "room.").replace(/[._]/g, " ");

type Read = typeof audit;

export const Audit = () => <AuditLog text={w.organization.auditText} read={audit} />;

/** `ofAll` names the organizations, since entries are of several. */
export function AuditLog({ text, read, ofAll = false }: { text: string; read: Read; ofAll?: boolean }) {
  const words = w.organization;
  const [from, setFrom] = useState("");
  // The day that somebody chooses is one here.
  const list = usePaged(cursor => read(from && new Date(`${from}T00:00`).toISOString(), cursor), [from]);
  return (
    <section class="sheet">
      <p class="hint">{text}</p>
      <div class="filters"><Field label={words.since} type="date" value={from} onChange={event => setFrom(event.currentTarget.value)} /></div>
      <Rows list={list} empty={<p>{words.auditNone}</p>} row={one => <li key={one.id}><Entry one={one} ofAll={ofAll} /></li>} />
    </section>
  );
}

function Entry({ one: { action, actor, subject, place, detail, inserted_at }, ofAll }: { one: AuditEntryView; ofAll: boolean }) {
  const words = w.organization;
  const name = (what: AuditObjectView | null | undefined): string => (what?.name && (ofAll || what.type !== "Organization") ? visible(what.name) : "");
  const where = place?.id === subject.id ? "" : name(place);
  return (
    <>
      <span><b>{visible(spoken(action))}</b> {name(subject)}{where && <span class="hint"> {words.in(where)}</span>}
        {detail && <span class="hint"> · {visible(detail)}</span>}</span>
      <span class="hint when">{words.by(actor ? name(actor) : ["webhook.disabled", "push.removed"].includes(action) ? words.server : words.operator)}<br /><Time at={inserted_at} /></span>
    </>
  );
}
