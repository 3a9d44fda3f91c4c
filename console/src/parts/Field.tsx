// Inputs with their labels, hints, and faults.

import type { InputHTMLAttributes, SelectHTMLAttributes } from "preact";
import { useId } from "preact/hooks";

type Props = Omit<InputHTMLAttributes, "id" | "label" | "role"> & { label: string; hint?: string; fault?: string; /** For a text of several lines. */ rows?: number };

export function Field({ label, hint, fault, ...input }: Props) {
  const id = useId();
  const Input = input.rows ? "textarea" : "input";
  const described = [hint ? `${id}-hint` : "", fault ? `${id}-fault` : ""].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Input id={id} {...(input as object)} aria-invalid={fault ? true : undefined} aria-describedby={described || undefined} />
      {hint && <p class="hint" id={`${id}-hint`}>{hint}</p>}
      {fault && <p class="fault" id={`${id}-fault`}>{fault}</p>}
    </div>
  );
}

export function Switch({ label, hint, ...input }: Omit<Props, "fault">) {
  return (
    <label class="switch">
      <input type="checkbox" {...(input as object)} />
      <span><span class="name">{label}</span><span class="hint">{hint}</span></span>
    </label>
  );
}

export function Select({ label, options, onChange, ...select }: Omit<SelectHTMLAttributes, "id" | "label" | "role" | "onChange"> & {
  label: string; options: readonly (readonly [value: string, text: string])[]; onChange?: (value: string) => void;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} {...(select as object)} onChange={event => onChange?.(event.currentTarget.value)}>{options.map(([one, text]) => <option key={one} value={one}>{text}</option>)}</select>
    </div>
  );
}

/** One of a few. */
export function Segments({ label, name, options, value, onChange }: { label: string; name: string; options: { [value: string]: string }; value: string; onChange?: (value: string) => void }) {
  return (
    <fieldset class="segments">
      <legend>{label}</legend>
      {Object.entries(options).map(([one, text]) => (
        <label key={one}>
          <input type="radio" name={name} value={one} {...(onChange ? { checked: value === one, onChange: () => onChange(one) } : { defaultChecked: value === one })} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}
