// The tokens that agents have reported.

import { call } from "../wire/call.ts";
import type { Operations } from "../wire/api.ts";

export type Query = Operations["listUsage"]["query"];
export type Sums = Operations["listUsage"]["answer"];
export type Group = "agent" | "room" | "tree" | "day" | "model" | "owner";

/** Of the caller's agents, or of all of the organization. */
export const usage = (ofAll: boolean, query: Query): Promise<Sums> => call(ofAll ? "listOrganizationUsage" : "listUsage", { query });
