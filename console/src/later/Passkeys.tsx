// The passkeys of the user: adding one with a device, other names, and removing them.

import { call, Code, Confirm, create, Field, hasPasskeys, inform, knowsPasskeys, Loading, passwordIn, Section, Time, typed, useRead, useState, visible, w } from "../shared.ts";
import type { PasskeyView } from "../wire/api.ts";
import { passkeys as words } from "./passkeywords.ts";

interface Asked { deed: "add" | "rename" | "remove"; of?: PasskeyView }

export function Passkeys() {
  const read = useRead(async () => ({
    list: (await call("listPasskeys", {})).data,
    asksCode: (await call("showSecondFactor", {})).data.status === "on",
  }));
  const [{ deed, of }, ask] = useState<Partial<Asked>>({});
  // The second factor may have changed since, on this page or elsewhere.
  const open = (asked: Asked): void => { ask(asked); read.again(); };
  const { list, asksCode } = read.value ?? {};
  const path = { passkey_id: of?.id ?? "" };
  const submit = async (data: FormData): Promise<void> => {
    const proof = { current_password: passwordIn(data), ...(asksCode ? { code: typed(data, "code") } : {}) };
    const name = typed(data, "name");
    if (deed === "rename") await call("renamePasskey", { path, body: { name } });
    else if (deed === "remove") await call("removePasskey", { path, body: proof });
    else {
      const { options, ceremony } = (await call("beginPasskey", { body: proof })).data;
      await call("addPasskey", { body: { name, ceremony, credential: (await create(options)) as Record<string, unknown> } });
    }
    if (deed !== "rename") inform(deed === "add" ? words.added : words.removed);
    read.again();
  };
  return (
    <Section title={w.settings.passkeys} intro={words.intro}>
      <Loading of={read} />
      {list && (
        <ul class="lines">
          {list.map(one => (
            <li key={one.id}>
              <span class="names">
                <span class="name">{visible(one.name)}</span> {one.is_synced && <span class="tag">{words.synced}</span>}
                <span class="hint">{one.last_used_at ? <Time at={one.last_used_at} text={w.access.lastUsed} /> : w.access.neverUsed} · <Time at={one.inserted_at} text={w.access.created} /></span>
              </span>
              <button type="button" class="plain small" aria-label={w.of(words.rename, visible(one.name))} onClick={() => open({ deed: "rename", of: one })}>{words.rename}</button>
              <button type="button" class="plain small danger" aria-label={w.of(words.remove, visible(one.name))} onClick={() => open({ deed: "remove", of: one })}>{words.remove}</button>
            </li>
          ))}
        </ul>
      )}
      {list?.length === 0 && <p class="hint">{hasPasskeys.value ? words.none : words.off}</p>}
      {list && hasPasskeys.value && (knowsPasskeys
        ? <div class="deeds"><button type="button" class="plain" onClick={() => open({ deed: "add" })}>{words.add}</button></div>
        : <p class="hint">{words.old}</p>)}
      {deed && (
        <Confirm title={of ? w.of(words[deed], visible(of.name)) : words.add} {...(deed === "add" ? { text: words.addText } : deed === "remove" ? { text: words.removeText } : {})}
          submit={words[deed]} danger={deed === "remove"} asksPassword={deed !== "rename"} onSubmit={submit} onClose={() => ask({})}>
          {fault => (
            <>
              {deed !== "remove" && <Field label={words.name} hint={words.nameHint} name="name" required maxLength={100} autocomplete="off" defaultValue={of?.name ?? ""} data-focus fault={fault("name")} />}
              {deed !== "rename" && asksCode && <Code fault={fault("code")} />}
            </>
          )}
        </Confirm>
      )}
    </Section>
  );
}
