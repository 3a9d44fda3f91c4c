// The last calls and failures of an agent on its page.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertClean, closeBrowser, logIn, reflows, until, violations, world } from "./world.mjs";

after(closeBrowser);

/** Uses are written every ten seconds. */
const WRITTEN_MS = 30_000;

test("the_last_calls_and_failures_of_an_agent_are_shown", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const bot = await server.agent("Bot");
  const asks = async (path, key = bot.key) => (await fetch(`${server.url}/api/v1/agent${path}`, { headers: { "x-api-key": key } })).status;
  await logIn(it);
  await page.goto(`${base}/agents/${bot.id}`);
  const part = page.getByRole("region", { name: "Calls and failures" });
  await part.getByText("No calls yet.").waitFor();

  // The page follows: a call, and one that fails.
  const rest = part.getByRole("listitem").filter({ hasText: "REST API" });
  assert.equal(await asks("/me"), 200);
  await rest.getByText(/^Last successful call /).waitFor({ timeout: WRITTEN_MS });
  assert.equal(await rest.getByText(/Last failure/).count(), 0);
  assert.equal(await asks("/chats/00000000-0000-4000-8000-000000000001"), 404);
  await rest.getByText("The requested item does not exist, or the caller cannot see it.").waitFor({ timeout: WRITTEN_MS });
  await rest.getByText("GET /api/v1/agent/chats/{chat_id}").waitFor();
  assert.equal(await rest.locator(".failed").count(), 0, "a call has just worked");

  // The program still has the old key.
  await server.call("POST", `/me/agents/${bot.id}/rotate-key`, {});
  await until("the old key is refused", async () => (await asks("/me")) === 401);
  await rest.getByText("The agent uses a key that was revoked. Give it the current key.").waitFor({ timeout: WRITTEN_MS });

  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await violations(page), [], `${colorScheme}, ${width}`);
      assert.ok(await reflows(page), `${colorScheme}, ${width} scrolls sideways`);
    }
  }
  assertClean(seen);
});

test("doors_and_their_failures_are_said_in_words", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const bot = await server.agent("Bot");
  const at = new Date().toISOString();
  const ago = seconds => new Date(Date.parse(at) - seconds * 1000).toISOString();
  const failing = (door, code, detail = null, called_at = ago(71)) => ({ door, called_at, failed_at: at, failure: { code, detail } });
  let agent = { connected: false };
  let doors = [failing("rest", "task_not_active"), failing("socket", "idle_timeout"), failing("mcp", "forbidden", "reply"), failing("webhook", "http_503"), failing("a2a", "new_code", "NEW")];
  await page.route("**/me/agents/*?include=doors*", async route => route.fulfill({ json: { data: { ...(await server.call("GET", `/me/agents/${bot.id}`)), ...agent, doors } } }));
  await logIn(it);
  await page.goto(`${base}/agents/${bot.id}`);
  const part = page.getByRole("region", { name: "Calls and failures" });
  const row = name => part.getByRole("listitem").filter({ has: page.getByText(name, { exact: true }) });
  await row("REST API").getByText("The task is not on the board.").waitFor();
  await row("Socket").getByText("The connection ended: timed out.").waitFor();
  await row("MCP").getByText("The caller is not allowed to do this.").waitFor();
  await row("Webhook").getByText("The receiver responded with HTTP 503.").waitFor();
  await row("A2A").getByText("The request failed.").waitFor();
  assert.equal(await row("A2A").locator("code").innerText(), "new_code", "what a newer server says is shown as it is");
  await row("Socket").getByText(/^Last connection /).waitFor();
  await row("Webhook").getByText(/^Last successful request /).waitFor();
  assert.equal(await part.locator(".failed").count(), 5);

  // What works, or has worked so shortly before that its time may be late, is not failing.
  agent = { connected: true };
  doors = [failing("rest", "forbidden", null, ago(69)), failing("socket", "join_refused", "unmatched topic"), failing("mcp", "forbidden", null, null)];
  await row("REST API").locator(".failed").waitFor({ state: "detached", timeout: 15_000 });
  await row("MCP").locator(".failed").waitFor();
  assert.equal(await row("MCP").getByText(/^Last successful/).count(), 0);
  assert.equal(await row("Socket").locator(".failed").count(), 0);
  await row("Socket").getByText("unmatched topic").waitFor();
  agent = { connected: false, last_disconnected_at: ago(-1) };
  await page.waitForResponse("**/me/agents/*?include=doors*");
  await page.waitForResponse("**/me/agents/*?include=doors*");
  assert.equal(await row("Socket").locator(".failed").count(), 0, "its connection worked after the failure");
  agent = { connected: false };
  await row("Socket").locator(".failed").waitFor({ timeout: 15_000 });
  doors = [failing("webhook", "no_response", "<b>cannot connect</b> ".repeat(40))];
  await row("Webhook").getByText("The receiver did not respond.").waitFor({ timeout: 15_000 });
  await page.setViewportSize({ width: 320, height: 600 });
  assert.ok(await reflows(page));
  assert.equal(await part.locator("b").count(), 0);
  assertClean(seen);
});
