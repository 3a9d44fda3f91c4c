// A published agent and the page together. These need CONSOLE_PYTHON.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { Agent, assertClean, closeBrowser, hasAgents, logIn, openRoom, PASSWORD, picture, until, world } from "./world.mjs";

after(closeBrowser);
const skip = hasAgents ? false : "CONSOLE_PYTHON is not set";

test("first_start_to_first_answer", { skip }, async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  // The link that the first start prints.
  await page.goto(`${base}/welcome#${server.welcomeToken}`);
  await page.getByLabel("New password").fill(PASSWORD);
  await picture(page, "password");
  assert.doesNotMatch(page.url(), /thnv_p_/, "the token leaves the address bar");
  await page.getByRole("button", { name: "Set password and log in" }).click();

  await page.getByRole("link", { name: "Register an agent" }).click();
  await page.getByLabel("Name").fill("Echo");
  await page.getByLabel("What does it do?").fill("Answers with what it is asked");
  await page.getByRole("button", { name: "Register", exact: true }).click();
  await page.getByText("Waiting for the first connection").waitFor();
  const commands = await page.getByRole("group", { name: "Start the agent with it" }).innerText();
  const shown = name => new RegExp(`${name}=(\\S+)`).exec(commands)[1];
  const agent = new Agent(shown("BAND_REST_URL"), shown("BAND_AGENT_ID"), shown("BAND_API_KEY"));
  t.after(() => agent.stop());
  await page.getByText("Echo is connected").waitFor();
  await picture(page, "agent");
  await page.getByRole("button", { name: "Start a room with it" }).click();
  await page.getByRole("button", { name: "Create room" }).click();

  const composer = page.getByLabel("Message", { exact: true });
  await composer.waitFor();
  await page.locator(".crew .dot.on").waitFor();
  await composer.pressSequentially("@ech");
  await page.getByRole("option", { name: "Echo" }).waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.type("are you there?");
  await page.getByText("Wakes Echo").waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("article").filter({ hasText: "You said:" }).waitFor();
  await page.locator(".delivery.processed").waitFor();
  assert.equal(await page.locator(".delivery").count(), 1);
  await picture(page, "room");

  // The key is nowhere once the dialog is closed.
  const kept = await page.evaluate(() => document.documentElement.outerHTML + location.href + JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }));
  assert.doesNotMatch(kept, /thnv_a_|thnv_p_/);
  assertClean(seen);
});

test("an_agent_answers_while_one_looks_on", { skip }, async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const script = join(server.directory, "worker.py");
  const gate = join(server.directory, "gate");
  writeFileSync(script, `
import asyncio, os
from agent import Echo, run

class Worker(Echo):
    async def on_message(self, msg, tools, *context, **details):
        await tools.send_event("I look it up.", "thought", None)
        await tools.send_event('{"name": "search"}', "tool_call", None)
        while not os.path.exists(os.environ["GATE"]):
            await asyncio.sleep(0.05)
        await tools.send_event('{"hits": 3}', "tool_result", None)
        await super().on_message(msg, tools, *context, **details)

run(Worker())
`);
  const echo = await server.agent("Echo");
  const room = await server.room("Work", echo);
  await logIn(it);
  await openRoom(it, room);
  const composer = page.getByLabel("Message", { exact: true });
  await composer.fill("@admin/echo what is it?");
  await page.getByText("Echo is not connected").waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".delivery.new", { hasText: "waiting" }).waitFor();

  const agent = new Agent(server.url, echo.id, echo.key, script, { GATE: gate });
  t.after(() => agent.stop());
  await page.locator(".crew .dot.on").waitFor();
  await page.locator(".delivery.processing", { hasText: "working" }).waitFor();
  await page.getByText("Echo is working").waitFor();
  await page.locator(".steps", { hasText: "2 steps" }).waitFor();
  writeFileSync(gate, "");
  await page.locator(".delivery.processed", { hasText: "done" }).waitFor();
  await page.locator(".steps", { hasText: "3 steps · 1 tool call" }).waitFor();
  await page.getByRole("article").filter({ hasText: "You said:" }).waitFor();
  await until("nobody is working", async () => (await page.getByText("Echo is working").count()) === 0);

  await page.locator(".steps summary").first().click();
  await page.getByText("I look it up.").waitFor();
  assertClean(seen);
});

test("a_failure_is_seen_and_dead_lettered", { skip }, async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const script = join(server.directory, "failing.py");
  writeFileSync(script, `
from agent import Echo, run

class Failing(Echo):
    async def on_message(self, msg, tools, *context, **details):
        if "poison" in msg.content:
            raise RuntimeError("the model is overloaded")
        await super().on_message(msg, tools, *context, **details)

run(Failing())
`);
  const echo = await server.agent("Echo");
  const room = await server.room("Trouble", echo);
  const start = () => {
    const agent = new Agent(server.url, echo.id, echo.key, script, { IDLE_RESYNC_SECONDS: "1", IDLE_RESYNC_MAX_SECONDS: "1" });
    t.after(() => agent.stop());
    return agent;
  };
  const first = start();
  await logIn(it);
  await openRoom(it, room);
  await page.locator(".crew .dot.on").waitFor();
  await server.say(room, "@admin/echo poison", echo);
  const failed = page.locator(".delivery.failed");
  await failed.waitFor();
  // A client that works through a backlog does not get past it.
  await first.stop();
  await page.locator(".crew .dot:not(.on)").waitFor();
  await server.say(room, "@admin/echo second", echo);
  await server.say(room, "@admin/echo third", echo);
  await failed.locator("summary").click();
  await failed.getByText("2 more messages are waiting behind this one").waitFor();
  await failed.getByText(/Disconnected since .*connection lost/).waitFor();
  await failed.getByText("overloaded").first().waitFor();
  await failed.getByRole("button", { name: "Dead-letter…" }).click();
  await page.getByLabel("Reason").fill("The model cannot read it");
  await page.getByRole("button", { name: "Dead-letter", exact: true }).click();
  await page.locator(".delivery.dead", { hasText: "dead-lettered" }).waitFor();
  start();
  await until("the two behind it are answered", async () => (await page.locator(".delivery.processed").count()) === 2);
  await page.locator(".delivery.dead").getByText("The model cannot read it").first().waitFor();
  assertClean(seen);
});

test("a_turn_is_interrupted", { skip }, async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const script = join(server.directory, "endless.py");
  writeFileSync(script, `
import asyncio
from agent import Echo, run

class Endless(Echo):
    async def on_message(self, msg, tools, *context, **details):
        await asyncio.sleep(3600)

run(Endless())
`);
  const echo = await server.agent("Echo");
  const room = await server.room("Work", echo);
  const agent = new Agent(server.url, echo.id, echo.key, script);
  t.after(() => agent.stop());
  await server.say(room, "@admin/echo think for a long time", echo);
  await logIn(it);
  await page.goto(`${base}/agents/${echo.id}`);
  await page.getByRole("button", { name: "Interrupt in Work" }).waitFor();
  await page.locator(".tally", { hasText: "1 open" }).waitFor();
  await page.getByRole("button", { name: "Interrupt in Work" }).click();
  await page.getByRole("button", { name: "Interrupt", exact: true }).click();
  await page.getByText("Echo was told to end its open turns.").waitFor();
  // The client ends the turn, and the page follows by itself.
  await page.getByText("No open work.").waitFor();
  await page.getByRole("button", { name: "Interrupt in Work" }).waitFor({ state: "detached" });
  assertClean(seen);
});

test("the_connections_of_an_agent_are_listed", { skip }, async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const echo = await server.agent("Echo");
  const start = () => {
    const agent = new Agent(server.url, echo.id, echo.key);
    t.after(() => agent.stop());
    return agent;
  };
  await logIn(it);
  await page.goto(`${base}/agents/${echo.id}`);
  const rows = page.locator(".connections li");
  await rows.getByText("not connected", { exact: true }).waitFor();
  const first = start();
  await rows.getByText("connected", { exact: true }).waitFor({ timeout: 60_000 });
  await first.stop();
  await rows.getByText("not connected", { exact: true }).waitFor({ timeout: 60_000 });
  await rows.getByText(/ · connection lost$/).waitFor();
  await page.locator(".now").getByText(/^Last disconnected .* \(connection lost\)$/).waitFor();
  assert.equal(await rows.count(), 2);

  // The page follows, and the newest end is the first.
  const second = start();
  await rows.getByText("connected", { exact: true }).waitFor({ timeout: 60_000 });
  await second.stop();
  await until("both ends are listed", async () => (await rows.count()) === 3, 60_000);
  const ends = await rows.locator("time:last-child").evaluateAll(all => all.map(one => one.dateTime));
  assert.deepEqual(ends, [...ends].sort().reverse());
  assertClean(seen);
});

test("ten_connections_are_shown_and_then_all", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const echo = await server.agent("Echo");
  const reasons = ["superseded", "<b>new</b>"];
  await page.route("**/connections", route => route.fulfill({ json: { data: Array.from({ length: 50 }, (_, at) => ({
    began_at: at === 1 ? null : new Date(Date.UTC(2020, 1, 50 - at)).toISOString(), ended_at: new Date(Date.UTC(2020, 1, 50 - at, 1)).toISOString(), reason: reasons[at] ?? "client_closed",
  })) } }));
  await logIn(it);
  await page.goto(`${base}/agents/${echo.id}`);
  const rows = page.locator(".connections li");
  await rows.getByText("1 h · replaced by a newer connection").waitFor();
  await rows.nth(2).getByText(/^until .*2020/).waitFor();
  await rows.nth(2).getByText("<b>new</b>").waitFor();
  assert.equal(await rows.count(), 11);
  await page.getByRole("button", { name: "Show all" }).click();
  await until("all are shown", async () => (await rows.count()) === 51);
  assertClean(seen);
});

test("many_agents_take_few_requests", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  for (let at = 0; at < 150; at += 10) await Promise.all(Array.from({ length: 10 }, (_, one) => server.agent(`Agent ${at + one}`)));
  await logIn(it);
  await page.goto(`${it.base}/settings`);
  await page.getByRole("heading", { name: "Sessions" }).waitFor();
  await page.waitForLoadState("networkidle");
  const asked = [];
  page.on("request", request => { if (/agents|peers|agent_id/.test(request.url())) asked.push(new URL(request.url()).pathname + new URL(request.url()).search); });
  await page.getByRole("navigation").getByRole("link", { name: "Agents" }).click();
  await page.locator(".card .presence").nth(149).waitFor();
  await until("both pages are asked for", () => asked.length >= 2);
  const first = asked.splice(0);
  assert.equal(first.length, 2, first.join("\n"));
  assert.ok(first.every(one => one.startsWith("/api/v1/me/agents?include=work&limit=100")), first.join("\n"));
  // While somebody looks, the list is read again, in as many pages.
  await until("it is read again", () => asked.length >= 2);
  assert.ok(asked.every(one => one.startsWith("/api/v1/me/agents?")), asked.join("\n"));
  assertClean(seen);
});
