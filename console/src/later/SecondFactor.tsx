// The second factor of the user: setting it up with an authenticator app, new recovery codes, and turning it off.

import { encode } from "uqr";
import { call, Code, Confirm, CopyButton, inform, Loading, passwordIn, Section, ShownOnce, Time, typed, useMemo, useRead, useRef, useState, w } from "../shared.ts";
import type { NewSecondFactorView } from "../wire/api.ts";
import { secondFactor as words } from "./secondfactorwords.ts";

/** With fewer recovery codes than this, the page shows their number as a warning. */
const FEW = 3;

export function SecondFactor() {
  const read = useRead(async () => (await call("showSecondFactor", {})).data);
  const [asking, setAsking] = useState<"begin" | "renew" | "remove" | null>(null);
  const [begun, setBegun] = useState<NewSecondFactorView | null>(null);
  const [codes, setCodes] = useState<string[]>([]);
  const close = (): void => setAsking(null);
  const got = ({ data }: { data: { recovery_codes: string[] } }): void => { setCodes(data.recovery_codes); read.again(); };
  const change = async (data: FormData): Promise<void> => {
    const body = { current_password: passwordIn(data), code: typed(data, "code") };
    if (asking === "renew") return got(await call("renewRecoveryCodes", { body }));
    await call("removeSecondFactor", { body });
    inform(words.removed);
    read.again();
  };
  const { status, enabled_at: since, recovery_codes_left: left } = read.value ?? {};
  return (
    <Section title={w.settings.secondFactor} intro={words.intro}>
      <Loading of={read} />
      {status && (since
        ? <p class={left! < FEW ? "warning" : ""}><Time at={since} text={words.on} /> {words.left(left!)}</p>
        : <p>{words.off}</p>)}
      {status && (
        <div class="deeds">
          {since
            ? <>
                <button type="button" class="plain" onClick={() => setAsking("renew")}>{words.renew}</button>
                <button type="button" class="plain danger" onClick={() => setAsking("remove")}>{words.remove}</button>
              </>
            : <button type="button" class="plain" onClick={() => setAsking("begin")}>{words.setUp}</button>}
        </div>
      )}
      {asking === "begin" && (
        <Confirm title={words.setUp} submit={words.next} asksPassword onClose={close}
          onSubmit={async data => setBegun((await call("beginSecondFactor", { body: { current_password: passwordIn(data) } })).data)} />
      )}
      {(asking === "renew" || asking === "remove") && (
        <Confirm title={words[asking]} text={words[`${asking}Text`]} submit={words[asking]} danger={asking === "remove"} asksPassword onSubmit={change} onClose={close}>
          {fault => <Code fault={fault("code")} />}
        </Confirm>
      )}
      {begun && (
        <Confirm title={words.setUp} text={words.scan} submit={words.turnOn} onClose={() => setBegun(null)}
          onSubmit={async data => got(await call("confirmSecondFactor", { body: { code: typed(data, "code") } }))}>
          {fault => <><Pairing begun={begun} /><Code isOfApp fault={fault("code")} /></>}
        </Confirm>
      )}
      {codes.length > 0 && (
        <ShownOnce title={words.codes} secret={codes.join("\n")} label={words.codes} what={words.what} once={words.once} onClose={() => setCodes([])}>
          {() => <p class="hint">{words.codesText}</p>}
        </ShownOnce>
      )}
    </Section>
  );
}

/** What an authenticator app needs: as a QR code, and to be typed. */
function Pairing({ begun: { secret, otpauth_url: url } }: { begun: NewSecondFactorView }) {
  const key = useRef<HTMLElement>(null);
  const { size, data } = useMemo(() => encode(url, { border: 4 }), [url]);
  const dark = data.map((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")).join("")).join("");
  return (
    <div class="secret">
      <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={words.qr}>
        <rect width={size} height={size} fill="#fff" />
        <path d={dark} fill="#000" />
      </svg>
      <div class="line">
        <code ref={key} class="key" aria-label={words.key} role="group" tabIndex={0}>{secret.replace(/.{4}(?=.)/g, "$& ")}</code>
        <CopyButton text={secret} of={() => key.current} />
      </div>
    </div>
  );
}
