// A labeled input with its hint and its fault.

import type { ComponentChildren, InputHTMLAttributes, SelectHTMLAttributes } from "preact";
import { useId } from "preact/hooks";

type Props = Omit<InputHTMLAttributes, "id" | "label" | "role"> & { label: string; hint?: string; fault?: string };

export function Field({ label, hint, fault, ...input }: Props) {
  const id = useId();
  const described = [hint ? `${id}-hint` : "", fault ? `${id}-fault` : ""].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} {...(input as object)} aria-invalid={fault ? true : undefined} aria-describedby={described || undefined} />
      {hint && <p class="hint" id={`${id}-hint`}>{hint}</p>}
      {fault && <p class="fault" id={`${id}-fault`}>{fault}</p>}
    </div>
  );
}

export function Select({ label, children, ...select }: Omit<SelectHTMLAttributes, "id" | "label" | "role"> & { label: string; children: ComponentChildren }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} {...(select as object)}>{children}</select>
    </div>
  );
}
