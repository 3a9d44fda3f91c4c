// The organization: who is in it, what it limits, and what it uses.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { assertClean, closeBrowser, logIn, openRoom, PASSWORD, submit, until, watch, world } from "./world.mjs";

after(closeBrowser);

/** A browser of somebody else. */
async function another(t, { page }) {
  const context = await page.context().browser().newContext();
  t.after(() => context.close());
  const other = await context.newPage();
  return { page: other, seen: watch(other) };
}

/** Opens the link of an invitation, and creates the account of Bob Ray. */
async function register(page, link) {
  await page.goto(link);
  await page.getByLabel("Name").fill("Bob Ray");
  await page.getByLabel("Email").fill("bob@example.org");
  await page.getByLabel("Handle").fill("bob");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
}

async function bob(t, it) {
  const other = await another(t, it);
  const { token } = await it.server.call("POST", "/me/organization/invitations", { invitation: { role: "member" } });
  await register(other.page, `${it.base}/register#${token}`);
  return other;
}

const members = server => server.call("GET", "/me/organization/members").then(all => all.map(one => `${one.handle} ${one.role}`).sort());
const report = (server, agent, room, input, output, extra = {}) => server.call("POST", `/agent/chats/${room}/events`,
  { event: { content: "Token usage", message_type: "task", metadata: { band_usage: { input_tokens: input, output_tokens: output, cache_read_tokens: 0, cache_write_tokens: 0, ...extra } } } }, agent.key);

test("an_invitation_becomes_a_member", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  await server.call("PATCH", "/me/organization", { organization: { name: "Acme <img src=x onerror=alert(1)>" } });
  await logIn(it);
  await page.locator("h1").first().focus();
  await page.keyboard.press("g");
  await page.keyboard.press("o");
  await page.getByRole("heading", { level: 1, name: "Acme <img src=x onerror=alert(1)>" }).waitFor();
  // Nothing is shown that needs others.
  assert.equal(await page.getByRole("heading", { name: "Members" }).count(), 0);
  assert.equal(await page.getByRole("button", { name: "Leave organization" }).count(), 0);

  // The first try fails, and the dialog says so.
  it.console.faults.answer = request => (request.method === "POST" && request.url.endsWith("/invitations") ? "gateway" : null);
  await page.getByRole("button", { name: "Invite somebody" }).click();
  await submit(page, "Create invitation");
  await page.locator("dialog[open] .fault", { hasText: "Bad gateway" }).waitFor();
  it.console.faults.answer = () => null;
  await submit(page, "Create invitation");
  const link = await page.getByRole("group", { name: "Invitation link" }).innerText();
  assert.match(link, new RegExp(`^${base}/register#thnv_i_`));
  await page.getByRole("button", { name: "Done" }).click();
  assert.doesNotMatch(await page.evaluate(() => document.documentElement.outerHTML), /thnv_i_/);

  const other = await another(t, it);
  await register(other.page, link);
  assert.doesNotMatch(other.page.url(), /thnv_i_/);
  // The list follows by itself.
  await page.getByText("@bob").waitFor();
  await page.locator("li", { hasText: "Anyone with the link" }).filter({ hasText: "accepted" }).first().waitFor();

  // An ordinary member reads, and is told why the rest is not there.
  await other.page.goto(`${base}/organization`);
  await other.page.getByText("You are a member.").waitFor();
  await other.page.getByText("@admin").waitFor();
  for (const name of ["Rename", "Pause all agents", "Invite somebody"]) assert.equal(await other.page.getByRole("button", { name }).count(), 0, name);
  for (const name of ["Audit log", "Usage"]) assert.equal(await other.page.getByRole("link", { name }).count(), 0, name);
  assert.equal(await other.page.getByRole("button", { name: /^Actions for/ }).count(), 0);
  await other.page.getByRole("link", { name: "Limits" }).click();
  await other.page.getByText("Used today").waitFor();
  assert.equal(await other.page.getByRole("button", { name: /budgets|rules/ }).count(), 0);
  await other.page.goto(`${base}/organization/audit`);
  await other.page.locator(".fault", { hasText: "Only an admin of the organization may do this" }).waitFor();
  await other.page.goto(`${base}/organization`);

  // The role changes, there and back.
  const act = async name => { await page.getByRole("button", { name: "Actions for Bob Ray" }).click(); await page.getByRole("menuitem", { name }).click(); };
  await act("Make admin");
  await page.getByRole("heading", { name: "Make Bob Ray an admin?" }).waitFor();
  assert.deepEqual(await members(server), ["admin admin", "bob member"]);
  await submit(page, "Make admin");
  await page.getByText("Bob Ray is an admin now.").waitFor();
  assert.deepEqual(await members(server), ["admin admin", "bob admin"]);
  await other.page.getByText("You are an admin.").waitFor();
  await other.page.getByRole("button", { name: "Invite somebody" }).waitFor();
  await act("Make member");
  await submit(page, "Make member");
  await page.getByText("Bob Ray is a member now.").waitFor();
  assert.deepEqual(await members(server), ["admin admin", "bob member"]);
  // The last admin cannot step down.
  await page.getByRole("button", { name: "Actions for admin" }).click();
  await page.getByRole("menuitem", { name: "Make member" }).click();
  await submit(page, "Make member");
  await page.locator("dialog[open] .fault", { hasText: /admin/i }).waitFor();
  await page.keyboard.press("Escape");

  await act("Remove from organization");
  await submit(page, "Remove");
  await until("Bob is gone", async () => (await page.getByText("@bob").count()) === 0);
  assert.deepEqual(await members(server), ["admin admin"]);
  await other.page.getByText("You are alone in this organization.").waitFor();
  assert.equal(await other.page.getByText("@admin").count(), 0);
  assertClean(seen);
  assertClean(other.seen);
});

test("an_invitation_is_accepted_by_somebody_with_an_account", async t => {
  const it = await world(t);
  const { base, server } = it;
  await server.call("PATCH", "/me/organization", { organization: { name: "Acme" } });
  const { page, seen } = await bob(t, it);
  const { id } = (await server.call("GET", "/me/organization/members")).find(one => one.handle === "bob");
  await server.call("DELETE", `/me/organization/members/${id}`);
  const invite = async () => `${base}/register#${(await server.call("POST", "/me/organization/invitations", { invitation: { role: "admin" } })).token}`;

  // Logged out: the log-in leads to it.
  await page.getByRole("button", { name: "Log out" }).first().click();
  await page.getByLabel("Password").waitFor();
  await page.goto(await invite());
  await page.getByRole("link", { name: "I have an account" }).click();
  await page.getByLabel("Handle or email").fill("bob");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByText("You are logged in as @bob").waitFor();
  await page.getByRole("button", { name: "Not now" }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
  assert.deepEqual(await members(server), ["admin admin"]);

  await page.goto(await invite());
  await page.getByRole("button", { name: "Accept and move" }).click();
  await page.getByRole("heading", { level: 1, name: "Acme" }).waitFor();
  await page.getByText("You are a member of Acme now.").waitFor();
  assert.deepEqual(await members(server), ["admin admin", "bob admin"]);
  // What follows works with the new organization.
  await page.getByRole("link", { name: "Audit log" }).click();
  await page.getByText("member joined").first().waitFor();

  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByRole("button", { name: "Leave organization" }).click();
  await submit(page, "Leave organization");
  await until("Bob has left", async () => (await members(server)).length === 1);
  await until("the page shows it", async () => (await page.getByRole("button", { name: "Leave organization" }).count()) === 0);

  // A link that was used or made up says so.
  await page.goto(`${base}/register#thnv_i_1_unknown`);
  await page.getByRole("button", { name: "Accept and move" }).click();
  await page.locator("main .fault:not(:empty)").waitFor();
  assertClean(seen);
});

test("an_invitation_is_revoked", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  await server.call("POST", "/me/organization/invitations", { invitation: { role: "admin", email: "eve@example.org" } });
  await logIn(it);
  await page.goto(`${base}/organization`);
  await page.getByRole("button", { name: "Revoke the invitation for eve@example.org" }).click();
  await submit(page, "Revoke");
  await page.locator("li", { hasText: "eve@example.org" }).filter({ hasText: "revoked" }).waitFor();
  assert.equal((await server.call("GET", "/me/organization/invitations"))[0].status, "revoked");
  assertClean(seen);
});

test("a_pause_is_shown_everywhere_and_lifted", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const room = await server.room("Work", await server.agent("Echo"));
  const other = await bob(t, it);
  await logIn(it);
  await page.goto(`${base}/organization`);
  await page.getByRole("button", { name: "Pause all agents" }).click();
  await page.getByLabel("Reason").fill("The bill <b>explodes</b>");
  await submit(page, "Pause all agents");
  const bar = one => one.locator(".linkbar", { hasText: "Agents paused since" });
  await bar(page).getByText("The bill <b>explodes</b>").waitFor();
  for (const path of ["/", "/agents", "/settings", "/usage"]) { await page.goto(base + path); await bar(page).waitFor(); }
  await openRoom(it, room);
  await bar(page).waitFor();
  // A member sees it, and cannot lift it.
  await other.page.goto(`${base}/organization`);
  await bar(other.page).waitFor();
  assert.equal(await other.page.getByRole("button", { name: /Resume/ }).count(), 0);

  await bar(page).getByRole("button", { name: "Resume" }).click();
  await submit(page, "Resume all agents");
  await bar(page).waitFor({ state: "detached" });
  assert.equal((await server.call("GET", "/me/organization")).pause, null);
  await bar(other.page).waitFor({ state: "detached" });
  assertClean(seen);
  assertClean(other.seen);
});

test("budgets_are_set_used_up_and_removed", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const echo = await server.agent("Echo");
  const room = await server.room("Work", echo);
  await logIn(it);
  await page.goto(`${base}/organization/limits`);
  const edit = async fields => {
    await page.getByRole("button", { name: "Set budgets" }).click();
    for (const [label, value] of fields) await page.getByLabel(label).fill(value);
    await submit(page, "Save");
  };
  await edit([["Organization, per day: tokens", "1000"], ["Agent, per day: tokens", "5000"], ["Room, per day: messages", "30"]]);
  await page.getByText("0 of 1,000 used today (0 %)").waitFor();
  const amounts = await server.call("GET", "/me/organization/budgets");
  assert.deepEqual([amounts.organization_tokens, amounts.agent_tokens, amounts.room_messages, amounts.tree_tokens], [1000, 5000, 30, null]);

  const used = count => until(`${count} are counted`, async () => (await server.call("GET", "/me/organization/budgets")).used_today.tokens >= count);
  await report(server, echo, room, 700, 150);
  await used(850);
  await page.reload();
  await page.getByText("850 of 1,000 used today (85 %)").waitFor();
  await page.getByText("almost used up").waitFor();
  await page.getByText("most today: Echo, 850 (17 %)").waitFor();
  await report(server, echo, room, 200, 0);
  await used(1050);
  await page.reload();
  await page.getByText("used up", { exact: true }).waitFor();

  // Nothing but what was changed is sent.
  await server.call("PATCH", "/me/organization/budgets", { budgets: { tree_messages: 77 } });
  await edit([["Organization, per day: tokens", ""]]);
  await page.getByText("used up", { exact: true }).waitFor({ state: "detached" });
  const left = await server.call("GET", "/me/organization/budgets");
  assert.deepEqual([left.organization_tokens, left.agent_tokens, left.tree_messages], [null, 5000, 77]);

  await page.getByRole("button", { name: "Change rules" }).click();
  await page.getByRole("radio", { name: "Hold" }).check({ force: true });
  await page.getByLabel("Replies of agents in a row").fill("12");
  await submit(page, "Save");
  await page.locator("dd", { hasText: "12" }).waitFor();
  const { foreign, max_hops, max_pair_messages } = await server.call("GET", "/me/organization");
  assert.deepEqual([foreign, max_hops, max_pair_messages], ["hold", 12, null]);
  assertClean(seen);
});

test("what_others_change_meanwhile_is_not_undone", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const writer = await server.agent("Writer");
  await logIn(it);
  await page.goto(`${base}/organization/limits`);
  await page.getByRole("button", { name: "Change rules" }).click();
  await page.getByLabel("Replies of agents in a row").fill("7");
  await server.call("PATCH", "/me/organization", { organization: { foreign: "hold" } });
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.locator("main dd", { hasText: "As with Label" }).waitFor();
  await submit(page, "Save");
  await page.locator("dialog").waitFor({ state: "detached" });
  const one = await server.call("GET", "/me/organization");
  assert.deepEqual([one.foreign, one.max_hops], ["hold", 7]);

  await page.getByRole("button", { name: "Set budgets" }).click();
  await page.getByLabel("Room, per day: messages").fill("20");
  await server.call("PATCH", "/me/organization/budgets", { budgets: { agent_messages: 34567 } });
  await page.getByText("34,567").waitFor({ timeout: 40_000 });
  await submit(page, "Save");
  await page.locator("dialog").waitFor({ state: "detached" });
  const budgets = await server.call("GET", "/me/organization/budgets");
  assert.deepEqual([budgets.agent_messages, budgets.room_messages], [34567, 20]);

  await page.goto(`${base}/agents/${writer.id}`);
  await page.getByRole("button", { name: "Edit" }).click();
  await page.locator("dialog").getByLabel("Name").fill("Author");
  await server.call("PATCH", `/me/agents/${writer.id}`, { agent: { description: "From elsewhere" } });
  await page.getByText("From elsewhere").waitFor();
  await submit(page, "Save");
  await page.locator("dialog").waitFor({ state: "detached" });
  const agent = await server.call("GET", `/me/agents/${writer.id}`);
  assert.deepEqual([agent.name, agent.description], ["Author", "From elsewhere"]);
  assertClean(seen);
});

test("the_audit_log_is_read_in_pages", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  for (let count = 0; count < 60; count++) await server.room(count === 59 ? "<i>last</i>" : `Room ${count}`);
  await logIn(it);
  await page.goto(`${base}/organization/audit`);
  const rows = page.locator(".lines li");
  await until("the first page", async () => (await rows.count()) === 50);
  await page.getByText("room created").first().waitFor();
  await rows.getByText("<i>last</i>").waitFor();
  // The second page fails once.
  it.console.faults.answer = request => (request.url.includes("audit") && request.url.includes("cursor") ? "cut" : null);
  await page.getByRole("button", { name: "Load more" }).click();
  await page.locator("main .fault:not(:empty)").waitFor();
  it.console.faults.answer = () => null;
  await page.getByRole("button", { name: "Try again" }).click();
  await until("the second page", async () => (await rows.count()) > 60);
  await page.getByLabel("Since").fill("2099-01-01");
  await page.getByText("No entries in this time.").waitFor();
  assertClean(seen);
});

test("usage_is_summed_up", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const [echo, scout] = [await server.agent("Echo"), await server.agent("Scout <script>")];
  const [work, mail] = [await server.room("Work", echo), await server.room("<b>Mail</b>", echo, scout)];
  await logIn(it);
  await page.goto(`${base}/usage`);
  await page.getByText("No usage was reported in this time.").waitFor();
  await report(server, echo, work, 1000, 200, { cache_read_tokens: 50 });
  await report(server, echo, mail, 300, 0);
  await report(server, scout, mail, 7, 0);
  await page.reload();
  const row = name => page.getByRole("row").filter({ has: page.getByRole("rowheader", { name }) });
  await row("Echo").getByRole("cell", { name: "1,550" }).waitFor();
  await row("Echo").getByText("1,300 input · 200 output · 50 cache read · 2 reports").waitFor();
  await row("Scout <script>").getByRole("cell", { name: "7", exact: true }).waitFor();
  await row("Total").getByRole("cell", { name: "1,557" }).waitFor();
  await page.getByLabel("By", { exact: true }).selectOption("room");
  await row("<b>Mail</b>").getByRole("cell", { name: "307" }).waitFor();
  await page.getByLabel("By", { exact: true }).selectOption("day");
  await until("one day", async () => (await page.locator("tbody tr").count()) === 1);
  await page.getByLabel("To", { exact: true }).fill("2020-01-31");
  await page.getByText("No usage was reported in this time.").waitFor();

  // The same of one agent, on its page.
  await page.goto(`${base}/agents/${scout.id}`);
  await row("Total").getByRole("cell", { name: "7", exact: true }).waitFor();

  // Admins see that of everybody.
  await bob(t, it);
  await page.goto(`${base}/organization/usage`);
  await row("Echo").getByRole("cell", { name: "1,550" }).waitFor();
  await page.getByLabel("By", { exact: true }).selectOption("owner");
  await row("@admin").getByRole("cell", { name: "1,557" }).waitFor();
  assertClean(seen);
});

test("usage_has_its_cost", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  server.environment.PARLANCE_CONFIG = join(server.directory, "parlance.toml");
  writeFileSync(server.environment.PARLANCE_CONFIG, 'price_currency = "USD"\n[prices."small-1"]\ninput = 2.5\noutput = 10\n');
  await server.stop();
  await server.run();
  const [echo, scout] = [await server.agent("Echo"), await server.agent("Scout")];
  await server.call("PATCH", `/me/agents/${echo.id}`, { agent: { model_type: "small-1" } });
  const room = await server.room("Work", echo, scout);
  await report(server, echo, room, 1_000_000, 25_000);
  await report(server, scout, room, 40, 2);
  await logIn(it);
  await page.goto(`${base}/usage`);
  const row = name => page.getByRole("row").filter({ has: page.getByRole("rowheader", { name }) });
  await row("Echo").getByRole("cell", { name: "2.75 USD" }).waitFor();
  await row("Scout").getByRole("cell", { name: "no price" }).waitFor();
  await row("Total").getByRole("cell", { name: "2.75 USD" }).waitFor();
  await page.getByText("42 tokens have no price and are not part of the cost.").waitFor();
  assertClean(seen);
});

test("an_agents_work_and_settings_are_on_its_page", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const echo = await server.agent("Echo");
  const room = await server.room("<u>Work</u>", echo);
  const ask = (path, body = {}) => server.call("POST", `/agent/chats/${room}${path}`, body, echo.key);
  const first = await server.say(room, "@admin/echo one", echo);
  const second = await server.say(room, "@admin/echo two", echo);
  await server.call("POST", `/me/work/${second.id}/${echo.id}/dead-letter`, { reason: "Not needed" });
  await ask(`/messages/${first.id}/processing`);
  await ask(`/messages/${first.id}/failed`, { error: "overloaded" });
  await ask(`/messages/${first.id}/processing`);
  await server.say(room, "@admin/echo three", echo);
  await logIn(it);
  await page.goto(`${base}/agents/${echo.id}`);
  const tally = page.locator(".tally");
  for (const text of ["2 open", "1 dead-lettered"]) await tally.getByText(text).waitFor();
  await page.getByText(/^Oldest: since .* in <u>Work/).waitFor();
  assert.equal(await page.getByRole("link", { name: "Show all" }).getAttribute("href"), `/console/work?state=open&agent=${echo.id}`);
  const line = page.locator("li", { has: page.getByRole("link", { name: "<u>Work</u>" }) });
  await line.getByText("working · attempt 2").last().waitFor();
  await page.getByRole("button", { name: "Interrupt in <u>Work</u>" }).click();
  await submit(page, "Interrupt");
  await page.getByText("Echo was told to end its open turns.").waitFor();
  assert.equal((await server.call("GET", "/me/organization/audit"))[0].action, "agent.interrupted");

  // What somebody else changes while the dialog is open stays; line breaks and commas too.
  await server.call("PATCH", `/me/agents/${echo.id}`, { agent: { description: "Answers.\nNothing else.", bio: "One\n\ntwo", tags: ["a, b"] } });
  await page.locator("dd", { hasText: "Nothing else." }).waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  assert.equal(await page.getByLabel("Tags").inputValue(), "a, b");
  // What somebody else changes meanwhile, and nobody edits here, stays.
  await server.call("PATCH", `/me/agents/${echo.id}`, { agent: { name: "Echo 2", description: "Repeats.", bio: "Three" } });
  await page.getByRole("heading", { name: "Echo 2", includeHidden: true }).waitFor();
  await page.getByLabel("Listed in the directory").check();
  await page.getByLabel("All rights when it works for others").check();
  assert.equal(await page.getByText("Agent card", { exact: true }).count(), 0);
  await page.getByLabel("Listed for A2A").check();
  await page.getByLabel("Model", { exact: true }).fill("small-1");
  await page.getByLabel("Tags").fill("notes\n\n <b>drafts</b>, old");
  await submit(page, "Save");
  await page.locator("dd", { hasText: "notes, <b>drafts</b>, old" }).waitFor();
  const after = await server.call("GET", `/me/agents/${echo.id}`);
  assert.deepEqual([after.listed_in_directory, after.foreign_access, after.a2a, after.shared_with_organization, after.model_type, after.tags], [true, true, true, false, "small-1", ["notes", "<b>drafts</b>, old"]]);
  assert.deepEqual([after.name, after.description, after.bio], ["Echo 2", "Repeats.", "Three"]);
  await page.getByRole("link", { name: `${base.replace(/\/console$/, "")}/a2a/${echo.id}/.well-known/agent-card.json`, exact: true }).waitFor();
  assertClean(seen);
});
