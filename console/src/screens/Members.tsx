// The members of the organization, and the invitations into it.

import { useState } from "preact/hooks";
import { Somebody } from "../parts/Choose.tsx";
import { Confirm, typed, typedNumber, useConfirm } from "../parts/Dialog.tsx";
import { Field, Segments } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Menu, type Choice } from "../parts/Menu.tsx";
import { Section } from "../parts/Page.tsx";
import { Rows, usePaged } from "../parts/Pages.tsx";
import { ShownOnce } from "../parts/Secret.tsx";
import { Time } from "../parts/Time.tsx";
import { visible } from "../pure/visible.ts";
import { inform } from "../store/notices.ts";
import { invitations, invite, isAdmin, isAlone, members, organization, removeMember, revoke, setRole, type Role } from "../store/organization.ts";
import { BASE } from "../store/route.ts";
import type { InvitationView, InvitedView, MemberView } from "../wire/api.ts";
import { user } from "../wire/session.ts";
import { w } from "../words.ts";

const WATCH_MS = 30_000;

export function Members() {
  // When the number of members changes, so did the list.
  const list = usePaged(members, [organization.value?.members], WATCH_MS);
  const [question, ask] = useConfirm();
  const words = w.organization;
  const give = async (member: MemberView, role: Role): Promise<void> => {
    const after = await setRole(member.id, role);
    list.put(after);
    inform(words.roleDone(visible(after.name), after.role));
  };
  const choices = (one: MemberView): Choice[] => {
    const { id } = one;
    const name = visible(one.name);
    const isMe = id === user.value?.id;
    const wanted = one.role === "admin" ? "member" : "admin";
    const role = wanted === "admin" ? { label: words.makeAdmin, icon: "key-round" as const, title: words.makeAdminTitle(name), text: words.makeAdminText, danger: false }
      : { label: words.makeMember, icon: "users" as const, ...(isMe ? { title: words.stepDown, text: words.stepDownText } : { title: words.makeMemberTitle(name), text: words.makeMemberText }), danger: true };
    return [
      { label: role.label, icon: role.icon, run: () => ask({ ...role, deed: role.label, run: () => give(one, wanted) }) },
      ...(isMe ? [] : [{
        label: words.removeMember, icon: "trash" as const, danger: true,
        run: () => ask({ deed: w.remove, name, text: words.removeText, done: words.removed(name), run: async () => { await removeMember(id); list.drop(id); } }),
      }]),
    ];
  };
  return (
    <>
      {!isAlone.value && (
        <Section title={words.members}>
          <Rows list={list} row={one => (
            <li key={one.id}>
              <Somebody one={{ ...one, type: "User" }} />
              <span class="tag">{words.role[one.role] ?? one.role}</span>
              {isAdmin.value && <Menu label={words.actions(visible(one.name))} choices={choices(one)} />}
            </li>
          )} />
        </Section>
      )}
      {isAdmin.value && <Invitations />}
      {question}
    </>
  );
}

/** Whom an invitation is for. */
const guest = (one: InvitationView): string => visible(one.email ?? w.organization.anyone);

function Invitations() {
  const words = w.organization;
  // Who joins has accepted one.
  const list = usePaged(invitations, [organization.value?.members], WATCH_MS);
  const [isInviting, setInviting] = useState(false);
  const [link, setLink] = useState("");
  const [question, ask] = useConfirm();
  return (
    <Section title={words.invitations} intro={isAlone.value && words.alone}
      action={<button type="button" class={isAlone.value ? "" : "plain"} onClick={() => setInviting(true)}><Icon name="user-plus" size={16} />{words.invite}</button>}>
      <Rows list={list} row={one => (
        <li key={one.id}>
          <span>
            {guest(one)} <span class="hint">{words.asRole(words.role[one.role] ?? one.role)} · {words.statuses[one.status] ?? one.status}
              {one.status === "open" && <> · <Time at={one.expires_at} text={words.expires} /></>}</span>
          </span>
          {one.status === "open" && (
            <button type="button" class="plain small danger" aria-label={words.revokeLabel(guest(one))} onClick={() => ask({
              title: words.revokeTitle, deed: w.access.revoke, text: words.revokeText, done: words.revoked,
              run: async () => { await revoke(one.id); list.patch(one.id, { status: "revoked" }); },
            })}>{w.access.revoke}</button>
          )}
        </li>
      )} />
      {/* The token stands behind `#`, which reaches no server before it is used. */}
      {isInviting && <Invite onClose={() => setInviting(false)} onDone={answer => { list.put(answer.invitation); setLink(answer.link ?? `${location.origin}${BASE}/register#${answer.token}`); }} />}
      {link && (
        <ShownOnce isSafe title={words.invited} label={words.link} once={words.linkOnce} secret={link} onClose={() => setLink("")}>
          {() => <p class="hint">{words.linkText}</p>}
        </ShownOnce>
      )}
      {question}
    </Section>
  );
}

function Invite({ onDone, onClose }: { onDone: (answer: InvitedView) => void; onClose: () => void }) {
  const words = w.organization;
  const create = async (data: FormData): Promise<void> =>
    onDone(await invite(typed(data, "role") as Role, typed(data, "email"), typedNumber(data, "days")!));
  return (
    <Confirm title={words.invite} submit={words.inviteSubmit} onSubmit={create} onClose={onClose}>
      {fault => (
        <>
          <Segments label={words.inviteRole} name="role" options={words.roles} value="member" />
          <Field label={w.settings.email} hint={words.inviteEmailHint} name="email" type="email" maxLength={254} autocomplete="off" data-focus fault={fault("email")} />
          <Field label={words.inviteDays} name="days" type="number" required min={1} max={90} defaultValue={7} fault={fault("expires_at")} />
        </>
      )}
    </Confirm>
  );
}
