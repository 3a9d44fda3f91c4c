// The caller's profile, and how this browser shows the console.

import { useEffect, useState } from "preact/hooks";
import { Fault, typed, useForm } from "../parts/Dialog.tsx";
import { Field, Segments, Switch } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Page, Section } from "../parts/Page.tsx";
import { enterSends, hasShortcuts, theme, type Theme } from "../store/look.ts";
import { inform } from "../store/notices.ts";
import { call } from "../wire/call.ts";
import { logOut, user } from "../wire/session.ts";
import { w } from "../words.ts";
import { Keys, Password, Sessions } from "./Access.tsx";
import { LaterSection } from "./LaterSection.tsx";

export function Settings() {
  const [version, setVersion] = useState("");
  useEffect(() => { call("apiVersion", {}).then(answer => setVersion(answer.version), () => undefined); }, []);
  const me = user.value!;
  const form = useForm(async data => {
    user.value = (await call("updateProfile", { body: { user: { first_name: typed(data, "first"), last_name: typed(data, "last") } } })).data;
    inform(w.settings.saved);
  });
  return (
    <Page title={w.settings.title}>
      <Section title={w.settings.profile}>
        <form onSubmit={form.submit} class="columns">
          <Field label={w.settings.firstName} name="first" required autocomplete="given-name" defaultValue={me.first_name} />
          <Field label={w.settings.lastName} name="last" autocomplete="family-name" defaultValue={me.last_name} />
          <Fault text={form.rest()} />
          <button class="plain" disabled={form.isBusy}>{w.save}</button>
        </form>
        <dl>
          <dt>{w.handle}</dt><dd>@{me.handle}</dd>
          <dt>{w.settings.email}</dt><dd>{me.email}</dd>
        </dl>
      </Section>
      <Section title={w.settings.look}>
        <Segments label={w.settings.theme} name="theme" options={w.settings.themes} value={theme.value} onChange={one => { theme.value = one as Theme; }} />
      </Section>
      <Section title={w.settings.writing}>
        <Switch label={w.settings.enterSends} hint={w.settings.enterHint} checked={enterSends.value} onChange={event => { enterSends.value = event.currentTarget.checked; }} />
        <Switch label={w.settings.shortcuts} hint={w.settings.shortcutsHint} checked={hasShortcuts.value} onChange={event => { hasShortcuts.value = event.currentTarget.checked; }} />
      </Section>
      <LaterSection title={w.settings.notifications}>{({ Notifications }) => <Notifications />}</LaterSection>
      <Password />
      <LaterSection title={w.settings.secondFactor}>{({ SecondFactor }) => <SecondFactor />}</LaterSection>
      <LaterSection title={w.settings.passkeys}>{({ Passkeys }) => <Passkeys />}</LaterSection>
      <Keys />
      <Section title={w.access.sessions} intro={w.access.sessionsText}>
        <Sessions />
        <div class="deeds">
          <button type="button" class="plain" onClick={() => void logOut()}><Icon name="log-out" size={16} />{w.nav.logOut}</button>
          <p class="hint">{w.settings.logOutHint}</p>
        </div>
      </Section>
      {version && <p class="hint center">{w.settings.server(version)}</p>}
    </Page>
  );
}
