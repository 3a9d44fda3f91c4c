// Copies a text. Without HTTPS there is no clipboard, so the text is selected instead.

import { useState } from "preact/hooks";
import { w } from "../words.ts";
import { Icon } from "./Icon.tsx";

/** Whether the text is in the clipboard. */
export async function copy(text: string, shown?: Element | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    if (shown) getSelection()?.selectAllChildren(shown);
    return false;
  }
}

export function CopyButton({ text, of, label = w.copy, onCopy }: { text: string; of: () => Element | null; label?: string; onCopy?: () => void }) {
  const [said, setSaid] = useState("");
  const run = async (): Promise<void> => {
    const isCopied = await copy(text, of());
    setSaid(isCopied ? w.copied : w.selectToCopy);
    if (isCopied) onCopy?.();
  };
  return (
    <button type="button" class="plain" onClick={() => void run()}>
      <Icon name={said === w.copied ? "check" : "copy"} size={16} /><span aria-live="polite">{said || label}</span>
    </button>
  );
}
