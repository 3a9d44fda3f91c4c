// The time, for texts such as "5 minutes ago".

import { signal } from "@preact/signals";

export const now = signal(Date.now());

setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 20_000);
