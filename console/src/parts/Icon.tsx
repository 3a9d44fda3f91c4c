// Icons are decoration: the words beside them, or the label of their button, say what they mean.

import { h } from "preact";
import { ICONS, type IconName, type Shape } from "./icons.ts";

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2"
      stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      {(ICONS[name] as Shape[]).map(shape => (typeof shape === "string" ? <path key={shape} d={shape} /> : h(...shape)))}
    </svg>
  );
}
