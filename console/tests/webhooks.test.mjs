// The webhook of an agent on its page: set, changed, and removed, and its delivery log.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import http from "node:http";
import { after, test } from "node:test";
import { assertClean, closeBrowser, LOOKS, logIn, reflows, submit, until, violations, world } from "./world.mjs";

after(closeBrowser);

/** Receives what the server sends to webhooks. */
class Receiver {
  static async start(t) {
    const receiver = new Receiver();
    receiver.requests = [];
    /** The status of the next answers. */
    receiver.status = 200;
    receiver.server = http.createServer(async (request, response) => {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      receiver.requests.push({ path: request.url, headers: request.headers, text: Buffer.concat(chunks).toString() });
      response.writeHead(receiver.status);
      response.end();
    });
    await new Promise(resolve => receiver.server.listen(0, "127.0.0.1", resolve));
    receiver.url = `http://127.0.0.1:${receiver.server.address().port}`;
    t.after(() => { receiver.server.close(); receiver.server.closeAllConnections(); });
    return receiver;
  }

  /** Waits for the request number `count`. */
  async get(count) {
    await until(`request ${count}`, () => this.requests.length >= count);
    return this.requests[count - 1];
  }
}

/** Whether a request is signed with this secret. */
function isSigned({ headers, text }, secret) {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const made = createHmac("sha256", key).update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${text}`).digest("base64");
  return headers["webhook-signature"].split(" ").includes(`v1,${made}`);
}

/** A server that sends to this machine, with an agent in a room, and the page of the agent. */
async function place(t, options) {
  const it = await world(t, options);
  const { server, base } = it;
  const receiver = await Receiver.start(t);
  await restart(server, { PARLANCE_WEBHOOKS_ALLOW_PRIVATE: "127.0.0.1" });
  const bot = await server.agent("Bot");
  const room = await server.room("Orders <b>1</b>", bot);
  await logIn(it);
  const path = `/me/agents/${bot.id}/webhook`;
  const part = it.page.getByRole("region", { name: "Webhook", exact: true });
  const row = at => part.getByRole("listitem").nth(at);
  const open = async () => { await it.page.goto(`${base}/agents/${bot.id}`); await part.getByRole("button").first().waitFor(); };
  return { ...it, receiver, bot, room, path, part, row, open, say: text => server.say(room, text, bot) };
}

async function restart(server, settings) {
  Object.assign(server.environment, settings);
  await server.stop();
  await server.run();
}

const dialog = page => page.locator("dialog[open]").last();
const shownSecret = page => dialog(page).getByRole("group", { name: "Signing secret" }).innerText();

/** Takes the secret from its dialog, and closes it. */
async function takeSecret(page) {
  const secret = await shownSecret(page);
  assert.match(secret, /^whsec_/);
  await dialog(page).getByRole("button", { name: "Done" }).click();
  await submit(page, "Close anyway");
  await page.locator("dialog").first().waitFor({ state: "detached" });
  return secret;
}

async function setUrl(page, part, url) {
  await part.getByRole("button", { name: /^(Set webhook|Change URL)$/ }).click();
  await dialog(page).getByLabel("URL").fill(url);
  await dialog(page).getByLabel("URL").press("Enter");
}

test("a_webhook_is_set_changed_and_removed", async t => {
  const it = await place(t);
  const { page, server, receiver, part, row, path, open, say, seen } = it;
  await open();
  await part.getByText("The server can send each message").waitFor();
  await setUrl(page, part, "ftp://example.org");
  await dialog(page).locator(".field .fault").waitFor();
  await dialog(page).getByLabel("URL").fill(`${receiver.url}/one`);
  await submit(page, "Set webhook");
  await page.getByRole("heading", { name: "The webhook is set" }).waitFor();
  await dialog(page).getByRole("button", { name: "Done" }).click();
  await page.getByRole("heading", { name: "Close without copying the secret?" }).waitFor();
  await submit(page, "Cancel");
  const first = await takeSecret(page);
  const kept = await page.evaluate(() => document.documentElement.outerHTML + location.href + JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }));
  assert.ok(!kept.includes(first), "the secret stays nowhere");
  await part.getByRole("status").getByText("Active").waitFor();
  await part.getByText(`${receiver.url}/one`, { exact: true }).waitFor();
  await part.getByText("Nothing was sent").waitFor();
  assert.equal(await part.getByText("Last success").count(), 0);

  // What is sent appears without a click.
  const hello = await say("hello");
  assert.ok(isSigned(await receiver.get(1), first));
  await row(0).getByText("delivered", { exact: true }).waitFor();
  await row(0).getByText("1 attempt", { exact: false }).waitFor();
  await row(0).getByText("HTTP 200", { exact: false }).waitFor();
  await part.getByText("Last success").waitFor();
  assert.equal(await row(0).getByRole("link", { name: "Orders <b>1</b>" }).getAttribute("href"), `/console/rooms/${it.room}?at=${hello.id}`);

  await part.getByRole("button", { name: "Rotate secret" }).click();
  await dialog(page).getByText("For 24 hours, requests are also signed with earlier ones").waitFor();
  await submit(page, "Rotate secret");
  await page.getByRole("heading", { name: "The secret was rotated" }).waitFor();
  const second = await takeSecret(page);
  await part.getByText(/^valid until /).waitFor();
  await say("signed twice");
  const both = await receiver.get(2);
  assert.ok(isSigned(both, first) && isSigned(both, second));
  await part.getByRole("button", { name: "Rotate secret" }).click();
  await dialog(page).getByLabel("Revoke earlier secrets immediately").check();
  await submit(page, "Rotate secret");
  const third = await takeSecret(page);

  await setUrl(page, part, `${receiver.url}/two`);
  await page.getByText("The URL was changed.").waitFor();
  await part.getByText(`${receiver.url}/two`, { exact: true }).waitFor();
  await say("elsewhere");
  const moved = await receiver.get(3);
  assert.equal(moved.path, "/two");
  assert.deepEqual([first, second, third].map(secret => isSigned(moved, secret)), [false, false, true]);
  assert.equal(await part.getByText(/^valid until /).count(), 0);

  await part.getByRole("button", { name: "Remove webhook" }).click();
  await page.getByRole("heading", { name: "Remove webhook?" }).waitFor();
  await page.keyboard.press("Escape");
  assert.equal((await server.call("GET", path)).url, `${receiver.url}/two`);
  await part.getByRole("button", { name: "Remove webhook" }).click();
  await submit(page, "Remove webhook");
  await page.getByText("The webhook was removed.").waitFor();
  await part.getByRole("button", { name: "Set webhook" }).waitFor();
  assert.equal(await part.getByRole("listitem").count(), 0);
  await assert.rejects(server.call("GET", path), /404/);
  // Set elsewhere, and changed there: the page follows.
  await server.call("PUT", path, { url: `${receiver.url}/three` });
  await open();
  await part.getByText(`${receiver.url}/three`, { exact: true }).waitFor();
  await server.call("PUT", path, { url: `${receiver.url}/four` });
  await part.getByText(`${receiver.url}/four`, { exact: true }).waitFor();
  assertClean(seen);
});

test("deliveries_are_shown_and_sent_again", async t => {
  const it = await place(t);
  const { page, server, receiver, bot, room, part, row, path, open, say, seen } = it;
  await server.call("PUT", path, { url: `${receiver.url}/` });
  receiver.status = 500;
  await open();
  const one = await say("one");
  await row(0).getByText("failed", { exact: true }).waitFor();
  await row(0).getByText("HTTP 500", { exact: false }).waitFor();
  await row(0).getByText(/^next attempt /).waitFor();
  await part.getByText(/^All requests have failed since /).waitFor();
  await part.getByText(/^If they keep failing, the webhook is disabled after .+\.$/).waitFor();
  await part.getByText("Last failure").waitFor();
  receiver.status = 204;
  await row(0).getByRole("button", { name: "Resend message in Orders <b>1</b>" }).click();
  await page.getByText("The delivery is being sent again.").waitFor();
  await row(0).getByText("delivered", { exact: true }).waitFor();
  await row(0).getByText("HTTP 204", { exact: false }).waitFor();
  await until("the failure is forgotten", async () => (await part.getByText(/^All requests have failed/).count()) === 0);
  const [before, ...repeated] = receiver.requests;
  assert.ok(repeated.length > 0 && repeated.every(request => request.headers["webhook-id"] === before.headers["webhook-id"]));

  // The agent has not processed it, so it can have it again; afterwards the server refuses.
  const count = receiver.requests.length;
  await row(0).getByRole("button", { name: /^Resend/ }).click();
  await receiver.get(count + 1);
  await row(0).getByText("delivered", { exact: true }).waitFor();
  for (const step of ["processing", "processed"]) await server.call("POST", `/agent/chats/${room}/messages/${one.id}/${step}`, {}, bot.key);
  await row(0).getByRole("button", { name: /^Resend/ }).click();
  const notice = page.locator(".notice.error", { hasText: "Retry the work instead" });
  await notice.waitFor();
  await notice.getByRole("button").click();

  // Nobody answers.
  await new Promise(resolve => { receiver.server.close(resolve); receiver.server.closeAllConnections(); });
  await say("two");
  await until("both are listed", async () => (await part.getByRole("listitem").count()) === 2);
  await row(0).getByText("failed", { exact: true }).waitFor();
  const [found] = await server.call("GET", `${path}/deliveries`);
  assert.ok(found.last_error);
  await row(0).getByText(found.last_error, { exact: false }).waitFor();
  assertClean(seen);
});

test("a_disabled_webhook_says_why_and_is_enabled", async t => {
  const it = await place(t);
  const { page, server, receiver, part, row, path, open, say, seen } = it;
  await server.call("PUT", path, { url: `${receiver.url}/` });
  receiver.status = 410;
  await open();
  await say("are you there?");
  await part.getByRole("status").getByText("Disabled", { exact: true }).waitFor();
  await part.getByText("The receiver responded with 410 (Gone).", { exact: false }).waitFor();
  await row(0).getByText("HTTP 410", { exact: false }).waitFor();
  assert.equal(await row(0).getByRole("button").count(), 0, "nothing is sent while it is disabled");
  assert.equal(await row(0).getByText(/next attempt/).count(), 0);
  receiver.status = 200;
  await part.getByRole("button", { name: "Enable" }).click();
  await submit(page, "Enable");
  await page.getByText("The webhook is enabled.").waitFor();
  await part.getByRole("status").getByText("Active").waitFor();
  await row(0).getByText("delivered", { exact: true }).waitFor();
  assert.equal(await part.getByRole("button", { name: "Enable" }).count(), 0);

  // What takes a day or longer: the page is told that it happened.
  let told = {};
  await page.route(`**/api/v1${path}`, async route => {
    const answer = await route.fetch();
    const { data } = await answer.json();
    await route.fulfill({ response: answer, json: { data: { ...data, ...told } } });
  });
  told = { status: "failing", failing_since: new Date(Date.now() - 2 * 24 * 3600 * 1000).toISOString() };
  await part.getByRole("status").getByText("Failing", { exact: true }).waitFor();
  const end = new Date(Date.parse(told.failing_since) + 3 * 24 * 3600 * 1000).toISOString();
  assert.equal(await part.locator(`time[datetime="${end}"]`).count(), 1);
  // It was rarely sent anything meanwhile.
  told = { status: "failing", failing_since: new Date(Date.now() - 30 * 24 * 3600 * 1000).toISOString() };
  await part.getByText("If they keep failing, the webhook is disabled.", { exact: false }).waitFor();
  told = { status: "disabled", failing_since: told.failing_since, disabled_at: new Date().toISOString(), disabled_reason: "failing" };
  await part.getByText("No request has succeeded for three days.", { exact: false }).waitFor();
  assert.equal(await part.getByText(/If they keep failing/).count(), 0);
  assertClean(seen);
});

test("a_lost_answer_shows_a_secret_that_works", async t => {
  const it = await place(t);
  const { page, receiver, part, open, say, seen } = it;
  await open();
  // The first answer to each of these.
  const lost = new Set();
  it.console.faults.answer = ({ method, url }) => {
    if (method === "GET" || !url.includes("/webhook") || lost.has(url)) return null;
    lost.add(url);
    return "gateway";
  };
  const twice = async name => {
    await submit(page, name);
    await dialog(page).getByText("Bad gateway").waitFor();
    await submit(page, name);
  };
  await part.getByRole("button", { name: "Set webhook" }).click();
  await dialog(page).getByLabel("URL").fill(receiver.url);
  await submit(page, "Set webhook");
  await dialog(page).getByText("Bad gateway").waitFor();
  // The second answer has no secret, and the one to the rotation that follows is lost, too.
  await twice("Set webhook");
  const first = await takeSecret(page);
  await say("one");
  assert.ok(isSigned(await receiver.get(1), first));
  lost.clear();
  await part.getByRole("button", { name: "Rotate secret" }).click();
  await twice("Rotate secret");
  const second = await takeSecret(page);
  await say("two");
  assert.ok(isSigned(await receiver.get(2), second));
  assertClean(seen);
});

test("many_deliveries_come_in_pages", async t => {
  const it = await place(t);
  const { page, server, receiver, part, path, open, say, seen } = it;
  await server.call("PUT", path, { url: `${receiver.url}/` });
  for (let at = 0; at < 45; at++) await say(`message ${at}`);
  await receiver.get(45);
  await until("all are delivered", async () => (await server.call("GET", `${path}/deliveries?limit=100`)).every(one => one.status === "delivered"));
  await open();
  const rows = part.getByRole("listitem");
  for (const count of [20, 40, 45]) {
    await until(`${count} rows`, async () => (await rows.count()) === count);
    if (count < 45) await part.getByRole("button", { name: "Load more" }).click();
  }
  assert.equal(await part.getByRole("button", { name: "Load more" }).count(), 0);
  const shown = await part.getByRole("listitem").getByRole("link").evaluateAll(links => links.map(link => new URL(link.href).searchParams.get("at")));
  assert.deepEqual(shown, (await server.call("GET", `${path}/deliveries?limit=100`)).map(one => one.message_id));
  // One of the last page is sent again, and stays in its place.
  const last = rows.nth(44);
  await last.getByRole("button", { name: /^Resend/ }).click();
  await page.getByText("The delivery is being sent again.").waitFor();
  await receiver.get(46);
  assert.equal(receiver.requests[45].headers["webhook-id"], receiver.requests[0].headers["webhook-id"]);
  assertClean(seen);
});

test("the_organization_is_told_of_its_events", async t => {
  const it = await place(t);
  const { page, server, base, receiver, part, row, seen } = it;
  await page.goto(`${base}/organization`);
  await part.getByText("The server can send each entry of the audit log").waitFor();
  await part.getByRole("button", { name: "Set webhook" }).click();
  await dialog(page).getByLabel("URL").fill(`${receiver.url}/events`);
  await dialog(page).getByLabel("Events").fill("agents.*");
  await submit(page, "Set webhook");
  await dialog(page).locator(".field .fault").waitFor();
  await dialog(page).getByLabel("Events").fill("agent.*, key.created");
  await submit(page, "Set webhook");
  await page.getByRole("heading", { name: "The webhook is set" }).waitFor();
  const secret = await takeSecret(page);
  await part.getByText("agent.* key.created", { exact: true }).waitFor();
  await server.agent("Second");
  const request = await receiver.get(1);
  assert.ok(isSigned(request, secret));
  assert.equal(JSON.parse(request.text).type, "agent.registered");
  await row(0).getByText("delivered", { exact: true }).waitFor();
  await row(0).getByText("agent.registered", { exact: false }).waitFor();
  await row(0).getByRole("button", { name: /^Resend/ }).click();
  await receiver.get(2);
  assertClean(seen);
});

test("webhooks_that_are_off_are_not_shown", async t => {
  const it = await place(t);
  const { page, base, server, part, bot, open, seen } = it;
  await open();
  // Agents of others have no page here.
  const other = /thnv_u_\S+/.exec(server.command("user", "create", "--handle", "bob", "--email", "bob@example.org", "--name", "Bob Ray", "--org", "admin"))[0];
  const { agent } = await server.call("POST", "/me/agents/register", { agent: { name: "Scout", description: "Looks around" } }, other);
  await page.goto(`${base}/agents/${agent.id}`);
  await page.getByText("This agent does not exist, or it is not yours.").waitFor();
  assert.equal(await part.count(), 0);

  await restart(server, { PARLANCE_WEBHOOKS: "false" });
  await page.goto(`${base}/agents/${bot.id}`);
  await page.getByRole("region", { name: "About" }).waitFor();
  await page.getByRole("region", { name: "Usage" }).getByText("No usage").waitFor();
  assert.equal(await part.count(), 0);
  await page.getByRole("region", { name: "Calls and failures" }).getByText("The last call and failure").waitFor();
  assert.equal(await part.count(), 0);
  assertClean(seen);
});

test("a_webhook_is_managed_by_keyboard_alone", async t => {
  const it = await place(t);
  const { page, server, receiver, part, row, path, open, say, seen } = it;
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  /** Goes on with Tab until this has the focus; back if it comes before, since Firefox's own buttons follow the last one. */
  const tabTo = async target => {
    for (let steps = 0; steps < 60; steps++) {
      if (await target.evaluate(one => one === document.activeElement)) return;
      const isBefore = await target.evaluate(one => Boolean(one.compareDocumentPosition(document.activeElement) & Node.DOCUMENT_POSITION_FOLLOWING));
      await press(isBefore ? "Shift+Tab" : "Tab");
    }
    assert.fail("the keyboard does not reach it");
  };
  const hasFocus = (what, target) => until(`the focus is on ${what}`, () => target.evaluate(one => one === document.activeElement));
  await open();
  await tabTo(part.getByRole("button", { name: "Set webhook" }));
  await press("Enter");
  await hasFocus("the URL", dialog(page).getByLabel("URL"));
  await page.keyboard.type(receiver.url);
  await press("Enter");
  await hasFocus("Done", dialog(page).getByRole("button", { name: "Done" }));
  await press("Escape");
  await page.getByRole("heading", { name: "Close without copying the secret?" }).waitFor();
  await hasFocus("Close anyway", dialog(page).getByRole("button", { name: "Close anyway" }));
  await press("Enter");
  await page.locator("dialog").first().waitFor({ state: "detached" });
  await hasFocus("the heading", page.locator("main h1"));
  await tabTo(part.getByRole("button", { name: "Rotate secret" }));
  await press("Enter");
  await hasFocus("the choice", dialog(page).getByLabel("Revoke earlier secrets immediately"));
  await press("Space");
  assert.equal(await dialog(page).getByLabel("Revoke earlier secrets immediately").isChecked(), true);
  await tabTo(dialog(page).getByRole("button", { name: "Rotate secret", exact: true }));
  await press("Enter");
  await hasFocus("Done", dialog(page).getByRole("button", { name: "Done" }));
  await tabTo(dialog(page).getByRole("button", { name: "Copy" }));
  // Not every browser of a test has a clipboard.
  await dialog(page).locator(".secret").dispatchEvent("copy");
  await tabTo(dialog(page).getByRole("button", { name: "Done" }));
  await press("Enter");
  await page.locator("dialog").first().waitFor({ state: "detached" });
  await hasFocus("what opened the dialog", part.getByRole("button", { name: "Rotate secret" }));

  receiver.status = 410;
  await say("hello");
  await part.getByText("Disabled", { exact: true }).waitFor();
  receiver.status = 200;
  await tabTo(part.getByRole("button", { name: "Enable" }));
  await press("Enter");
  await hasFocus("Enable", dialog(page).getByRole("button", { name: "Enable" }));
  await press("Enter");
  await row(0).getByText("delivered", { exact: true }).waitFor();
  await hasFocus("the heading", page.locator("main h1"));
  await tabTo(row(0).getByRole("button", { name: /^Resend/ }));
  await press("Enter");
  await receiver.get(3);
  await row(0).getByText("delivered", { exact: true }).waitFor();
  await hasFocus("Resend", row(0).getByRole("button", { name: /^Resend/ }));
  await page.locator("main h1").focus();
  await tabTo(part.getByRole("button", { name: "Remove webhook" }));
  await press("Enter");
  await hasFocus("Remove webhook", dialog(page).getByRole("button", { name: "Remove webhook" }));
  await press("Enter");
  await page.locator("dialog").first().waitFor({ state: "detached" });
  await hasFocus("the heading", page.locator("main h1"));
  await assert.rejects(server.call("GET", path), /404/);
  assertClean(seen);
});

for (const [colorScheme, width] of LOOKS) {
  test(`axe_finds_nothing_in_webhooks: ${colorScheme}, ${width} px`, async t => {
    const it = await place(t, { viewport: { width, height: 800 }, colorScheme, reducedMotion: "reduce" });
    const { page, receiver, part, row, open, say, seen } = it;
    const check = async what => {
      assert.deepEqual(await violations(page), [], what);
      assert.ok(await reflows(page), `${what} scrolls sideways`);
    };
    await open();
    await check("none");
    await part.getByRole("button", { name: "Set webhook" }).click();
    await dialog(page).getByLabel("URL").fill("ftp://x");
    await submit(page, "Set webhook");
    await dialog(page).locator(".field .fault").waitFor();
    await check("set");
    await dialog(page).getByLabel("URL").fill(`${receiver.url}/${"a-long-path/".repeat(12)}`);
    await submit(page, "Set webhook");
    await page.getByRole("heading", { name: "The webhook is set" }).waitFor();
    await check("secret");
    await takeSecret(page);
    await say("one");
    await row(0).getByText("delivered", { exact: true }).waitFor();
    await check("active");
    receiver.status = 500;
    await say("two");
    await row(0).getByText("failed", { exact: true }).waitFor();
    await part.getByText(/^All requests have failed/).waitFor();
    await check("failing");
    await part.getByRole("button", { name: "Rotate secret" }).click();
    await check("rotate");
    await page.keyboard.press("Escape");
    receiver.status = 410;
    await part.getByText("Disabled", { exact: true }).waitFor();
    await check("disabled");
    await part.getByRole("button", { name: "Remove webhook" }).click();
    await check("remove");
    await page.keyboard.press("Escape");
    assertClean(seen);
  });
}
