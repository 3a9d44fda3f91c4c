import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemoryView } from "../wire/api.ts";
import { deedsOf, mayChange } from "./memory.ts";

const memory = (scope: string, subject_id: string | null, source_agent_id: string | null): MemoryView => ({ scope, subject_id, source_agent_id }) as MemoryView;
const isMine = (agent: string): boolean => agent === "mine";

test("memories about oneself and private ones of own agents can be changed", () => {
  for (const scope of ["agent", "subject", "organization"]) assert.equal(mayChange(memory(scope, "me", "other"), "me", isMine), true, scope);
  assert.equal(mayChange(memory("agent", null, "mine"), "me", isMine), true);
  for (const scope of ["subject", "organization"]) assert.equal(mayChange(memory(scope, "bob", "mine"), "me", isMine), false, scope);
  assert.equal(mayChange(memory("agent", null, "other"), "me", isMine), false);
  assert.equal(mayChange(memory("agent", null, null), "me", isMine), false);
});

test("only what is archived is restored, and what is superseded stays so", () => {
  assert.deepEqual(["active", "archived", "superseded"].map(status => deedsOf(status).join()), ["archive,supersede,delete", "restore,delete", "delete"]);
});
