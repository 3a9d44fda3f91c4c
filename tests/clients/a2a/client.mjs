// Makes calls with the client from npm. Reads calls as JSON, one a line, each with an id, and prints what each yields, one line
// a value, and then that it has ended or failed.
import { createInterface } from "node:readline";
import * as types from "@a2a-js/sdk";
import {
  ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory, createAuthenticatingFetchWithRetry,
} from "@a2a-js/sdk/client";

const [url, key, binding] = process.argv.slice(2);
const headers = async () => (key ? { "X-API-Key": key } : {});
const fetchImpl = createAuthenticatingFetchWithRetry(fetch, { headers, shouldRetryWithHeaders: async () => undefined });
const factory = new ClientFactory({
  transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
  preferredTransports: [binding],
});

const CALLS = {
  sendMessage: ["SendMessageRequest", "Task"],
  sendMessageStream: ["SendMessageRequest", "StreamResponse"],
  getTask: ["GetTaskRequest", "Task"],
  listTasks: ["ListTasksRequest", "ListTasksResponse"],
  cancelTask: ["CancelTaskRequest", "Task"],
  resubscribeTask: ["SubscribeToTaskRequest", "StreamResponse"],
  createTaskPushNotificationConfig: ["TaskPushNotificationConfig", "TaskPushNotificationConfig"],
  getTaskPushNotificationConfig: ["GetTaskPushNotificationConfigRequest", "TaskPushNotificationConfig"],
  listTaskPushNotificationConfig: ["ListTaskPushNotificationConfigsRequest", "ListTaskPushNotificationConfigsResponse"],
  deleteTaskPushNotificationConfig: ["DeleteTaskPushNotificationConfigRequest"],
};

const say = line => console.log(JSON.stringify(line));

let client;
async function run({ id, call, request }) {
  try {
    if (call === "card") {
      const card = await new DefaultAgentCardResolver().resolve(url);
      say({ id, value: types.AgentCard.toJSON(card) });
    } else {
      client ??= factory.createFromUrl(url);
      const [from, to] = CALLS[call].map(name => types[name]);
      const given = (await client)[call](from.fromJSON(request));
      if (!to) {
        await given;
        say({ id, value: {} });
      } else if (given[Symbol.asyncIterator]) {
        for await (const value of given) say({ id, value: to.toJSON(value) });
      } else {
        say({ id, value: to.toJSON(await given) });
      }
    }
    say({ id, ended: true });
  } catch (error) {
    // What else the client keeps: the status of HTTP or the code of the response, and what it wraps.
    const more = [error.statusCode, error.errorResponse?.error?.code, error.cause?.message];
    say({ id, failed: error.cause?.name ?? error.name, message: [error.message, ...more.filter(Boolean)].join(" · ") });
  }
}

for await (const line of createInterface({ input: process.stdin })) void run(JSON.parse(line));
