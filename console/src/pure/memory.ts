// What a human may do with a memory, by the rules of the server.

import type { MemoryView } from "../wire/api.ts";

export type Deed = "archive" | "restore" | "supersede" | "delete";

/** Memories about the caller, and private ones of the caller's agents. */
export const mayChange = (memory: MemoryView, me: string, isMine: (agent: string) => boolean): boolean =>
  memory.subject_id === me || (memory.scope === "agent" && isMine(memory.source_agent_id ?? ""));

export function deedsOf(status: string): Deed[] {
  if (status === "active") return ["archive", "supersede", "delete"];
  return status === "archived" ? ["restore", "delete"] : ["delete"];
}

export const TYPES: { [system: string]: string[] } = {
  sensory: ["iconic", "echoic", "haptic"],
  working: ["episodic", "semantic", "procedural"],
  long_term: ["episodic", "semantic", "procedural"],
};
