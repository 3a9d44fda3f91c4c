// A menu behind a button, by the pattern of the ARIA Authoring Practices Guide.

import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { w } from "../words.ts";
import { Icon } from "./Icon.tsx";
import type { IconName } from "./icons.ts";

export interface Choice { label: string; icon: IconName; danger?: boolean; run: () => void }

export function Menu({ label = w.more, choices }: { label?: string; choices: Choice[] }) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const items = (): HTMLButtonElement[] => [...(box.current?.querySelectorAll<HTMLButtonElement>("[role=menuitem]") ?? [])];

  // Before the next key: a focus that comes late would undo what that key has chosen.
  useLayoutEffect(() => {
    if (!isOpen) return;
    items()[0]?.focus();
    const outside = (event: Event): void => { if (!box.current?.contains(event.target as Node)) setOpen(false); };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [isOpen]);

  const close = (): void => {
    setOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  const key = (event: KeyboardEvent): void => {
    if (!isOpen) return;
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) all[(to + all.length) % all.length]?.focus();
    else if (event.key === "Escape") close();
    else if (event.key === "Tab") return setOpen(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  if (choices.length === 0) return null;
  return (
    <div class="menu" ref={box} onKeyDown={key}>
      <button type="button" class="quiet square" aria-label={label} title={label} aria-haspopup="menu" aria-expanded={isOpen} aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}><Icon name="ellipsis" /></button>
      {isOpen && (
        <ul role="menu" id={id} aria-label={label}>
          {choices.map(one => (
            <li key={one.label} role="none">
              <button type="button" role="menuitem" tabIndex={-1} class={one.danger ? "danger" : ""} onClick={() => { close(); one.run(); }}>
                <Icon name={one.icon} size={16} />{one.label}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
