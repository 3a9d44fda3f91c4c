// Short messages at the edge of the page.

import { signal } from "@preact/signals";
import { explain } from "../pure/errors.ts";
import { onLeave, phase } from "../wire/session.ts";

export interface Notice { id: number; kind: "info" | "error"; text: string; action?: { label: string; run: () => void } | undefined }

export const notices = signal<Notice[]>([]);

const SHOWN_MS = 6000;
let last = 0;

/** A notice. It disappears after some seconds, unless it offers an action. */
export function inform(text: string, action?: Notice["action"]): void {
  const id = put("info", text, action);
  if (!action) setTimeout(() => dismiss(id), SHOWN_MS);
}

/** Something that failed. It stays until it is closed. */
export function complain(cause: unknown): void {
  // What fails because the session ended is said by the log-in.
  if (phase.value !== "in") return;
  put("error", typeof cause === "string" ? cause : explain(cause));
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter(notice => notice.id !== id);
}

function put(kind: Notice["kind"], text: string, action?: Notice["action"]): number {
  const id = ++last;
  notices.value = [...notices.value.filter(notice => notice.text !== text).slice(-3), { id, kind, text, action }];
  return id;
}

onLeave(() => { notices.value = []; });
