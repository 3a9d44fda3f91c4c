// The screens in front of the log-in: log in, set a password, accept an invitation.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Code } from "../parts/Code.tsx";
import { Fault, typed, useForm } from "../parts/Dialog.tsx";
import { Field } from "../parts/Field.tsx";
import { ApiError } from "../pure/errors.ts";
import { invitation } from "../store/organization.ts";
import { BASE, follow, go, place } from "../store/route.ts";
import { knowsPasskeys } from "../wire/device.ts";
import { ending, isCodeRequired, isUnconfirmed, logIn, logInAt, logInByPasskey, ways, type Door, type Ways } from "../wire/session.ts";
import { w } from "../words.ts";

export function Entrance({ title, text, children }: { title: string; text?: string; children: ComponentChildren }) {
  const isPlain = location.protocol === "http:" && !/^(localhost|127\.|\[::1\])/.test(location.hostname);
  return (
    <main class="entrance" id="main">
      <div class="card">
        <p class="brand"><Mark />{w.app}</p>
        <h1 tabIndex={-1}>{title}</h1>
        {text && <p class="lead">{text}</p>}
        {isPlain && <p class="warning">{w.unencrypted}</p>}
        {children}
      </div>
    </main>
  );
}

export function Mark() {
  return (
    <svg class="mark" width="24" height="24" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M9 8.5h14a2.5 2.5 0 0 1 2.5 2.5v7a2.5 2.5 0 0 1-2.5 2.5h-7L11 24.5v-4H9A2.5 2.5 0 0 1 6.5 18v-7A2.5 2.5 0 0 1 9 8.5z" fill="#fff" />
      <circle cx="12" cy="14.5" r="1.6" /><circle cx="20" cy="14.5" r="1.6" />
    </svg>
  );
}

/**
 * Logs in, and keeps what somebody has typed while the server asks for a code of the second factor: `enter` answers
 * false then, and adds the code when it is called again.
 */
function useDoor() {
  const [door, setDoor] = useState<Door | null>(null);
  const enter = async (data: FormData, wanted: () => Door): Promise<boolean> => {
    const next = door ? { ...door, code: typed(data, "code") } : wanted();
    try {
      await logIn(next);
      return true;
    } catch (cause) {
      if (!isCodeRequired(cause)) throw cause;
      setDoor(next);
      return false;
    }
  };
  return { asksCode: door !== null, enter, leave: () => setDoor(null) };
}

export function Login() {
  const [isByKey, setByKey] = useState(false);
  const [found, setFound] = useState<Ways | null>(null);
  useEffect(() => { ways().then(setFound, () => undefined); }, []);
  const { path, query } = place.value;
  const problem = (w.login.problems as { [word: string]: string })[query.get("problem") ?? ""];
  const { asksCode, enter, leave } = useDoor();
  const form = useForm(async data => {
    await enter(data, () => (isByKey ? { api_key: typed(data, "key") } : { login: typed(data, "login"), password: String(data.get("password")) }));
  });
  const device = useForm(logInByPasskey);
  return (
    <Entrance title={w.login.title}>
      {isUnconfirmed.value && <p class="warning" role="alert">{w.login.unconfirmed}</p>}
      {problem && <p class="warning" role="alert">{problem}</p>}
      {ending.value && <p class="warning" role="status">{w.login.ended[ending.value]}</p>}
      {!asksCode && found?.providers.map(({ name, label }) => <button type="button" class="wide" key={name} onClick={() => void logInAt(name, path === "/login" ? query.get("to") ?? "/" : path + location.search)}>{w.login.at(label)}</button>)}
      {!asksCode && knowsPasskeys && found?.has_passkeys && (
        <form onSubmit={device.submit}>
          <button class="wide plain" disabled={device.isBusy}>{w.login.byPasskey}</button>
          <Fault text={device.rest()} />
        </form>
      )}
      {(isByKey || found?.has_passwords !== false) && <form onSubmit={form.submit} key={`${asksCode} ${isByKey}`}>
        {asksCode ? <Code /> : isByKey
          ? <Field label={w.login.key} hint={w.login.keyHint} name="key" type="password" autocomplete="off" required autofocus spellcheck={false} />
          : <>
              <Field label={w.login.login} name="login" autocomplete="username" required autofocus autocapitalize="none" spellcheck={false} />
              <Field label={w.login.password} name="password" type="password" autocomplete="current-password" required />
            </>}
        <Fault text={form.rest()} />
        <button class="wide" disabled={form.isBusy}>{w.login.title}</button>
      </form>}
      <p class="else">
        <button type="button" class="link" onClick={() => { if (asksCode) leave(); else setByKey(!isByKey); }}>{asksCode ? w.cancel : !isByKey ? w.login.byKey : found?.has_passwords === false ? w.cancel : w.login.byPassword}</button>
      </p>
      <p class="hint center">{w.login.forgot}</p>
    </Entrance>
  );
}

/** The secret of a link. It stands behind `#`, so it reached no server, and leaves the address bar here. */
function useSecret(): string {
  const [secret] = useState(place.value.secret);
  useEffect(() => { history.replaceState(null, "", location.pathname + location.search); }, []);
  return secret;
}

/** The link of `parlance user login-link`. A click logs in, so that nothing that only looks at the link uses it up. */
export function Enter() {
  const secret = useSecret();
  const form = useForm(async () => {
    await logIn({ login_code: secret });
    go("/", true);
  });
  return (
    <Entrance title={w.login.title} text={w.login.byLink}>
      <form onSubmit={form.submit}>
        <Fault text={form.rest()} />
        <button class="wide" disabled={form.isBusy || !secret}>{w.login.title}</button>
      </form>
    </Entrance>
  );
}

export function SetPassword({ isFirst }: { isFirst: boolean }) {
  const secret = useSecret();
  const { asksCode, enter } = useDoor();
  const form = useForm(async data => {
    if (await enter(data, () => ({ reset_token: secret, new_password: String(data.get("password")) }))) go("/", true);
  });
  const isUsed = form.fault instanceof ApiError && form.fault.code === "unauthorized";
  const toLogin = <p class="else"><a href={`${BASE}/login`}>{w.password.toLogin}</a></p>;
  const title = isFirst ? w.password.welcome : w.password.reset;
  if (!secret) return <Entrance title={title}><p class="fault">{w.password.noToken}</p>{toLogin}</Entrance>;
  return (
    <Entrance title={title} text={isFirst ? w.password.welcomeText : w.password.resetText}>
      <form onSubmit={form.submit} key={String(asksCode)}>
        {asksCode ? <Code /> : <Field label={w.password.new} hint={w.password.hint} name="password" type="password" autocomplete="new-password" required minLength={10} maxLength={256} autofocus
          fault={form.at("new_password")} />}
        <Fault text={isUsed ? w.password.invalid : form.rest()} />
        <button class="wide" disabled={form.isBusy}>{w.password.submit}</button>
      </form>
      {toLogin}
    </Entrance>
  );
}

export function Register() {
  const [secret] = useState(invitation.value);
  const form = useForm(async data => {
    // Used by this account, so nobody is asked to accept it.
    invitation.value = "";
    await logIn({
      handle: typed(data, "handle"), email: typed(data, "email"), name: typed(data, "name"), password: String(data.get("password")),
      ...(secret ? { invitation: secret } : {}),
    }).catch((cause: unknown) => { invitation.value = secret; throw cause; });
    go("/", true);
  });
  return (
    <Entrance title={w.register.title}>
      <form onSubmit={form.submit}>
        <Field label={w.agents.name} name="name" autocomplete="name" required autofocus fault={form.at("name")} />
        <Field label={w.settings.email} name="email" type="email" autocomplete="email" required fault={form.at("email")} />
        <Field label={w.handle} hint={w.register.handleHint} name="handle" autocomplete="username" required autocapitalize="none" spellcheck={false} fault={form.at("handle")} />
        <Field label={w.login.password} hint={w.password.hint} name="password" type="password" autocomplete="new-password" required minLength={10} fault={form.at("password")} />
        <Fault text={form.rest()} />
        <button class="wide" disabled={form.isBusy}>{w.register.submit}</button>
      </form>
      {/* Without a reload, which would forget the invitation. */}
      <p class="else" onClick={follow}><a href={`${BASE}/login`}>{w.register.toLogin}</a></p>
    </Entrance>
  );
}
