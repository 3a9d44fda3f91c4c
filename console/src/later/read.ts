// What the server tells operators.

import { call } from "../shared.ts";

const page = (limit: number, cursor?: string, q?: string) => ({ query: { limit, cursor, q: q || undefined } });

export const overview = async () => (await call("showOverview", {})).data;
export const throughput = async () => (await call("showThroughput", {})).data;

/** A user may have several, so rows have ids of their own. */
export async function connections(cursor?: string) {
  const { data, metadata } = await call("listOpenConnections", page(50, cursor));
  return { metadata, data: data.map(row => ({ ...row, who: row.id, id: `${row.id} ${row.began_at}` })) };
}

export async function disconnects(cursor?: string) {
  const { data, metadata } = await call("listDisconnects", page(20, cursor));
  return { metadata, data: data.map(row => ({ ...row, id: `${row.agent_id} ${row.ended_at}` })) };
}

export const trouble = (cursor?: string) => call("listFlaggedAgents", page(50, cursor));
export const organizations = (cursor?: string) => call("listOrganizations", page(50, cursor));
export const plans = async () => (await call("listPlans", {})).data;
export const assignPlan = (organization_id: string, plan: string, password: string) =>
  call("assignPlan", { path: { organization_id }, body: { organization: { plan, current_password: password || null } } });
export const users = (part: string, cursor?: string) => call("listUsers", page(50, cursor, part));
export const allAgents = (part: string, cursor?: string) => call("listAllAgents", page(50, cursor, part));

export const setUserDisabled = (user_id: string, isDisabled: boolean, password: string) => isDisabled
  ? call("disableUser", { path: { user_id }, body: { current_password: password || null } })
  : call("enableUser", { path: { user_id } });
export const setAgentDisabled = (agent_id: string, isDisabled: boolean, password: string) => isDisabled
  ? call("disableAgent", { path: { agent_id }, body: { current_password: password || null } })
  : call("enableAgent", { path: { agent_id } });

export const audit = (since: string, cursor?: string) =>
  call("listAllAuditEntries", { query: { limit: 50, since: since || undefined, cursor } });
