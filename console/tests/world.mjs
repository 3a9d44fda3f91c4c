// What the browser tests stand on: a real server with data of its own, a proxy in front of it that can fail, a browser,
// and published agents.
//
//   PARLANCE_BIN      the server (default: target/debug/parlance)
//   CONSOLE_BROWSER   chromium (default) or firefox
//   CONSOLE_ASSETS    a directory with the files of the console; without it, the server's own are tested
//   CONSOLE_PICTURES  a directory for the pictures of README.md; without it, none are taken
//   CONSOLE_PYTHON    a Python with band-sdk, for the tests that run a published agent
import assert from "node:assert/strict";
import { spawn, execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, firefox } from "playwright-core";
import { serve } from "../serve.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const PROGRAM = process.env.PARLANCE_BIN ?? join(root, "target/debug/parlance");
const AGENT = join(root, "examples/agent.py");
export const BROWSER = process.env.CONSOLE_BROWSER ?? "chromium";
/** With PARLANCE_TEST_NODES=spread, each request and each socket goes to the next of three servers. */
const NODES = process.env.PARLANCE_TEST_NODES === "spread" ? 3 : 1;
export const PASSWORD = "correct horse battery";

/** How long a test waits for what must come. A machine that does many other things is slow. */
const PATIENCE_MS = 120_000;

export async function until(what, probe, withinMs = PATIENCE_MS) {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`not within ${withinMs / 1000} s: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

/** A port on which nothing listens, below those of outgoing connections, and above those of the Rust tests. */
export function freePort() {
  return new Promise(resolve => {
    const port = 30_000 + Math.floor(Math.random() * 2_768);
    const probe = net.createServer().listen(port, "127.0.0.1", () => probe.close(() => resolve(port)));
    probe.on("error", () => resolve(freePort()));
  });
}

/** A server on an empty directory. */
export class Server {
  static async start(environment = {}) {
    const server = new Server();
    server.directory = mkdtempSync(join(tmpdir(), "parlance-console-"));
    server.ports = [];
    for (let node = 0; node < NODES; node++) server.ports.push(await freePort());
    server.urls = server.ports.map(port => `http://127.0.0.1:${port}`);
    server.turn = 0;
    server.output = "";
    server.environment = { ...process.env, PARLANCE_DATA_DIR: join(server.directory, "data"), PARLANCE_REGISTRATION: "invitation", ...environment };
    if (NODES > 1) {
      const port = await freePort();
      server.bus = spawn(existsSync("/usr/sbin/nats-server") ? "/usr/sbin/nats-server" : "nats-server", ["-a", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
      Object.assign(server.environment, { PARLANCE_CLUSTER_MODE: "multi", PARLANCE_NATS_URL: `nats://127.0.0.1:${port}` });
    }
    await server.run();
    server.key = /thnv_u_\S+/.exec(server.output)[0];
    return server;
  }

  /** The server for the next caller. */
  get url() { return this.urls[this.turn++ % NODES]; }

  async run() {
    this.children = [];
    this.ended = [];
    for (const url of this.urls) {
      const child = spawn(PROGRAM, ["serve", "--listen", new URL(url).host, "--rate-limits", "false"], { env: this.environment, stdio: ["ignore", "pipe", "pipe"] });
      for (const stream of [child.stdout, child.stderr]) stream.on("data", chunk => { this.output += chunk; });
      this.children.push(child);
      this.ended.push(new Promise(resolve => child.on("exit", resolve)));
      await until("the server is ready", () => fetch(`${url}/ready`).then(answer => answer.ok, () => false)).catch(cause => { throw new Error(`${cause.message}\n${this.output}`); });
    }
  }

  async stop(signal = "SIGTERM") {
    for (const child of this.children) child.kill(signal);
    await Promise.all(this.ended);
  }

  async close() {
    await this.stop("SIGKILL");
    this.bus?.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }

  command(...words) {
    return execFileSync(PROGRAM, words, { env: this.environment }).toString();
  }

  /** A request with a key, the first user's unless another is given. */
  async call(method, path, body, key = this.key) {
    const answer = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { "x-api-key": key, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text).data : undefined;
  }

  /** The token of the link that the first start has printed; it works once. */
  get welcomeToken() { return /\/console\/welcome#(thnv_p_\S+)/.exec(this.output)[1]; }

  /** Another user, in the organization with this name, or in one of their own; returns the key. */
  user(handle, name, organization) {
    const output = this.command("user", "create", "--handle", handle, "--email", `${handle}@example.org`, "--name", name, ...(organization ? ["--org", organization] : []));
    return /thnv_u_\S+/.exec(output)[0];
  }

  async agent(name, description = "Answers what it is asked") {
    const { agent, credentials } = await this.call("POST", "/me/agents/register", { agent: { name, description } });
    return { ...agent, key: credentials.api_key };
  }

  async room(title, ...participants) {
    const room = await this.call("POST", "/me/chats", { chat: title ? { title } : {} });
    for (const one of participants) await this.call("POST", `/me/chats/${room.id}/participants`, { participant: { participant_id: one.id } });
    return room.id;
  }

  say(room, content, ...mentions) {
    return this.call("POST", `/me/chats/${room}/messages`, { message: { content, mentions: mentions.map(one => ({ id: one.id })) } });
  }

  /** The ids of the texts of a room, oldest first. */
  async texts(room) {
    const ids = [];
    let before;
    for (;;) {
      const answer = await fetch(`${this.url}/api/v1/me/chats/${room}/messages?limit=100&message_types=text${before ? `&before=${before}` : ""}`, { headers: { "x-api-key": this.key } });
      const { data, metadata } = await answer.json();
      ids.unshift(...data.map(one => one.id).reverse());
      if (!(metadata.has_older ?? metadata.has_more)) return ids;
      before = data.at(-1).id;
    }
  }
}

/** A published agent: the program of examples/, run with the package from PyPI. */
export class Agent {
  constructor(url, id, key, script = AGENT, environment = {}) {
    const python = process.env.CONSOLE_PYTHON;
    assert.ok(python, "CONSOLE_PYTHON names a Python with band-sdk");
    this.output = "";
    this.child = spawn(python, [script], { env: { ...process.env, PYTHONPATH: dirname(AGENT), BAND_AGENT_ID: id, BAND_API_KEY: key, BAND_REST_URL: url, ...environment }, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on("data", chunk => { this.output += chunk; });
    this.ended = new Promise(resolve => this.child.on("exit", resolve));
  }
  async stop() {
    this.child.kill("SIGKILL");
    await this.ended;
  }
}

export const hasAgents = Boolean(process.env.CONSOLE_PYTHON);

/** The console works where only its server can be reached: no other name has an address. */
const NO_OTHER_HOST = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost";

let browser;
/** One browser for all tests of a file. */
async function launched() {
  if (browser) return browser;
  browser = BROWSER === "firefox"
    ? await firefox.launch({ channel: "moz-firefox", executablePath: "/usr/bin/firefox-esr", timeout: PATIENCE_MS })
    : await chromium.launch({ executablePath: process.env.CONSOLE_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", NO_OTHER_HOST], timeout: PATIENCE_MS });
  const { newContext } = browser;
  browser.newContext = async (...options) => {
    const context = await newContext.apply(browser, options);
    context.setDefaultTimeout(PATIENCE_MS);
    return context;
  };
  return browser;
}
export async function closeBrowser() { await browser?.close(); browser = undefined; }

/** A server, a proxy in front of it, and a page; all ends with the test. */
export async function world(test, { viewport = { width: 1280, height: 800 }, environment, port = 0, ...options } = {}) {
  const server = await Server.start(environment);
  const console_ = await serve({ to: server.urls, port, ...(process.env.CONSOLE_ASSETS ? { assets: process.env.CONSOLE_ASSETS } : {}) });
  const context = await (await launched()).newContext({ viewport, ...options });
  const page = await context.newPage();
  const seen = watch(page);
  test.after(async () => {
    await context.close();
    console_.close();
    await server.close();
  });
  return { server, console: console_, context, page, seen, base: `${console_.url}/console` };
}

/** The schemes and widths in which screens are checked: each once; in the long form, all pairs of them. */
export const LOOKS = [["light", 1280], ["dark", 390]];
if (process.env.PARLANCE_TEST_FULL) LOOKS.push(["light", 390], ["dark", 1280]);

/** With CONSOLE_PICTURES, a picture of the page for README.md, in that directory. */
export async function picture(page, name) {
  const directory = process.env.CONSOLE_PICTURES;
  if (directory) await page.screenshot({ path: join(directory, `${name}.png`), animations: "disabled", caret: "hide" });
}

/** What a page must not do: report errors, break the policy, or talk to another host. */
export function watch(page) {
  const seen = { errors: [], foreign: [], requests: 0 };
  // The browser reports every request and socket that fails; tests that cut the network expect that.
  const expected = /Failed to load resource|WebSocket connection to|establish a connection to the server at ws|connection to ws.* was interrupted/;
  const note = text => { if (!expected.test(text)) seen.errors.push(text); };
  page.on("console", message => { if (message.type() === "error") note(message.text()); });
  page.on("pageerror", error => note(String(error)));
  page.on("request", request => {
    seen.requests++;
    if (!/^(http|ws):\/\/(127\.0\.0\.1|localhost):|^(data|blob|about):/.test(request.url())) seen.foreign.push(request.url());
  });
  return seen;
}

export function assertClean(seen) {
  assert.deepEqual(seen.errors, []);
  assert.deepEqual(seen.foreign, []);
}

/** Logs the page in with the first user's key. */
export async function logIn({ page, base, server }) {
  await page.goto(`${base}/login`);
  await page.getByRole("button", { name: "Log in with an API key" }).click();
  await page.getByLabel("API key").fill(server.key);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByRole("navigation").waitFor();
}

/** Sets the first user's password, and leaves the page logged in. */
export async function welcome({ page, base, server }) {
  await page.goto(`${base}/welcome#${server.welcomeToken}`);
  await page.getByLabel("New password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set password and log in" }).click();
  await page.getByRole("navigation").waitFor();
}

/** Logs the first user in with a password. */
export async function byPassword(page, base, password = PASSWORD) {
  await page.goto(`${base}/login`);
  await page.getByLabel("Handle or email").fill("admin");
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
}

/** Another browser, which is not logged in. */
export async function anotherBrowser(test, { context }) {
  const other = await context.browser().newContext();
  test.after(() => other.close());
  const page = await other.newPage();
  return { page, seen: watch(page) };
}

export async function openRoom({ page, base }, room) {
  await page.goto(`${base}/rooms/${room}`);
  await page.getByRole("region", { name: "Messages" }).waitFor();
  await page.getByLabel("Message", { exact: true }).waitFor();
}

/** The ids of the texts on the page, in their order. */
export const shownTexts = page => page.$$eval("[data-text]", rows => rows.map(row => row.id.slice(4)));

/** Presses the button of the open dialog with this name. */
export const submit = (page, name) => page.locator("dialog[open] form").getByRole("button", { name, exact: true }).click();

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds. The page's policy stays on: axe comes in by the debugger, not by a script of the page. */
export async function violations(page) {
  await page.evaluate(AXE);
  const result = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  return result.violations.map(one => `${one.id}: ${one.nodes.map(node => `${node.target.join(" ")} (${node.any[0]?.message ?? node.all[0]?.message ?? node.none[0]?.message ?? ""})`).join("; ")}`);
}
export const reflows = page => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
