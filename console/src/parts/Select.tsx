// A labeled choice of one among many.

import { useId } from "preact/hooks";

export function Select({ label, name, options, value, onChange }: {
  label: string; name?: string; options: readonly (readonly [value: string, text: string])[]; value?: string; onChange?: (value: string) => void;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name} value={value} onChange={event => onChange?.(event.currentTarget.value)}>
        {options.map(([one, text]) => <option key={one} value={one}>{text}</option>)}
      </select>
    </div>
  );
}
