// The section about the webhook on the page of an agent, whose script is loaded later.

import { Section } from "../parts/Page.tsx";
import { Loading, useRead } from "../parts/Pages.tsx";
import type { Id } from "../pure/message.ts";
import { w } from "../words.ts";
import { load } from "./Later.tsx";

export function AgentWebhook({ agent }: { agent: Id }) {
  const read = useRead(load);
  if (read.value) return <read.value.Webhook key={agent} agent={agent} />;
  return (
    <Section title={w.agentPage.webhook}>
      {read.fault ? <p>{w.unloaded} <button type="button" class="plain small" onClick={() => location.reload()}>{w.reload}</button></p> : <Loading of={read} />}
    </Section>
  );
}
