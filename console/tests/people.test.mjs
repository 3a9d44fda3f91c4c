// Contacts, the directory, and memories.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertClean, closeBrowser, logIn, until, watch, world } from "./world.mjs";

after(closeBrowser);

/** The key of somebody with an organization of their own. */

/** Another browser, in which somebody else is logged in. */
async function another(it, key) {
  const context = await it.context.browser().newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const seen = watch(page);
  await logIn({ page, base: it.base, server: { key } });
  return { page, seen, close: () => context.close() };
}

const part = (page, name) => page.getByRole("region", { name, exact: true });
const badge = page => page.getByRole("navigation").getByRole("link", { name: "Contacts" }).locator(".badge");
const marked = "Eve \u202eevil <img src=x onerror=alert(1)>";
const shown = "Eve ⟨U+202E⟩evil <img src=x onerror=alert(1)>";
/** The server refuses invisible characters in names, but not this. */
const tagged = "Eve <img src=x onerror=alert(1)>";

async function ask(page, handle, message = "") {
  await page.getByRole("button", { name: "Add a contact" }).click();
  await page.getByLabel("Handle").fill(handle);
  await page.getByRole("button", { name: "Look up" }).click();
  await page.getByLabel("Message (optional)").fill(message);
  await page.locator("dialog").getByRole("button", { name: "Send request" }).click();
  await page.locator("dialog").waitFor({ state: "detached" });
}

test("contacts_are_made_and_ended_live_on_both_sides", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const bob = await another(it, server.user("bob", "Bob Ray"));
  t.after(() => bob.close());
  await logIn(it);
  await page.goto(`${base}/people`);
  await bob.page.goto(`${base}/people`);
  await page.getByText("No contacts yet").waitFor();
  await bob.page.getByText("No contacts yet").waitFor();

  // Nobody, oneself, and then Bob.
  await page.getByRole("button", { name: "Add a contact" }).click();
  await page.getByLabel("Handle").fill("nobody-here");
  await page.getByRole("button", { name: "Look up" }).click();
  await page.locator("dialog .fault", { hasText: /./ }).waitFor();
  await page.getByLabel("Handle").fill("@admin");
  await page.getByRole("button", { name: "Look up" }).click();
  await page.getByText("This is you.").waitFor();
  await page.getByRole("button", { name: "Back", exact: true }).click();
  await page.getByLabel("Handle").fill("@bob");
  await page.keyboard.press("Enter");
  await page.locator("dialog").getByText("Bob Ray").waitFor();
  await until("the message has the focus", () => page.evaluate(() => document.activeElement?.name === "message"));
  await page.keyboard.type("Shall we?");
  await page.keyboard.press("Enter");
  await page.getByText("Bob Ray: waiting for an answer").waitFor();
  await part(page, "Requests that you sent").getByText("waiting for an answer").waitFor();

  // Bob sees it without reloading, and what it means.
  const toBob = part(bob.page, "Requests to you");
  await toBob.getByText("Shall we?").waitFor();
  await badge(bob.page).getByText("1", { exact: true }).waitFor();
  await toBob.getByText("see each other’s email address").waitFor();
  await toBob.getByRole("button", { name: /^Accept/ }).click();
  await part(bob.page, "Your contacts").getByRole("listitem").waitFor();
  await until("nothing is open", async () => (await badge(bob.page).count()) === 0);
  await part(page, "Your contacts").getByText("bob@example.org").waitFor();
  await part(page, "Requests that you sent").getByText("accepted").waitFor();
  assert.equal((await server.call("GET", "/me/contacts")).length, 1);

  // A room can begin with a contact.
  await page.getByRole("button", { name: "New room with Bob Ray" }).click();
  assert.equal(await page.locator("dialog").getByLabel(/Bob Ray/).isChecked(), true);
  await page.keyboard.press("Escape");

  // It ends for both.
  await page.getByRole("button", { name: "Remove Bob Ray" }).click();
  await page.getByRole("heading", { name: "Remove Bob Ray?" }).waitFor();
  await page.locator("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await part(page, "Your contacts").getByText("No contacts yet").waitFor();
  await part(bob.page, "Your contacts").getByText("No contacts yet").waitFor();

  // Rejected, and canceled.
  await ask(bob.page, "admin", "Once more");
  await part(page, "Requests to you").getByRole("button", { name: /^Reject/ }).click();
  await part(bob.page, "Requests that you sent").getByText("rejected").waitFor();
  await ask(bob.page, "admin");
  await badge(page).getByText("1", { exact: true }).waitFor();
  await bob.page.getByRole("button", { name: /^Cancel request to / }).click();
  await part(bob.page, "Requests that you sent").getByText("canceled").waitFor();
  await until("nothing is open", async () => (await badge(page).count()) === 0);
  await until("the request is gone", async () => (await part(page, "Requests to you").count()) === 0);
  assertClean(seen);
  assertClean(bob.seen);
});

test("requests_that_were_missed_are_found", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const bob = server.user("bob", tagged);
  await logIn(it);
  await page.goto(`${base}/people`);
  await page.getByText("No contacts yet").waitFor();
  it.console.cut();
  const request = await server.call("POST", "/me/contacts/requests", { contact_request: { recipient_handle: "admin", message: marked } }, bob);
  const row = part(page, "Requests to you").getByRole("listitem");
  await row.waitFor();
  // Names and messages are texts.
  await row.getByText(tagged, { exact: true }).waitFor();
  await row.getByText(shown, { exact: true }).waitFor();
  assert.equal(await page.locator("main img").count(), 0);

  // The server's refusal is said, and what is shown is read again.
  await page.route("**/approve", async route => {
    await server.call("POST", `/me/contacts/requests/${request.id}/cancel`, {}, bob);
    await route.continue();
  });
  await row.getByRole("button", { name: /^Accept/ }).click();
  await page.locator(".notice.error").waitFor();
  await until("the request is gone", async () => (await row.count()) === 0);
  assertClean(seen);
});

test("requests_to_own_agents_are_answered_by_their_owner", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const writer = await server.agent("Writer");
  const bob = server.user("bob", "Bob Ray");
  await server.call("POST", "/me/contacts/requests", { contact_request: { recipient_handle: writer.handle } }, bob);
  await logIn(it);
  await badge(page).getByText("1", { exact: true }).waitFor();
  await page.goto(`${base}/people`);
  const row = part(page, "Requests to you").getByRole("listitem");
  await row.getByText("to your agent Writer").waitFor();
  await row.getByRole("button", { name: "Accept Bob Ray" }).click();
  await until("they are contacts", async () => (await server.call("GET", "/me/contacts", undefined, bob)).length === 1);
  await until("the request is gone", async () => (await row.count()) === 0);
  assertClean(seen);
});

test("the_directory_is_read_page_by_page", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const bob = server.user("bob", "Bob Ray");
  for (let at = 0; at < 60; at++) {
    const { agent } = await server.call("POST", "/me/agents/register", { agent: { name: at === 0 ? tagged : `Helper ${at}`, description: at === 0 ? marked : "Helps" } }, bob);
    await server.call("PATCH", `/me/agents/${agent.id}`, { agent: { listed_in_directory: true } }, bob);
  }
  const writer = await server.agent("Writer");
  await server.call("PATCH", `/me/agents/${writer.id}`, { agent: { listed_in_directory: true } });
  // The first answer is lost for good: the page says so, and reads again when asked.
  let isLost = true;
  await page.route("**/me/directory?*", route => (isLost ? route.fulfill({ status: 500, json: { error: { code: "internal_error", message: "Something broke", request_id: "r1" } } }) : route.continue()));
  await logIn(it);
  await page.goto(`${base}/people`);
  const list = part(page, "Directory of agents");
  await list.getByText("Something broke (request r1)").waitFor();
  isLost = false;
  await list.getByRole("button", { name: "Try again" }).click();
  await until("a page is there", async () => (await list.getByRole("listitem").count()) === 50);
  await list.getByRole("button", { name: "Load more" }).click();
  await until("all are there", async () => (await list.getByRole("listitem").count()) === 61);
  assert.equal(await list.getByRole("button", { name: "Load more" }).count(), 0);
  await list.getByRole("listitem").filter({ hasText: "Writer" }).getByText("yours").waitFor();
  await list.getByText(tagged, { exact: true }).waitFor();
  await list.getByText(shown, { exact: true }).waitFor();
  await list.getByRole("button", { name: "Send request to Helper 7", exact: true }).click();
  await page.locator("dialog").getByText("@bob/helper-7").waitFor();
  await page.locator("dialog").getByRole("button", { name: "Send request" }).click();
  await part(page, "Requests that you sent").getByText("Helper 7").waitFor();
  const [request] = await server.call("GET", "/me/contacts/requests", undefined, bob);
  await server.call("POST", `/me/contacts/requests/${request.id}/approve`, {}, bob);
  await list.getByRole("listitem").filter({ has: page.getByText("@bob/helper-7", { exact: true }) }).getByText("contact", { exact: true }).waitFor();
  assertClean(seen);
});

test("memories_are_found_archived_restored_and_deleted", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const me = await server.call("GET", "/me/profile");
  const writer = await server.agent("Writer");
  const store = memory => server.call("POST", "/agent/memories", { memory: { system: "long_term", type: "semantic", segment: "user", thought: "Said in a room", ...memory } }, writer.key);
  const about = await store({ content: "Prefers short answers", subject_id: me.id, scope: "subject", metadata: { room: "launch" } });
  await store({ content: `The plan\n${marked}`, segment: "agent", type: "episodic", system: "working" });
  await store({ content: "Everybody may know it", segment: "guideline", scope: "organization" });
  for (let at = 0; at < 60; at++) await store({ content: `Note ${at}`, segment: "tool", type: "procedural" });
  await logIn(it);
  await page.goto(`${base}/memories`);
  const rows = page.locator(".memories > li");
  await until("a page is there", async () => (await rows.count()) === 50);
  await page.getByRole("button", { name: "Load more" }).click();
  await until("all are there", async () => (await rows.count()) === 63);

  // Filters, one after another and together.
  await page.getByLabel("Segment").selectOption("guideline");
  await until("one is left", async () => (await rows.count()) === 1);
  await rows.getByText("Everybody may know it").click();
  await page.getByText("You can change only memories about you").waitFor();
  assert.equal(await rows.getByRole("button").count(), 0);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByLabel("System").selectOption("working");
  await until("one is left", async () => (await rows.count()) === 1);
  await rows.locator("summary").click();
  await rows.locator(".inside").getByText(shown).waitFor();
  assert.equal(await page.locator("main img").count(), 0);
  // A system has types of its own.
  await page.getByLabel("Type").selectOption("episodic");
  await page.getByLabel("System").selectOption("sensory");
  await page.getByText("No memory matches these filters.").waitFor();
  assert.equal(await page.getByLabel("Type").inputValue(), "");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByLabel("Content contains").fill("SHORT answers");
  await page.keyboard.press("Enter");
  await until("one is left", async () => (await rows.count()) === 1);

  // Archived, restored, superseded, deleted.
  const status = async () => (await server.call("GET", `/me/memories/${about.id}`)).status;
  await rows.locator("summary").click();
  await rows.getByText("Said in a room").waitFor();
  await rows.getByText('"room": "launch"').waitFor();
  await rows.getByRole("button", { name: "Archive" }).click();
  await rows.getByText("archived", { exact: true }).waitFor();
  assert.equal(await status(), "archived");
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "SUMMARY");
  await page.getByLabel("Status").selectOption("archived");
  await rows.locator("summary").click();
  await rows.getByRole("button", { name: "Restore" }).click();
  await until("it is active", async () => (await status()) === "active");
  await page.getByLabel("Status").selectOption("");
  await rows.locator("summary").click();
  await rows.getByRole("button", { name: "Mark as superseded" }).click();
  await page.getByRole("heading", { name: "Mark as superseded?" }).waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await status(), "active");
  await rows.getByRole("button", { name: "Mark as superseded" }).click();
  await page.locator("dialog").getByRole("button", { name: "Mark as superseded" }).click();
  await rows.getByText("superseded", { exact: true }).waitFor();
  assert.equal(await status(), "superseded");
  await rows.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No memory matches these filters.").waitFor();
  const answer = await fetch(`${server.url}/api/v1/me/memories/${about.id}`, { headers: { "x-api-key": server.key } });
  assert.equal(answer.status, 404);

  // Two answers that overtake each other: the later question counts.
  let release;
  const held = new Promise(resolve => { release = resolve; });
  await page.route("**/me/memories?*segment=tool*", async route => {
    const slow = await route.fetch();
    await held;
    await route.fulfill({ response: slow }).catch(() => undefined);
  });
  await page.getByRole("button", { name: "Clear filters" }).click();
  const asked = page.waitForRequest(/segment=tool/);
  await page.getByLabel("Segment").selectOption("tool");
  await asked;
  await page.getByLabel("Segment").selectOption("guideline");
  await until("the later answer is there", async () => (await rows.count()) === 1);
  const late = page.waitForResponse(/segment=tool/);
  await page.evaluate(() => {
    globalThis.most = 1;
    new MutationObserver(() => { globalThis.most = Math.max(globalThis.most, document.querySelectorAll(".memories > li").length); }).observe(document.body, { childList: true, subtree: true });
  });
  release();
  await (await late).finished();
  // Another answer, which is drawn after the late one.
  await page.getByLabel("Status").selectOption("archived");
  await page.getByText("No memory matches these filters.").waitFor();
  assert.equal(await page.evaluate(() => globalThis.most), 1);
  assertClean(seen);
});

test("a_plan_without_memories_says_so", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  await page.route("**/me/memories?*", route => route.fulfill({ status: 403, json: { error: { code: "forbidden", message: "The plan has no memories.", request_id: "r" } } }));
  await logIn(it);
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await page.getByText("No memories in this plan").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await page.getByRole("heading", { name: "Contacts", level: 1 }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");
  assert.equal(await page.title(), "Contacts · Parlance");
  assert.ok(server.url && base);
  assertClean(seen);
});
