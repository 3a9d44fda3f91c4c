// Deleting several agents or rooms.

import { call } from "../shared.ts";
import type { BulkDeletionView } from "../wire/api.ts";

export type Kind = "agents" | "rooms";
export type Job = BulkDeletionView;

/** The maximum number that one request deletes. */
export const MOST = 100;

/** Agents are deleted together with the record of their work, as the question says. */
export async function start(kind: Kind, ids: string[]): Promise<Job> {
  return (await (kind === "agents" ? call("deleteAgents", { body: { ids, force: true } }) : call("deleteChats", { body: { ids } }))).data;
}

export const progress = async (job_id: string): Promise<Job> => (await call("findBulkDeletion", { path: { job_id } })).data;
