// The members of the organization, and the invitations into it.

import { useRef, useState } from "preact/hooks";
import { CopyButton } from "../parts/Copy.tsx";
import { Confirm, Dialog, typed, typedNumber } from "../parts/Dialog.tsx";
import { Face } from "../parts/Face.tsx";
import { Field, Segments } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Menu } from "../parts/Menu.tsx";
import { More, usePages } from "../parts/Pages.tsx";
import { visible } from "../pure/visible.ts";
import { exact, since } from "../pure/when.ts";
import { now } from "../store/now.ts";
import { inform } from "../store/notices.ts";
import { invitations, invite, isAdmin, isAlone, members, organization, removeMember, revoke, setRole, type Role } from "../store/organization.ts";
import { BASE } from "../store/route.ts";
import type { InvitationView, InvitedView, MemberView } from "../wire/api.ts";
import { user } from "../wire/session.ts";
import { w } from "../words.ts";

const WATCH_MS = 30_000;
type Asked = { kind: "remove" | "stepDown" | Role; member: MemberView };

export function Members() {
  // When the number of members changes, so did the list.
  const pages = usePages(members, [organization.value?.members], WATCH_MS);
  const [asking, setAsking] = useState<Asked | null>(null);
  const words = w.organization;
  const give = async (member: MemberView, role: Role): Promise<void> => {
    const after = await setRole(member.id, role);
    pages.change(rows => rows.map(one => (one.id === after.id ? after : one)));
    inform(words.roleDone(visible(after.name), after.role));
  };
  const remove = async (member: MemberView): Promise<void> => {
    await removeMember(member.id);
    pages.change(rows => rows.filter(one => one.id !== member.id));
    inform(words.removed(visible(member.name)));
  };
  return (
    <>
      {!isAlone.value && (
        <section class="sheet">
          <h2>{words.members}</h2>
          <ul class="lines">
            {pages.rows?.map(one => (
              <li key={one.id}>
                <span class="somebody">
                  <Face id={one.id} name={one.name} isAgent={false} small />
                  <span class="names"><span class="name">{visible(one.name)}</span><span class="handle">@{one.handle}</span></span>
                  {one.id === user.value?.id && <span class="tag">{w.you}</span>}
                </span>
                <span class="tag">{words.role[one.role] ?? one.role}</span>
                {isAdmin.value && (
                  <Menu label={words.actions(visible(one.name))} choices={[
                    one.role !== "admin"
                      ? { label: words.makeAdmin, icon: "key-round", run: () => setAsking({ kind: "admin", member: one }) }
                      : { label: words.makeMember, icon: "users", run: () => setAsking({ kind: one.id === user.value?.id ? "stepDown" : "member", member: one }) },
                    ...(one.id === user.value?.id ? [] : [{ label: words.removeMember, icon: "trash" as const, danger: true, run: () => setAsking({ kind: "remove", member: one }) }]),
                  ]} />
                )}
              </li>
            ))}
          </ul>
          <More of={pages} />
        </section>
      )}
      {isAdmin.value && <Invitations />}
      {asking?.kind === "remove" && (
        <Confirm title={words.removeTitle(visible(asking.member.name))} text={words.removeText} submit={words.remove} danger onSubmit={() => remove(asking.member)} onClose={() => setAsking(null)} />
      )}
      {asking?.kind === "admin" && (
        <Confirm title={words.makeAdminTitle(visible(asking.member.name))} text={words.makeAdminText} submit={words.makeAdmin} onSubmit={() => give(asking.member, "admin")} onClose={() => setAsking(null)} />
      )}
      {asking?.kind === "member" && (
        <Confirm title={words.makeMemberTitle(visible(asking.member.name))} text={words.makeMemberText} submit={words.makeMember} danger onSubmit={() => give(asking.member, "member")} onClose={() => setAsking(null)} />
      )}
      {asking?.kind === "stepDown" && (
        <Confirm title={words.stepDown} text={words.stepDownText} submit={words.makeMember} danger onSubmit={() => give(asking.member, "member")} onClose={() => setAsking(null)} />
      )}
    </>
  );
}

/** Whom an invitation is for. */
const guest = (one: InvitationView): string => visible(one.email ?? w.organization.anyone);

function Invitations() {
  const words = w.organization;
  // Who joins has accepted one.
  const pages = usePages(invitations, [organization.value?.members], WATCH_MS);
  const [isInviting, setInviting] = useState(false);
  const [link, setLink] = useState("");
  const [revoking, setRevoking] = useState<InvitationView | null>(null);
  const end = async (one: InvitationView): Promise<void> => {
    await revoke(one.id);
    pages.change(rows => rows.map(row => (row.id === one.id ? { ...row, status: "revoked" } : row)));
    inform(words.revoked);
  };
  return (
    <section class="sheet">
      <h2>{words.invitations}</h2>
      {isAlone.value && <p>{words.alone}</p>}
      <div class="deeds"><button type="button" class={isAlone.value ? "" : "plain"} onClick={() => setInviting(true)}><Icon name="user-plus" size={16} />{words.invite}</button></div>
      {pages.rows && pages.rows.length > 0 && (
        <ul class="lines">
          {pages.rows.map(one => (
            <li key={one.id}>
              <span>
                {guest(one)} <span class="hint">{words.asRole(words.role[one.role] ?? one.role)} · {words.statuses[one.status] ?? one.status}
                  {one.status === "open" && <> · <time dateTime={one.expires_at} title={exact(one.expires_at)}>{words.expires(since(one.expires_at, now.value))}</time></>}</span>
              </span>
              {one.status === "open" && <button type="button" class="plain small" aria-label={words.revokeLabel(guest(one))} onClick={() => setRevoking(one)}>{words.revoke}</button>}
            </li>
          ))}
        </ul>
      )}
      <More of={pages} />
      {isInviting && <Invite onClose={() => setInviting(false)} onDone={answer => { pages.change(rows => [answer.invitation, ...rows]); setLink(answer.link ?? `${location.origin}${BASE}/register#${answer.token}`); }} />}
      {link && <Invited link={link} onClose={() => setLink("")} />}
      {revoking && <Confirm title={words.revokeTitle} text={words.revokeText} submit={words.revoke} danger onSubmit={() => end(revoking)} onClose={() => setRevoking(null)} />}
    </section>
  );
}

function Invite({ onDone, onClose }: { onDone: (answer: InvitedView) => void; onClose: () => void }) {
  const words = w.organization;
  const create = async (data: FormData): Promise<void> =>
    onDone(await invite(typed(data, "role") as Role, typed(data, "email"), typedNumber(data, "days")!));
  return (
    <Confirm title={words.invite} submit={words.inviteSubmit} fields={["email", "expires_at"]} onSubmit={create} onClose={onClose}>
      {fault => (
        <>
          <Segments label={words.inviteRole} name="role" options={words.roles} value="member" />
          <Field label={words.inviteEmail} hint={words.inviteEmailHint} name="email" type="email" maxLength={254} autocomplete="off" data-focus fault={fault("email")} />
          <Field label={words.inviteDays} name="days" type="number" required min={1} max={90} defaultValue={7} fault={fault("expires_at")} />
        </>
      )}
    </Confirm>
  );
}

/** The link with the token behind `#`, which reaches no server before it is used. */
function Invited({ link, onClose }: { link: string; onClose: () => void }) {
  const words = w.organization;
  const shown = useRef<HTMLElement>(null);
  return (
    <Dialog title={words.invited} onClose={onClose}>
      <div class="secret">
        <p class="once">{words.linkOnce}</p>
        <div class="line">
          <code ref={shown} class="key" aria-label={words.link} role="group" tabIndex={0} data-focus>{link}</code>
          <CopyButton text={link} of={() => shown.current} />
        </div>
        <p class="hint">{words.linkText}</p>
      </div>
      <footer><button type="button" onClick={onClose}>{words.done}</button></footer>
    </Dialog>
  );
}
