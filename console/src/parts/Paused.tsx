// The pause of an organization: said on every screen, and set and lifted by admins.

import { useState } from "preact/hooks";
import { visible } from "../pure/visible.ts";
import { exact, since } from "../pure/when.ts";
import { now } from "../store/now.ts";
import { inform } from "../store/notices.ts";
import { isAdmin, organization, pause, resume } from "../store/organization.ts";
import { w } from "../words.ts";
import { Confirm, typed } from "./Dialog.tsx";
import { Field } from "./Field.tsx";
import { Icon } from "./Icon.tsx";

const MOST_SHOWN = 120;

export function PausedBar() {
  const [isAsking, setAsking] = useState(false);
  const paused = organization.value?.pause;
  const reason = visible(paused?.reason ?? "");
  return (
    <>
      <div role="status" class="linkbar" hidden={!paused}>
        {paused && <>
          <Icon name="octagon-pause" size={16} />
          <span title={exact(paused.since)}>{w.organization.pausedBar(since(paused.since, now.value), reason.length > MOST_SHOWN ? `${reason.slice(0, MOST_SHOWN)}…` : reason)}</span>
          {isAdmin.value && <button type="button" class="link" onClick={() => setAsking(true)}>{w.organization.resumeShort}</button>}
        </>}
      </div>
      {isAsking && <AskResume onClose={() => setAsking(false)} />}
    </>
  );
}

export function AskResume({ onClose }: { onClose: () => void }) {
  const submit = async (): Promise<void> => { await resume(); inform(w.organization.resumedDone); };
  return <Confirm title={w.organization.resume} text={w.organization.resumeText} submit={w.organization.resume} onSubmit={submit} onClose={onClose} />;
}

export function AskPause({ onClose }: { onClose: () => void }) {
  const submit = async (data: FormData): Promise<void> => { await pause(typed(data, "reason")); inform(w.organization.pausedDone); };
  return (
    <Confirm title={w.organization.pause} text={w.organization.pauseText} submit={w.organization.pause} danger onSubmit={submit} onClose={onClose}>
      <Field label={w.delivery.reason} hint={w.organization.pauseReasonHint} name="reason" required maxLength={500} pattern=".*\S.*" data-focus />
    </Confirm>
  );
}
