// Writes src/wire/api.ts: the operations that the console uses, and the schemas that they need, from
// docs/openapi/openapi.json. The routes of the screens that are loaded later are in src/later/routes.ts.
// `node types.mjs --check` compares instead.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const USED = [
  "showProfile", "updateProfile",
  "listChats", "findChat", "createChat", "markChatRead", "markAllChatsRead", "renameChat", "deleteChat", "stopAgents", "playAgents",
  "listReminders", "cancelReminder", "listMessages", "sendMessage", "editMessage", "deleteMessage", "listReceipts",
  "listParticipants", "addParticipant", "setParticipantRole", "removeParticipant", "listPeers",
  "listAgents", "findAgent", "listConnections", "registerAgent", "updateAgent", "deleteAgent", "rotateAgentKey", "pauseAgent", "resumeAgent", "listExecutions",
  "searchMessages", "listAttention", "answerAttention", "dismissAttention", "listWork", "findWork", "retryWork", "deadLetterWork", "sendWorkAgain",
  "interruptAgent", "listUsage", "listOrganizationUsage",
  "showOrganization", "renameOrganization", "listMembers", "setMemberRole", "removeMember", "leaveOrganization",
  "listInvitations", "invite", "revokeInvitation", "acceptInvitation", "pauseOrganization", "resumeOrganization",
  "showBudgets", "setBudgets", "listAuditEntries", "deleteAgents", "deleteChats", "findBulkDeletion",
  "reassignWork", "retryManyWork", "deadLetterManyWork", "reassignManyWork", "listMessageTree",
  "listContacts", "removeContact", "listReceivedContactRequests", "listSentContactRequests", "sendContactRequest", "approveContactRequest",
  "rejectContactRequest", "cancelContactRequest", "resolveHandle", "listDirectory",
  "showBoard", "setGoal", "listTasks", "createTask", "findTask", "changeTask", "listTaskHistory",
  "listMemories", "archiveMemory", "restoreMemory", "supersedeMemory", "deleteMemory",
  "findWebhook", "setWebhook", "removeWebhook", "rotateWebhookSecret", "enableWebhook", "listWebhookDeliveries", "resendWebhookDelivery",
  "listNotificationChannels", "createNotificationChannel", "changeNotificationChannel", "removeNotificationChannel", "testNotificationChannel",
  "listNotifications", "findWebPushKey",
  "listApiKeys", "createApiKey", "revokeApiKey", "listSessions", "endSession", "endOtherSessions",
  "showSecondFactor", "beginSecondFactor", "confirmSecondFactor", "renewRecoveryCodes", "removeSecondFactor",
  "listPasskeys", "beginPasskey", "addPasskey", "renamePasskey", "removePasskey",
  "apiVersion",
  "showOverview", "showThroughput", "listOpenConnections", "listDisconnects", "listFlaggedAgents", "listAllAuditEntries",
  "listUsers", "disableUser", "enableUser", "listAllAgents", "disableAgent", "enableAgent", "listOrganizations", "listPlans", "assignPlan",
];

const here = dirname(fileURLToPath(import.meta.url));
const document = JSON.parse(readFileSync(join(here, "../docs/openapi/openapi.json"), "utf8"));
const needed = new Set();

const named = ref => {
  const name = ref.split("/").at(-1);
  needed.add(name);
  return name;
};
const key = name => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name));
const union = parts => [...new Set(parts)].join(" | ");

function type(schema) {
  if (schema.$ref) return named(schema.$ref);
  if (schema.enum) return union(schema.enum.map(value => JSON.stringify(value)));
  for (const word of ["oneOf", "anyOf"]) {
    if (!schema[word]) continue;
    const parts = schema[word].map(type);
    // A schema or any object: members that are only there if they were asked for.
    const [first, ...rest] = parts.filter(part => part !== "Record<string, unknown>");
    return parts.length === 2 && first && first !== "null" && rest.length === 0 ? `Partial<${first}>` : union(parts);
  }
  if (schema.allOf) {
    const parts = schema.allOf.map(type);
    return parts.join(" & ");
  }
  if (Array.isArray(schema.type)) return union(schema.type.map(one => type({ ...schema, type: one })));
  switch (schema.type) {
    case "null": return "null";
    case "boolean": return "boolean";
    case "integer": case "number": return "number";
    case "string": return "string";
    case "array": {
      const item = type(schema.items ?? {});
      return /[ |&]/.test(item) ? `(${item})[]` : `${item}[]`;
    }
    case "object": case undefined: {
      if (schema.properties) return members(schema);
      const rest = schema.additionalProperties;
      return rest && typeof rest === "object" ? `Record<string, ${type(rest)}>` : schema.type ? "Record<string, unknown>" : "unknown";
    }
    default: throw new Error(`unknown type ${schema.type}`);
  }
}
function members(schema) {
  const required = new Set(schema.required ?? []);
  const list = Object.entries(schema.properties).map(([name, value]) => `${key(name)}${required.has(name) ? "" : "?"}: ${type(value)}`);
  return `{ ${list.join("; ")} }`;
}
function parameters(operation, place) {
  const list = (operation.parameters ?? []).filter(one => one.in === place);
  if (list.length === 0) return "{}";
  return `{ ${list.map(one => `${key(one.name)}${one.required ? "" : "?"}: ${type(one.schema)}`).join("; ")} }`;
}

const operations = [];
const routes = [];
const laterRoutes = [];
for (const [path, methods] of Object.entries(document.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    if (!USED.includes(operation.operationId)) continue;
    const success = Object.entries(operation.responses).find(([status]) => status.startsWith("2"));
    const answer = success?.[1].content?.["application/json"]?.schema;
    let body = operation.requestBody?.content?.["application/json"]?.schema;
    // A body may be flat or wrapped in its object's name; the first form is the wrapped one.
    body = (body?.oneOf ?? body?.anyOf)?.[0] ?? body;
    (/^\/api\/v1\/(operator|me\/memories|me\/search|me\/notifications|me\/reminders|me\/second-factor|me\/passkeys|me\/bulk-deletions)\b|\/(tree|board|tasks|bulk-delete|webhook)\b/.test(path) ? laterRoutes : routes).push(`  ${operation.operationId}: "${method.toUpperCase()} ${path.replace(/^\/api\/v1\/me(?=\/)/, "")}",`);
    operations.push(`  ${operation.operationId}: {\n    path: ${parameters(operation, "path")};\n    query: ${parameters(operation, "query")};\n` +
      `    body: ${body ? type(body) : "undefined"};\n    answer: ${answer ? type(answer) : "undefined"};\n  };`);
  }
}
const missing = USED.filter(name => !operations.some(text => text.startsWith(`  ${name}:`)));
if (missing.length > 0) throw new Error(`not in the API: ${missing.join(", ")}`);

const schemas = new Map();
while (needed.size > schemas.size) {
  for (const name of needed) {
    if (schemas.has(name)) continue;
    const schema = document.components.schemas[name];
    const text = type(schema);
    schemas.set(name, schema.properties && !schema.allOf
      ? `export interface ${name} ${text.replaceAll("; ", ";\n  ").replace(/^\{ /, "{\n  ").replace(/ \}$/, ";\n}")}`
      : `export type ${name} = ${text};`);
  }
}

const text = `// Generated from docs/openapi/openapi.json by types.mjs. Do not edit.\n\n` +
  [...schemas].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one).join("\n\n") +
  `\n\nexport interface Operations {\n${operations.join("\n")}\n}\n\n` +
  `/** Paths are below /api/v1/me, unless they begin with /api/. */\n` +
  `export const ROUTES = {\n${routes.join("\n")}\n} as Record<keyof Operations, string>;\n`;
const laterText = `// Generated from docs/openapi/openapi.json by types.mjs. Do not edit.\n\n` +
  `export const ROUTES = {\n${laterRoutes.join("\n")}\n};\n`;

for (const [name, content] of [["src/wire/api.ts", text], ["src/later/routes.ts", laterText]]) {
  const target = join(here, name);
  if (!process.argv.includes("--check")) writeFileSync(target, content);
  else if (readFileSync(target, "utf8") !== content) {
    console.error(`${name} does not match docs/openapi/openapi.json. Run \`node types.mjs\`.`);
    process.exit(1);
  }
}
