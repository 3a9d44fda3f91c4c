// Texts that are being written, for each user and room, until the tab is closed or the user logs out.

import type { Id } from "../pure/message.ts";
import { onLeave } from "../wire/session.ts";

/** A person or agent picked from the list who is not in the room yet. */
export interface Picked { id: Id; name: string; handle: string; online?: boolean | undefined }
export interface Draft { text: string; picked: Picked[] }

const PREFIX = "parlance.draft.";
const keyOf = (user: Id, room: Id): string => `${PREFIX}${user}.${room}`;

export function readDraft(user: Id, room: Id): Draft {
  try {
    const { text, picked } = JSON.parse(sessionStorage.getItem(keyOf(user, room)) ?? "") as Partial<Draft>;
    return { text: text ?? "", picked: picked ?? [] };
  } catch { return { text: "", picked: [] }; }
}

export function writeDraft(user: Id, room: Id, draft: Draft): void {
  try {
    if (draft.text) sessionStorage.setItem(keyOf(user, room), JSON.stringify(draft));
    else sessionStorage.removeItem(keyOf(user, room));
  } catch { /* The draft lives as long as the page. */ }
}

onLeave(isUnexpected => {
  // Whoever was logged out without wanting it finds the draft after the next log-in.
  if (isUnexpected) return;
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
  } catch { /* Nothing was kept. */ }
});
