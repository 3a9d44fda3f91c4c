// Texts of reminders, and times as the fields of a form have them.

import type { ReminderView } from "../wire/api.ts";

/** The most characters of a text in a list. */
const MOST = 120;

/** The beginning of the text, with handles. */
export function said({ content, mentions }: Pick<ReminderView, "content" | "mentions">): string {
  const text = mentions.reduce((text, { id, handle }) => text.replaceAll(`@[[${id}]]`, `@${handle}`), content).replace(/\s+/g, " ").trim();
  return text.length > MOST ? `${text.slice(0, MOST).trimEnd()}…` : text;
}

/** A time here, to the minute: `2026-07-01T10:00`. */
export function stamp(at: number): string {
  const two = (number: number): string => String(number).padStart(2, "0");
  const time = new Date(at);
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}T${two(time.getHours())}:${two(time.getMinutes())}`;
}
