// Passwords, API keys, sessions, and the way to everything by keyboard.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { anotherBrowser, assertClean, BROWSER, byPassword, closeBrowser, logIn, openRoom, PASSWORD, until, welcome, world } from "./world.mjs";

after(closeBrowser);

const part = (page, name) => page.getByRole("region", { name, exact: true });
const NEW_PASSWORD = "battery staple horse";

test("a_key_is_shown_once_works_and_is_revoked", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const room = await server.room("Launch plan");
  await server.agent("Writer");
  await logIn(it);
  await page.goto(`${base}/settings`);
  const keys = part(page, "API keys");
  await keys.getByText("Unnamed key").waitFor();
  // The server may ask for the password.
  let asked = 0;
  await page.route("**/me/api-keys", async route => {
    if (route.request().method() !== "POST" || asked++ > 0) return route.continue();
    await route.fulfill({ status: 422, json: { error: { code: "validation_error", message: "Invalid", details: { "/api_key/current_password": ["is required, since you logged in a while ago"] }, request_id: "r" } } });
  });
  await keys.getByRole("button", { name: "New API key" }).click();
  await page.locator("dialog").getByLabel("Name").fill("Laptop <b>evil</b>");
  await page.getByLabel("Limit to a room").selectOption({ label: "Launch plan" });
  await page.getByLabel("Read only").check();
  await page.getByLabel("Expires on").fill("2000-01-01");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.locator("dialog .fault", { hasText: "Is required" }).waitFor();
  await page.locator("dialog").getByLabel("Your password").fill("whatever it is");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.locator("dialog .field .fault").first().waitFor();
  await page.unroute("**/me/api-keys");
  await page.keyboard.press("Escape");

  await keys.getByRole("button", { name: "New API key" }).click();
  await page.locator("dialog").getByLabel("Name").fill("Laptop <b>evil</b>");
  await page.getByLabel("Limit to a room").selectOption({ label: "Launch plan" });
  await page.getByLabel("Read only").check();
  await page.getByLabel("Expires on").fill(`${new Date().getFullYear() + 1}-06-30`);
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("heading", { name: "Laptop <b>evil</b> was created" }).waitFor();
  const key = await page.locator(".secret .key").innerText();
  assert.match(key, /^thnv_u_/);
  assert.equal((await server.call("GET", `/me/chats/${room}`, undefined, key)).id, room);
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("heading", { name: "Close without copying the key?" }).waitFor();
  await page.getByRole("button", { name: "Close anyway" }).click();
  await page.locator("dialog").first().waitFor({ state: "detached" });
  const kept = await page.evaluate(() => document.documentElement.outerHTML + location.href + JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }));
  assert.ok(!kept.includes(key), "the key stays nowhere");

  const row = keys.getByRole("listitem").filter({ hasText: "Laptop" });
  await row.getByText("read-only").waitFor();
  await row.getByText("only room: Launch plan").waitFor();
  await row.getByText(/expires/).waitFor();
  const refused = await fetch(`${server.url}/api/v1/me/agents`, { headers: { "x-api-key": key } });
  assert.equal(refused.status, 403);
  await row.getByRole("button", { name: /^Revoke/ }).click();
  await page.getByRole("heading", { name: "Revoke Laptop <b>evil</b>?" }).waitFor();
  await page.keyboard.press("Escape");
  assert.equal((await server.call("GET", `/me/chats/${room}`, undefined, key)).id, room);
  await row.getByRole("button", { name: /^Revoke/ }).click();
  await page.locator("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await until("it is gone", async () => (await row.count()) === 0);
  const ended = await fetch(`${server.url}/api/v1/me/chats/${room}`, { headers: { "x-api-key": key } });
  assert.equal(ended.status, 401);
  assertClean(seen);
});

test("other_sessions_are_ended_and_say_why", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const [second, third] = [await anotherBrowser(t, it), await anotherBrowser(t, it)];
  await logIn({ ...it, page: second.page });
  await logIn(it);
  await page.goto(`${base}/settings`);
  const list = part(page, "Sessions");
  await until("both are listed", async () => (await list.getByRole("listitem").count()) === 2);
  assert.equal(await list.getByText("this browser", { exact: true }).count(), 1);
  await second.page.goto(`${base}/settings`);
  await part(second.page, "Sessions").getByRole("listitem").first().waitFor();
  await list.getByRole("button", { name: /^End the session from / }).click();
  await page.locator("dialog").getByRole("button", { name: "End session", exact: true }).click();
  await second.page.getByText("Your session has ended. Log in again.").waitFor();
  await until("one is left", async () => (await list.getByRole("listitem").count()) === 1);
  // A session that is no longer there.
  await logIn({ ...it, page: third.page });
  await page.reload();
  await until("both are listed", async () => (await list.getByRole("listitem").count()) === 2);
  await third.page.getByRole("button", { name: "Log out" }).first().click();
  await third.page.getByRole("heading", { name: "Log in" }).waitFor();
  await list.getByRole("button", { name: /^End the session from / }).click();
  await page.locator("dialog").getByRole("button", { name: "End session", exact: true }).click();
  await page.locator("dialog .fault", { hasText: /./ }).waitFor();
  await page.keyboard.press("Escape");

  await logIn({ ...it, page: second.page });
  await logIn({ ...it, page: third.page });
  await page.reload();
  await until("all are listed", async () => (await list.getByRole("listitem").count()) === 3);
  await list.getByRole("button", { name: "End all other sessions" }).click();
  await page.locator("dialog").getByRole("button", { name: "End all other sessions" }).click();
  for (const one of [second, third]) await one.page.getByText("Your session has ended. Log in again.").waitFor();
  await until("one is left", async () => (await list.getByRole("listitem").count()) === 1);
  assert.equal((await server.call("GET", "/me/sessions")).length, 1);
  assertClean(seen);
});

test("a_new_password_keeps_this_page_and_ends_the_others", async t => {
  const it = await world(t);
  const { page, base, server, seen, context } = it;
  await welcome(it);
  const other = await anotherBrowser(t, it);
  await byPassword(other.page, base, PASSWORD);
  await other.page.getByRole("navigation").waitFor();
  const room = await server.room("Launch plan");
  // Another tab of the same browser.
  const tab = await context.newPage();
  await openRoom({ page: tab, base }, room);

  await page.goto(`${base}/settings`);
  const form = part(page, "Password");
  const change = async (current, next) => {
    await form.getByLabel("Current password").fill(current);
    await form.getByLabel("New password").fill(next);
    await form.getByRole("button", { name: "Change password" }).click();
  };
  await change("not the password", NEW_PASSWORD);
  await form.locator(".field .fault").waitFor();
  const hasFocus = () => page.evaluate(() => document.activeElement?.textContent === "Change password");
  await until("the button has the focus", hasFocus);
  await change(PASSWORD, "password123");
  await until("the new one is refused", async () => (await form.getByLabel("New password").getAttribute("aria-invalid")) === "true");
  await other.page.getByRole("navigation").waitFor();
  // The page never shows the log-in meanwhile.
  await page.evaluate(() => {
    globalThis.wasOut = false;
    new MutationObserver(() => { if (document.querySelector(".entrance")) globalThis.wasOut = true; }).observe(document.body, { childList: true, subtree: true });
  });
  await change(PASSWORD, NEW_PASSWORD);
  await page.getByText("The password was changed.").waitFor();
  assert.equal(await form.getByLabel("Current password").inputValue(), "");
  assert.equal(await hasFocus(), true);
  await other.page.getByText("Your session has ended. Log in again.").waitFor();
  await until("the socket is back", () => page.getByRole("navigation").getByText("Connected").isVisible());
  assert.equal(await page.evaluate(() => globalThis.wasOut), false);
  await until("only this one is left", async () => (await server.call("GET", "/me/sessions")).length === 1);
  // The other tab has the new session too.
  await tab.getByLabel("Message", { exact: true }).fill("still here");
  await tab.keyboard.press("Enter");
  await until("it is sent", async () => (await server.texts(room)).length === 1);
  await page.reload();
  await page.getByRole("heading", { name: "Settings" }).waitFor();

  await byPassword(other.page, base, PASSWORD);
  await other.page.getByText("The name or the password is wrong").waitFor();
  await byPassword(other.page, base, NEW_PASSWORD);
  await other.page.getByRole("navigation").waitFor();

  // If the page cannot log in again, it says what happened.
  await page.route("**/console/session", route => route.fulfill({ status: 503, json: { error: { code: "service_unavailable", message: "Later", request_id: "r" } } }));
  await change(NEW_PASSWORD, PASSWORD);
  await page.getByText("The password was changed. Log in with the new one.").waitFor();
  await page.unroute("**/console/session");
  await byPassword(page, base, PASSWORD);
  await page.getByRole("navigation").waitFor();
  assertClean(seen);
});

test("go_to_leads_everywhere_by_keyboard", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  const MANY = 230;
  for (let from = 0; from < MANY; from += 10) await Promise.all(Array.from({ length: 10 }, (_, at) => server.room(`Old room ${from + at}`)));
  const writer = await server.agent("Writer");
  const launch = await server.room("Launch plan", writer);
  await server.room("A plan of evil <b>");
  await server.say(launch, "hello");
  await logIn(it);
  await openRoom(it, launch);
  await page.getByLabel("Message", { exact: true }).click();

  // From inside a field; the first is the room that was used last.
  const field = page.getByRole("combobox", { name: "Room, agent, person, or page" });
  const option = name => page.getByRole("option", { name });
  await press("Control+k");
  await field.waitFor();
  await option("Launch plan").waitFor();
  assert.equal(await page.getByRole("option").first().innerText().then(text => /Launch plan/.test(text)), true);
  // Also a room that is far beyond what the sidebar has read.
  await page.keyboard.type("old room 3");
  await option(/Old room 3/).first().waitFor();
  await until("the old rooms are read", async () => (await page.locator(".goto .hint").innerText()) === "41 matches");
  assert.equal(await field.getAttribute("aria-activedescendant"), "places-0");
  assert.match(await page.locator("#places-0").innerText(), /^Old room 3\n/);
  await press("ArrowDown");
  assert.equal(await page.locator("#places-1").getAttribute("aria-selected"), "true");
  await press("ArrowUp", "ArrowUp");
  assert.equal(await field.getAttribute("aria-activedescendant"), "places-40");
  await press("ArrowDown", "Enter");
  await page.getByRole("heading", { name: "Old room 3", level: 1 }).waitFor();
  await until("the heading has the focus", () => page.evaluate(() => document.activeElement?.tagName === "H1"));

  // An agent, a page, hostile names, nothing, Escape.
  await press("Control+k");
  await page.keyboard.type("@admin/wri");
  await option(/Writer.*agent/s).waitFor();
  await press("Enter");
  await page.getByRole("heading", { name: "Writer", level: 1 }).waitFor();
  await press("Control+k");
  await page.keyboard.type("memor");
  await option(/Memories.*page/s).waitFor();
  await press("Enter");
  await page.getByRole("heading", { name: "Memories", level: 1 }).waitFor();
  await press("Control+k");
  await page.keyboard.type("evil");
  await option("A plan of evil <b> room").waitFor();
  await page.keyboard.type("zzz");
  await page.getByText("No matches").first().waitFor();
  await press("Enter");
  assert.equal(await field.count(), 1);
  await press("Escape");
  await field.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");

  // By the button, and on a phone.
  await page.setViewportSize({ width: 390, height: 800 });
  await page.goto(`${base}/`);
  await page.getByRole("button", { name: /^Go to/ }).click();
  await page.keyboard.type("launch");
  await option(/Launch plan/).click();
  await page.getByRole("heading", { name: "Launch plan", level: 1 }).waitFor();
  assertClean(seen);
});
