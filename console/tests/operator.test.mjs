// The pages of operators: what they show, to whom, and what they do not show.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after } from "node:test";
import { Agent, assertClean, closeBrowser, hasAgents, logIn, submit, until, watch, world } from "./world.mjs";

after(closeBrowser);

const TABS = ["", "/connections", "/trouble", "/organizations", "/users", "/agents", "/audit"];
const row = (page, text) => page.locator(".lines li").filter({ hasText: text });

/** Restarts the server with these settings. */
async function configured(server, text) {
  server.environment.PARLANCE_CONFIG = join(server.directory, "parlance.toml");
  writeFileSync(server.environment.PARLANCE_CONFIG, text);
  await server.stop();
  await server.run();
}

/** A room of another user, with work that needs attention: nothing of what is written there is for operators. */
async function secretWork(server, key) {
  const ask = (method, path, body) => server.call(method, path, body, key);
  const { agent } = await ask("POST", "/me/agents/register", { agent: { name: "Scout <script>", description: "A secret purpose" } });
  const { id } = await ask("POST", "/me/chats", { chat: { title: "A secret title" } });
  await ask("POST", `/me/chats/${id}/participants`, { participant: { participant_id: agent.id } });
  const sent = await ask("POST", `/me/chats/${id}/messages`, { message: { content: "a secret plan", mentions: [{ id: agent.id }] } });
  await ask("POST", `/me/work/${sent.id}/${agent.id}/dead-letter`, { reason: "a secret reason" });
  await ask("PATCH", `/me/chats/${id}`, { chat: { title: "Another secret title" } });
  return agent;
}

test("an_operator_walks_through_the_server", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  await configured(server, "[plans.small]\nagents = 5\nchats = 3\n");
  const zoe = server.user("zoe", "Zoe <i>Ray</i>");
  await secretWork(server, zoe);
  const scripts = [];
  page.on("request", request => { if (request.url().endsWith(".js")) scripts.push(request.url().split("/").at(-1)); });
  await logIn(it);
  assert.deepEqual(scripts, ["app.js"], "nothing more is loaded before it is needed");
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Server", exact: true }).click();
  await page.getByRole("heading", { name: "Server", level: 1 }).waitFor();
  const { version } = await server.call("GET", "/operator/overview");
  const facts = page.getByRole("region", { name: "This server" });
  await facts.getByText(version).waitFor();
  await facts.getByText(/^1 user, 0 agents$/).waitFor();
  await page.getByRole("region", { name: "Checks" }).getByText("Disk").waitFor();
  await page.getByRole("region", { name: "In the store" }).getByText("1 dead-lettered").waitFor();

  const tab = async name => {
    await page.getByRole("list", { name: "Server" }).getByRole("link", { name, exact: true }).click();
    await page.waitForFunction(name => document.querySelector(".tabs [aria-current]")?.textContent === name, name);
  };
  await tab("Needs attention");
  const scout = row(page, "Scout <script>");
  await scout.getByText("1 dead-lettered").waitFor();
  await scout.getByText("not connected").waitFor();

  await tab("Organizations");
  const house = row(page, "1 member").filter({ hasText: "zoe" });
  await house.getByText("1, no limit").first().waitFor();
  await house.getByRole("button", { name: "Change plan zoe" }).click();
  await page.locator("dialog[open]").getByLabel("Plan").selectOption("small");
  await page.locator("dialog[open] .limits").getByText("5", { exact: true }).waitFor();
  await submit(page, "Change plan");
  await page.getByText("zoe is now on the small plan.").waitFor();
  await house.getByText("1 of 5").waitFor();

  await tab("Users");
  const person = row(page, "@zoe");
  await person.waitFor();
  await page.getByLabel("Name or handle contains").fill("ZOE");
  await page.getByRole("button", { name: "Search" }).click();
  await until("only she is listed", async () => (await page.locator(".lines li").count()) === 1 && (await person.count()) === 1);
  await page.getByLabel("Name or handle contains").fill("nobody");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByText("No name or handle matches.").waitFor();
  await page.getByLabel("Name or handle contains").fill("");
  await page.getByRole("button", { name: "Search" }).click();
  await person.getByRole("button", { name: "Disable Zoe <i>Ray</i>" }).click();
  await submit(page, "Disable");
  await person.getByText(/^disabled since/).waitFor();
  const answer = () => fetch(`${server.url}/api/v1/me/profile`, { headers: { "x-api-key": zoe } });
  await until("she is kept out", async () => (await answer()).status === 403);
  await person.getByRole("button", { name: "Enable Zoe <i>Ray</i>" }).click();
  await submit(page, "Enable");
  await person.getByRole("button", { name: "Disable Zoe <i>Ray</i>" }).waitFor();
  await until("she is let in", async () => (await answer()).status === 200);
  // Nobody locks out themselves.
  assert.equal(await row(page, "@admin").getByRole("button").count(), 0);

  await tab("Agents");
  await row(page, "@zoe/scout-script").getByRole("button", { name: "Disable Scout <script>" }).click();
  await submit(page, "Disable");
  await row(page, "@zoe/scout-script").getByText(/^disabled since/).waitFor();

  await tab("Audit log");
  const entries = page.locator(".lines li");
  for (const [at, text] of [[0, "account disabled zoe/scout-script"], [1, "account enabled zoe"], [2, "account disabled zoe"], [3, "plan set zoe · small"]]) {
    await until(text, async () => (await entries.nth(at).innerText()).replace(/\s+/g, " ").includes(text));
    await entries.nth(at).getByText("by admin").waitFor();
  }

  // What was written in a room that the operator is not in is nowhere.
  for (const path of TABS) {
    await page.goto(`${base}/operator${path}`);
    await page.locator(path === "" ? ".legend, .chart, .outcome" : ".lines li, .nothing, .sheet .hint").first().waitFor();
    await page.waitForLoadState("networkidle");
    assert.doesNotMatch(await page.evaluate(() => document.documentElement.outerHTML), /secret/i, path);
  }
  assert.equal(await page.evaluate(() => document.querySelector("main").querySelectorAll("i, script").length), 0);
  await page.goto(`${base}/operator/nothing`);
  await page.getByRole("heading", { name: "Page not found" }).waitFor();
  assertClean(seen);
});

test("connections_and_throughput_are_followed", { skip: !hasAgents }, async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const echo = await server.agent("Echo");
  const room = await server.room("Work", echo);
  const program = new Agent(server.url, echo.id, echo.key);
  t.after(() => program.stop());
  await logIn(it);
  await page.goto(`${base}/operator/connections`);
  const part = name => page.getByRole("region", { name });
  await part("Open now").getByText("@admin/echo").waitFor();
  await part("Open now").getByText("@admin", { exact: true }).waitFor();
  await server.say(room, "@admin/echo hello", echo);
  await until("it has answered", async () => (await server.texts(room)).length === 2);
  await until("its attempt has ended", async () => (await server.call("GET", "/operator/overview")).work.open === 0);

  // It is followed without a click.
  await program.stop();
  await part("Ended").getByText("@admin/echo").waitFor();
  await part("Ended").getByText(/connection lost|closed by the agent/).waitFor();
  await until("it is no longer open", async () => (await part("Open now").getByText("@admin/echo").count()) === 0);

  await page.goto(`${base}/operator`);
  const chart = name => page.getByRole("img", { name: new RegExp(`^${name} in the last hour`) });
  await until("the texts are counted", async () => /Messages: 2, Deliveries to agents: 1\./.test(await chart("Messages").getAttribute("aria-label").catch(() => "")));
  await until("the attempt is counted", async () => /Succeeded: 1, Failed: 0\./.test(await chart("Agent attempts").getAttribute("aria-label")));
  assert.ok(await chart("Messages").locator("polyline").first().getAttribute("points"));
  const figure = page.locator(".chart", { has: chart("Messages") });
  await figure.getByText("Show as a table").click();
  const table = figure.getByRole("table", { name: "Messages, in steps of ten minutes" });
  await until("the table says the same", async () => {
    const cells = await table.locator("tbody td:first-of-type").allInnerTexts();
    return cells.length === 6 && cells.reduce((sum, cell) => sum + (Number(cell) || 0), 0) === 2;
  });
  assertClean(seen);
});

test("slow_answers_are_awaited_and_old_ones_dropped", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  server.user("zoe", "Zoe");
  await logIn(it);
  // Reads that take longer than the time between two of them.
  const running = { overview: 0, connections: 0 };
  let most = 0;
  const slowly = name => page.route(new RegExp(`/operator/${name}(\\?|$)`), async route => {
    most = Math.max(most, ++running[name]);
    await new Promise(resolve => setTimeout(resolve, 7000));
    running[name]--;
    await route.continue().catch(() => undefined);
  });
  await slowly("overview");
  await slowly("connections");
  await page.locator("nav").getByRole("link", { name: "Server", exact: true }).click();
  await page.getByRole("region", { name: "This server" }).waitFor();
  await page.getByRole("link", { name: "Connections", exact: true }).click();
  await row(page, "@admin").waitFor();
  assert.equal(most, 1);
  await page.unrouteAll({ behavior: "ignoreErrors" });

  // The state before a change is read, and arrives after it.
  await page.goto(`${base}/operator/users`);
  await row(page, "@zoe").waitFor();
  let release;
  const held = new Promise(resolve => { release = resolve; });
  const asked = new Promise(resolve => {
    void page.route(/\/operator\/users\?/, async route => {
      const response = await route.fetch();
      resolve();
      await held;
      await route.fulfill({ response });
    }, { times: 1 });
  });
  await asked;
  await row(page, "@zoe").getByRole("button", { name: "Disable Zoe" }).click();
  await submit(page, "Disable");
  await row(page, "@zoe").getByText(/^disabled since/).waitFor();
  const answered = page.waitForResponse(/\/operator\/users\?/);
  release();
  await answered;
  await page.waitForTimeout(300);
  assert.equal(await row(page, "@zoe").getByText(/^disabled since/).count(), 1);
  assertClean(seen);
});

test("others_do_not_see_the_server", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const zoe = server.user("zoe", "Zoe");
  await logIn({ page, base, server: { key: zoe } });
  const entry = page.getByRole("link", { name: "Server", exact: true });
  assert.equal(await entry.count(), 0);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("server");
  await page.getByText("No matches").waitFor();
  await page.keyboard.press("Escape");
  const scripts = [];
  page.on("request", request => { if (request.url().endsWith("later.js")) scripts.push(request.url()); });
  for (const path of TABS) {
    await page.goto(`${base}/operator${path}`);
    await page.getByText("Only operators of this server can open this page.").waitFor();
  }
  assert.deepEqual(scripts, []);

  // Operators find it by name, unless the interface is off.
  await page.getByRole("button", { name: "Log out" }).first().click();
  await page.getByLabel("Password").waitFor();
  await logIn(it);
  await entry.waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("server");
  await page.locator("#places-0").waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "This server" }).waitFor();
  await configured(server, "operator_api = false\n");
  await page.reload();
  await page.getByText("Only operators of this server can open this page.").waitFor();
  assert.equal(await entry.count(), 0);
  assertClean(seen);
});

test("a_page_of_another_version_asks_for_a_reload", async t => {
  const it = await world(t);
  const { context, base, seen } = it;
  await logIn(it);
  // During a rolling upgrade, a server of another version is asked for the script of this page.
  const page = await context.newPage();
  watch(page);
  let others = 0;
  await page.route("**/later.js", async route => {
    others++;
    await route.continue({ url: route.request().url().replace(/assets\/\w+/, "assets/0123456789abcdef") });
  });
  await page.goto(`${base}/operator`);
  await page.getByText("Check your connection, or reload to get the current version.").waitFor();
  await page.getByRole("heading", { name: "Server", level: 1 }).waitFor();
  // The rest of the page works.
  await page.getByRole("link", { name: "Agents", exact: true }).click();
  await page.getByRole("heading", { name: "Agents", level: 1 }).waitFor();
  await page.goBack();
  await page.getByText("Check your connection, or reload to get the current version.").waitFor();
  assert.ok(others > 0);
  await page.unroute("**/later.js");
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("region", { name: "This server" }).waitFor();
  assertClean(seen);
});
