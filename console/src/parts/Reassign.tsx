// Which agent gets work instead of the one that has it.

import { useEffect, useState } from "preact/hooks";
import { visible } from "../pure/visible.ts";
import type { Id } from "../pure/message.ts";
import { complain } from "../store/notices.ts";
import { People } from "../store/people.ts";
import type { Place } from "../store/work.ts";
import { errors, w } from "../words.ts";
import { ReasonField } from "./Delivery.tsx";
import { Confirm } from "./Dialog.tsx";
import { Select } from "./Field.tsx";

/** A message, to another agent of its room. */
export function Reassign({ place, name, onSubmit, onClose }: { place: Place; name: string; onSubmit: (to: Id, reason: string) => Promise<void>; onClose: () => void }) {
  const [people, setPeople] = useState<People | null>(null);
  const [to, setTo] = useState("");
  const [reason, setReason] = useState("");
  useEffect(() => {
    const found = new People(place.room);
    void found.load().then(() => {
      // At least the agent itself is in the room, unless the list could not be read.
      if (found.byId.value.size > 0) return setPeople(found);
      complain(errors.unreachable);
      onClose();
    });
  }, []);
  return (
    <Confirm title={w.work.reassignTitle} text={w.work.reassignText(name)} submit={w.work.bulk.reassign.title} onClose={onClose} onSubmit={() => onSubmit(to, reason.trim())}>
      <ChooseAgent agents={people?.agents.value.filter(one => one.id !== place.agent)} value={to} onChoose={setTo} />
      <ReasonField value={reason} onInput={setReason} isOptional />
    </Confirm>
  );
}

export function ChooseAgent({ agents, value, onChoose }: { agents: { id: Id; name: string; handle: string }[] | undefined; value: Id; onChoose: (id: Id) => void }) {
  if (!agents) return <p class="hint" role="status">{w.loading}</p>;
  return (
    <Select label={w.usage.groups.agent} required value={value} data-focus onChange={onChoose}
      options={[["", agents.length > 0 ? w.work.reassignChoose : w.work.reassignNobody], ...agents.map((one): [string, string] => [one.id, `${visible(one.name)} (@${one.handle})`])]} />
  );
}
