// Memories of agents that the caller can see.

import type { Id } from "../pure/message.ts";
import { call, onLeave, Paged } from "../shared.ts";
import type { MemoryView, Operations } from "../wire/api.ts";

export type Memory = MemoryView;
export type Filters = Omit<Operations["listMemories"]["query"], "cursor" | "limit" | "page" | "page_size">;

let filters: Filters = {};
export const memories = new Paged<Memory>(one => one.id, cursor => call("listMemories", { query: { ...filters, limit: 50, cursor: cursor ?? undefined } }));

export function ask(wanted: Filters): void {
  filters = wanted;
  memories.clear();
  void memories.load();
}

const STEPS = { archive: "archiveMemory", restore: "restoreMemory", supersede: "supersedeMemory" } as const;

/** A memory that no longer fits the filter stays until the list is read again, so that a step can be undone. */
export async function change(id: Id, step: keyof typeof STEPS): Promise<void> {
  memories.patch(id, (await call(STEPS[step], { path: { memory_id: id } })).data);
}

export async function remove(id: Id): Promise<void> {
  await call("deleteMemory", { path: { memory_id: id } });
  memories.drop(id);
}

onLeave(() => memories.clear());
