// The list of a combobox, by the pattern of the ARIA Authoring Practices Guide: the focus stays in the field.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

/** What the field says about its list. */
export const comboOf = (id: string, count: number, chosen: number) => ({
  "aria-autocomplete": "list" as const,
  "aria-controls": count > 0 ? id : undefined,
  "aria-activedescendant": count > 0 ? `${id}-${chosen}` : undefined,
});

/** Where an arrow key leads to. */
export function stepped(key: string, chosen: number, count: number): number | null {
  const step = { ArrowDown: 1, ArrowUp: -1 }[key];
  return step ? (chosen + step + count) % count : null;
}

export function Options<T extends { id: string }>({ id, label, options, chosen, onPick, row }: {
  id: string; label: string; options: T[]; chosen: number; onPick: (one: T) => void; row: (one: T) => ComponentChildren;
}) {
  useEffect(() => { document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: "nearest" }); }, [chosen]);
  return (
    <ul class="completion" role="listbox" id={id} aria-label={label}>
      {options.map((one, index) => (
        <li key={one.id} id={`${id}-${index}`} role="option" aria-selected={index === chosen} onMouseDown={event => event.preventDefault()} onClick={() => onPick(one)}>{row(one)}</li>
      ))}
    </ul>
  );
}
