// How this browser shows the console.

import { effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const read = (name: string): string | null => { try { return localStorage.getItem(`parlance.${name}`); } catch { return null; } };
const write = (name: string, value: string): void => { try { localStorage.setItem(`parlance.${name}`, value); } catch { /* Kept until the page closes. */ } };

const kept = read("theme");
export const theme = signal<Theme>(kept === "light" || kept === "dark" ? kept : "auto");
export const enterSends = signal(read("enter") !== "newline");
export const hasShortcuts = signal(read("shortcuts") !== "off");

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  write("theme", theme.value);
});
effect(() => write("enter", enterSends.value ? "send" : "newline"));
effect(() => write("shortcuts", hasShortcuts.value ? "on" : "off"));
