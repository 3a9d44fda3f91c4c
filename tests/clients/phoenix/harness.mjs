// What a person would do by hand: start the server, make a user, an agent and a room.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, openSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import WebSocket from "ws";

const require = createRequire(import.meta.url);

/// The versions of the client that are run, by the names in package.json.
export const VERSIONS = ["phoenix-1.7.21", "phoenix-1.8.5", "phoenix-1.8.16"];

/// How long something that must happen may take, in milliseconds.
const PATIENCE = 20_000;

/// The first true answer of `probe`, or an error when it takes too long.
export async function until(what, probe) {
  const deadline = Date.now() + PATIENCE;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`not within ${PATIENCE} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/// A port on which nothing listens, below those of outgoing connections, and above those of the Rust tests.
function freePort() {
  return new Promise((resolve) => {
    const port = 30_000 + Math.floor(Math.random() * 2_768);
    const probe = createServer().listen(port, "127.0.0.1", () => probe.close(() => resolve(port)));
    probe.on("error", () => resolve(freePort()));
  });
}

/// `parlance serve` on a port and a data directory that stay the same.
export class Server {
  static async start() {
    const server = new Server();
    server.directory = mkdtempSync(join(tmpdir(), "parlance-phoenix-"));
    server.address = `127.0.0.1:${await freePort()}`;
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith("PARLANCE_"));
    server.environment = {
      ...Object.fromEntries(own),
      PARLANCE_LISTEN: server.address,
      PARLANCE_DATA_DIR: join(server.directory, "data"),
    };
    await server.run();
    return server;
  }

  async run() {
    const log = openSync(join(this.directory, "log"), "a");
    this.child = spawn(process.env.PARLANCE_BIN, ["serve"], {
      env: this.environment,
      stdio: ["ignore", log, log],
    });
    await until("the server is healthy", async () => {
      if (this.child.exitCode !== null) throw new Error(`the server ended: ${this.child.exitCode}`);
      return fetch(`http://${this.address}/health`).then((answer) => answer.ok, () => false);
    });
  }

  async end(signal) {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, "exit");
    this.child.kill(signal);
    await ended;
  }

  async remove() {
    await this.end("SIGTERM");
    rmSync(this.directory, { recursive: true, force: true });
  }

  command(...words) {
    const done = spawnSync(process.env.PARLANCE_BIN, words, { env: this.environment, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`${words[0]} ${words[1]}: ${done.stdout}${done.stderr}`);
    return JSON.parse(done.stdout);
  }

  user(handle) {
    const details = ["--handle", handle, "--email", `${handle}@example.org`, "--name", handle];
    const { user, api_key: key } = this.command("user", "create", ...details, "--json");
    return new Party(this, "me", user.id, key);
  }

  token(handle) {
    return this.command("token", "issue", "--user", handle, "--json").token;
  }
}

/// A user or an agent: its REST interface, and sockets of its own.
export class Party {
  constructor(server, side, id, key) {
    Object.assign(this, { server, side, id, key });
  }

  async call(method, path, body) {
    const answer = await fetch(`http://${this.server.address}/api/v1/${this.side}${path}`, {
      method,
      headers: { "x-api-key": this.key, "content-type": "application/json" },
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text && JSON.parse(text).data;
  }

  async register(name) {
    const { agent, credentials } = await this.call("POST", "/agents/register", {
      agent: { name, description: name },
    });
    return new Party(this.server, "agent", agent.id, credentials.api_key);
  }

  async room(...agents) {
    const { id } = await this.call("POST", "/chats", { chat: {} });
    for (const agent of agents) {
      await this.call("POST", `/chats/${id}/participants`, { participant: { participant_id: agent.id } });
    }
    return id;
  }

  say(room, content, agent) {
    const message = { content, mentions: [{ id: agent.id }] };
    return this.call("POST", `/chats/${room}/messages`, { message });
  }

  /// An unchanged client of this version, connected.
  async socket(version, options = {}) {
    const { Socket } = require(version);
    const url = `ws://${this.server.address}/api/v1/socket`;
    const socket = new Socket(url, { transport: WebSocket, params: { api_key: this.key }, ...options });
    socket.opened = 0;
    socket.codes = [];
    socket.onOpen(() => (socket.opened += 1));
    socket.onClose((event) => socket.codes.push(event.code));
    socket.connect();
    await until("the socket is open", () => socket.isConnected());
    return socket;
  }
}

/// Joins a topic; its answer, and all that is pushed to it from then on.
export async function join_topic(socket, topic) {
  const channel = socket.channel(topic, {});
  const pushed = [];
  const plain = channel.onMessage.bind(channel);
  channel.onMessage = (event, payload, ref) => {
    if (!event.startsWith("phx_") && !event.startsWith("chan_reply_")) pushed.push({ event, payload });
    return plain(event, payload, ref);
  };
  const answer = await new Promise((resolve) => {
    const push = channel.join();
    for (const status of ["ok", "error", "timeout"]) {
      push.receive(status, (response) => resolve({ status, response }));
    }
  });
  return { channel, pushed, ...answer };
}

/// Leaves a topic, and waits for the server's answer. The client itself reports a leave at once, so what is sent
/// right after it by another way could overtake it.
export async function leave_topic(socket, channel) {
  await new Promise((resolve) => {
    let push;
    socket.onMessage(({ event, ref }) => {
      if (event === "phx_reply" && push && ref === push.ref) resolve();
    });
    push = channel.leave();
  });
}
