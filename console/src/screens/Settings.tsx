// The caller's profile, and how this browser shows the console.

import { useEffect, useState } from "preact/hooks";
import { Fault, useForm } from "../parts/Dialog.tsx";
import { Field } from "../parts/Field.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Page, Section } from "../parts/Page.tsx";
import { explain } from "../pure/errors.ts";
import { enterSends, hasShortcuts, theme, type Theme } from "../store/look.ts";
import { inform } from "../store/notices.ts";
import { call } from "../wire/call.ts";
import { logOut, user } from "../wire/session.ts";
import { w } from "../words.ts";
import { Keys, Password, Sessions } from "./Access.tsx";

export function Settings() {
  const [version, setVersion] = useState("");
  useEffect(() => { call("apiVersion", {}).then(answer => setVersion(answer.version), () => undefined); }, []);
  const me = user.value!;
  const form = useForm(async data => {
    const text = (name: string): string => String(data.get(name)).trim();
    user.value = (await call("updateProfile", { body: { user: { first_name: text("first"), last_name: text("last") } } })).data;
    inform(w.settings.saved);
  });
  return (
    <Page title={w.settings.title}>
      <Section title={w.settings.profile}>
        <form onSubmit={form.submit} class="columns">
          <Field label={w.settings.firstName} name="first" required autocomplete="given-name" defaultValue={me.first_name} />
          <Field label={w.settings.lastName} name="last" autocomplete="family-name" defaultValue={me.last_name} />
          <Fault text={form.fault ? explain(form.fault) : ""} />
          <button class="plain" disabled={form.isBusy}>{w.save}</button>
        </form>
        <dl>
          <dt>{w.settings.handle}</dt><dd>@{me.handle}</dd>
          <dt>{w.settings.email}</dt><dd>{me.email}</dd>
        </dl>
      </Section>
      <Section title={w.settings.look}>
        <fieldset class="segments">
          <legend>{w.settings.theme}</legend>
          {(["auto", "light", "dark"] as Theme[]).map(one => (
            <label key={one}><input type="radio" name="theme" checked={theme.value === one} onChange={() => { theme.value = one; }} /><span>{w.settings.themes[one]}</span></label>
          ))}
        </fieldset>
      </Section>
      <Section title={w.settings.writing}>
        <Switch label={w.settings.enterSends} hint={w.settings.enterHint} isOn={enterSends.value} onChange={isOn => { enterSends.value = isOn; }} />
        <Switch label={w.settings.shortcuts} hint={w.settings.shortcutsHint} isOn={hasShortcuts.value} onChange={isOn => { hasShortcuts.value = isOn; }} />
      </Section>
      <Password />
      <Keys />
      <Section title={w.access.sessions} intro={w.access.sessionsText}>
        <Sessions />
        <div class="deeds">
          <button type="button" class="plain" onClick={() => void logOut()}><Icon name="log-out" size={16} />{w.settings.logOut}</button>
          <p class="hint">{w.settings.logOutHint}</p>
        </div>
      </Section>
      {version && <p class="hint center">{w.settings.server(version)}</p>}
    </Page>
  );
}

function Switch({ label, hint, isOn, onChange }: { label: string; hint: string; isOn: boolean; onChange: (isOn: boolean) => void }) {
  return (
    <label class="switch">
      <input type="checkbox" checked={isOn} onChange={event => onChange(event.currentTarget.checked)} />
      <span><span class="name">{label}</span><span class="hint">{hint}</span></span>
    </label>
  );
}
