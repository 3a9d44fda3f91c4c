// A link with an invitation, opened by somebody who is logged in.

import { Fault, useForm } from "../parts/Dialog.tsx";
import { Page } from "../parts/Page.tsx";
import { visible } from "../pure/visible.ts";
import { inform } from "../store/notices.ts";
import { accept, invitation, organization } from "../store/organization.ts";
import { go } from "../store/route.ts";
import { user } from "../wire/session.ts";
import { w } from "../words.ts";

export function Join() {
  const words = w.organization;
  const form = useForm(async () => {
    await accept(invitation.value);
    inform(words.joined(visible(organization.value?.name ?? "")));
    go("/organization", true);
  });
  const later = (): void => { invitation.value = ""; go("/", true); };
  return (
    <Page title={words.join}>
      <section class="sheet">
        {organization.value && <p>{words.joinText(user.value?.handle ?? "", visible(organization.value.name))}</p>}
        <p>{words.joinAgents}</p>
        <p>{words.joinAdmins}</p>
        <p class="hint">{words.joinOther}</p>
        <form onSubmit={form.submit}>
          <Fault text={form.rest()} />
          <div class="deeds">
            <button disabled={form.isBusy}>{words.joinSubmit}</button>
            <button type="button" class="plain" onClick={later}>{words.joinLater}</button>
          </div>
        </form>
      </section>
    </Page>
  );
}
