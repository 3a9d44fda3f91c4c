// A section on the page of an agent or of the organization whose script is loaded later.

import type { ComponentChildren } from "preact";
import { Section } from "../parts/Page.tsx";
import { Loading, useRead } from "../parts/Pages.tsx";
import { w } from "../words.ts";
import { load, type Script } from "./Later.tsx";

export function LaterSection({ title, children }: { title: string; children: (script: Script) => ComponentChildren }) {
  const read = useRead(load);
  if (read.value) return <>{children(read.value)}</>;
  return (
    <Section title={title}>
      {read.fault ? <p>{w.unloaded} <button type="button" class="plain small" onClick={() => location.reload()}>{w.reload}</button></p> : <Loading of={read} />}
    </Section>
  );
}
