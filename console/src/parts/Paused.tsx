// Pauses: that of the organization, said on every screen, and set and lifted by admins; and those of own agents.

import { useState } from "preact/hooks";
import { visible } from "../pure/visible.ts";
import { exact, since } from "../pure/when.ts";
import { pause as pauseAgent, resume as resumeAgent, type Agent } from "../store/agents.ts";
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

interface Asked { agent?: Agent; onClose: () => void }

/** Of the organization, unless an agent is given. */
export function AskResume({ agent, onClose }: Asked) {
  const words = w.organization;
  const submit = async (): Promise<void> => {
    await (agent ? resumeAgent(agent.id) : resume());
    inform(agent ? w.agentPage.resumed(visible(agent.name)) : words.resumedDone);
  };
  const deed = agent ? words.resumeShort : words.resume;
  return <Confirm title={agent ? w.agentPage.resumeTitle(visible(agent.name)) : deed} text={agent ? w.agentPage.resumeText : words.resumeText} submit={deed} onSubmit={submit} onClose={onClose} />;
}

export function AskPause({ agent, onClose }: Asked) {
  const words = w.organization;
  const submit = async (data: FormData): Promise<void> => {
    const reason = typed(data, "reason");
    await (agent ? pauseAgent(agent.id, reason) : pause(reason));
    inform(agent ? w.agentPage.pausedDone(visible(agent.name)) : words.pausedDone);
  };
  const deed = agent ? w.agentPage.pause : words.pause;
  return (
    <Confirm title={agent ? w.agentPage.pauseTitle(visible(agent.name)) : deed} text={agent ? w.agentPage.pauseText : words.pauseText} submit={deed} danger onSubmit={submit} onClose={onClose}>
      <Field label={w.delivery.reason} hint={agent ? w.agentPage.pauseReasonHint : words.pauseReasonHint} name="reason" required maxLength={500} pattern=".*\S.*" data-focus />
    </Confirm>
  );
}
