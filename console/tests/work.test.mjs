// The work that agents owe, across rooms: seen, filtered, retried, dead-lettered, and passed on.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertClean, closeBrowser, logIn, openRoom, until, world } from "./world.mjs";

after(closeBrowser);

const ask = (server, agent, method, path, body = {}) => server.call(method, `/agent${path}`, method === "GET" ? undefined : body, agent.key);
/** The agent fails at a message, this many times. */
async function fail(server, agent, room, message, error, times = 1) {
  for (let count = 0; count < times; count++) {
    await ask(server, agent, "POST", `/chats/${room}/messages/${message.id}/processing`);
    await ask(server, agent, "POST", `/chats/${room}/messages/${message.id}/failed`, { error });
  }
}
const work = (server, query) => server.call("GET", `/me/work?limit=100&${query}`);
const items = page => page.getByRole("list", { name: "Work items" }).getByRole("listitem").filter({ has: page.getByRole("checkbox") });
const shows = (page, count) => until(`${count} rows`, async () => (await items(page).count()) === count);
const dialog = page => page.locator("dialog[open]");
const gone = locator => locator.waitFor({ state: "detached" });
/** The page as it is for somebody who comes by a link. */
const visit = async ({ page, base }, path) => {
  await page.goto(base + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
};

test("failures_are_grouped_and_dead_lettered", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const reader = await server.agent("Reader");
  const rooms = [];
  const behind = [];
  for (const [title, number] of [["Plans", 529], ["Notes", 530]]) {
    const room = await server.room(title, writer, reader);
    const first = await server.say(room, "@admin/writer write the **announcement**", writer);
    behind.push(await server.say(room, "@admin/writer and a short one", writer));
    await fail(server, writer, room, first, `OverloadedError: ${number} the model is overloaded\n  at turn (agent.py:41)`, 3);
    rooms.push(room);
  }
  const quiet = await server.room("Quiet", reader);
  await fail(server, reader, quiet, await server.say(quiet, "@admin/reader read", reader), "KeyError: 'name'", 3);

  await logIn(it);
  // One line for each agent and room.
  await page.getByRole("link", { name: /^Inbox\s*, 3 wait for you$/ }).waitFor();
  await page.getByRole("link", { name: "Work", exact: true }).click();
  await shows(page, 3);
  const row = items(page).filter({ hasText: "Plans" });
  await row.getByText(/failed · failing · since .* · 3 attempts/).waitFor();
  await row.getByText("OverloadedError: 529 the model is overloaded").waitFor();
  await row.getByText("It is not connected.").waitFor();
  await row.locator("summary").click();
  await row.getByText("1 more message is waiting behind this one.").waitFor();
  assert.equal(await row.locator(".attempts > li").count(), 3);
  await row.getByText("at turn (agent.py:41)").first().waitFor();

  // Errors that differ in numbers are one group; choosing it sets the filter.
  const group = page.locator(".groups li").first();
  await group.getByText(/2 items · Writer · /).waitFor();
  await group.getByRole("link", { name: "OverloadedError: # the model is overloaded" }).click();
  await shows(page, 2);
  assert.equal(new URL(page.url()).searchParams.get("error"), "the model is overloaded");

  await page.getByLabel("Select all shown").check();
  await page.getByRole("button", { name: "Dead-letter…" }).click();
  await dialog(page).getByText("Dead-letter 2 items?").waitFor();
  await dialog(page).getByLabel("Reason").fill("The model is gone");
  await dialog(page).getByRole("button", { name: "Dead-letter", exact: true }).click();
  await dialog(page).getByText("2 items dead-lettered.").waitFor();
  await dialog(page).getByRole("button", { name: "Done" }).click();
  await page.getByText("Nothing here").waitFor();
  await page.getByRole("link", { name: /^Inbox\s*, 1 waits for you$/ }).waitFor();

  // The agent goes on with what waited behind, and the audit log says who did it.
  for (const [at, room] of rooms.entries()) assert.equal((await ask(server, writer, "GET", `/chats/${room}/messages/next`)).id, behind[at].id);
  const me = await server.call("GET", "/me/profile");
  const entries = (await server.call("GET", "/me/organization/audit?limit=50")).filter(one => one.action === "work.dead_lettered");
  assert.deepEqual(entries.map(one => one.actor.id), [me.id, me.id]);

  await page.getByRole("link", { name: "Dead-lettered" }).click();
  await page.getByRole("link", { name: "Clear filters" }).click();
  await shows(page, 2);
  await items(page).first().locator("summary").click();
  await items(page).first().getByText(/Dead-lettered at .*: The model is gone/).waitFor();
  // The link leads to the message in its room.
  await items(page).first().getByRole("link", { name: "Plans" }).click();
  await page.locator(".target .delivery.dead").waitFor();
  // And from the room and the agent back to their work.
  await page.getByRole("button", { name: "More actions", exact: true }).click();
  await page.getByRole("menuitem", { name: "Work in this room" }).click();
  await shows(page, 1);
  await visit(it, `/agents/${writer.id}`);
  await page.getByRole("link", { name: "Show all" }).click();
  await shows(page, 2);
  assertClean(seen);
});

test("all_that_match_are_retried", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  let made = 0;
  for (const title of ["One", "Two"]) {
    const room = await server.room(title, writer);
    for (let count = 0; count < 65; count++) {
      const message = await server.say(room, `@admin/writer number ${made}`, writer);
      await fail(server, writer, room, message, made++ % 2 === 0 ? "Timeout" : "Overloaded");
    }
  }
  await logIn(it);
  await visit(it, "/work?state=failed");
  await shows(page, 100);
  await page.getByText("Covers the 100 loaded items only.").waitFor();
  await page.getByRole("button", { name: "Load more" }).focus();
  await page.keyboard.press("Enter");
  await shows(page, 130);
  // The button has gone with the last page, and the focus is not lost.
  await until("the heading has the focus", () => page.evaluate(() => document.activeElement?.tagName === "H1"));
  await page.reload();
  await shows(page, 100);

  // By error, each is changed as it was shown.
  await page.getByLabel("Error contains").fill("timeout");
  await page.getByRole("button", { name: "Filter" }).click();
  await shows(page, 65);
  await page.getByLabel("Select all shown").check();
  await page.getByRole("button", { name: "Retry", exact: true }).click();
  await dialog(page).getByText("Retry 65 items?").waitFor();
  await dialog(page).getByRole("button", { name: "Retry", exact: true }).click();
  await dialog(page).getByText("65 items retried.").waitFor();
  await dialog(page).getByRole("button", { name: "Done" }).click();
  assert.equal((await work(server, "state=failed")).length, 65);

  // All that match are those that were counted, and not what comes later.
  await page.getByRole("link", { name: "All open" }).click();
  await page.getByRole("link", { name: "Clear filters" }).click();
  await shows(page, 100);
  await page.getByLabel("Select all shown").check();
  await page.getByRole("button", { name: "Select all matching items" }).click();
  await page.getByRole("button", { name: "Dead-letter…" }).click();
  await dialog(page).getByText("Dead-letter 130 items?").waitFor();
  const late = await server.say(await server.room("Late", writer), "@admin/writer something new", writer);
  await dialog(page).getByLabel("Reason").fill("Start again");
  await dialog(page).getByRole("button", { name: "Dead-letter", exact: true }).click();
  await dialog(page).getByText("130 items dead-lettered.").waitFor({ timeout: 60_000 });
  await dialog(page).getByRole("button", { name: "Done" }).click();
  await shows(page, 1);
  assert.equal((await server.call("GET", `/me/work/${late.id}/${writer.id}`)).state, "new");
  await page.getByRole("link", { name: "Dead-lettered" }).click();
  await shows(page, 100);
  await page.getByLabel("Select all shown").check();
  await page.getByRole("button", { name: "Select all matching items" }).click();
  await page.getByRole("button", { name: "Retry", exact: true }).click();
  await dialog(page).getByText("Retry 130 items?").waitFor();
  await dialog(page).getByRole("button", { name: "Retry", exact: true }).click();
  await dialog(page).getByText("130 items retried.").waitFor({ timeout: 60_000 });
  await dialog(page).getByRole("button", { name: "Done" }).click();
  await page.getByText("Nothing here").waitFor();
  assert.deepEqual(await work(server, "state=dead"), []);
  assertClean(seen);
});

test("a_run_over_many_can_be_stopped_and_tells_what_was_refused", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const reader = await server.agent("Reader");
  const room = await server.room("Both", writer, reader);
  const alone = await server.room("Alone", writer);
  const made = [];
  for (const [where, count] of [[room, 2], [alone, 1]]) for (let number = 0; number < count; number++) made.push(await server.say(where, "@admin/writer do it", writer));
  await logIn(it);
  await visit(it, "/work?state=new,delivered");
  await shows(page, 3);
  await page.getByLabel("Select all shown").check();
  // One is done meanwhile, and the agent is not in one of the rooms.
  await ask(server, writer, "POST", `/chats/${room}/messages/${made[0].id}/processing`);
  await ask(server, writer, "POST", `/chats/${room}/messages/${made[0].id}/processed`);
  await page.getByRole("button", { name: "Reassign…" }).click();
  await dialog(page).getByText("Reassign 3 items?").waitFor();
  await dialog(page).getByLabel("Agent", { exact: true }).selectOption({ label: "Reader (@admin/reader)" });
  await dialog(page).getByRole("button", { name: "Reassign", exact: true }).click();
  await dialog(page).getByText("1 item reassigned.").waitFor();
  assert.equal(await dialog(page).getByText(/1 item not changed: /).count(), 2);
  await dialog(page).getByRole("button", { name: "Done" }).click();
  assert.equal((await work(server, `agent_id=${reader.id}`)).length, 1);

  // Stopped in the middle.
  for (let number = 0; number < 30; number++) await server.say(alone, "@admin/writer more", writer);
  await visit(it, `/work?state=new,delivered&agent=${writer.id}`);
  await shows(page, 31);
  await page.getByLabel("Select all shown").check();
  const held = [];
  let sent = 0;
  await page.route("**/dead-letter", async route => {
    if (++sent > 6) await new Promise(resolve => held.push(resolve));
    await route.continue();
  });
  await page.getByRole("button", { name: "Dead-letter…" }).click();
  await dialog(page).getByLabel("Reason").fill("Enough");
  await dialog(page).getByRole("button", { name: "Dead-letter", exact: true }).click();
  await dialog(page).getByText("6 of 31 done").waitFor();
  await dialog(page).getByRole("button", { name: "Stop" }).click();
  for (const resolve of held) resolve();
  await dialog(page).getByText("Stopped before the end.").waitFor();
  await dialog(page).getByText("12 items dead-lettered.").waitFor();
  assert.equal((await work(server, "state=dead")).filter(one => !one.replaced_by).length, 12);
  assertClean(seen);
});

test("filters_stay_in_the_address", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const reader = await server.agent("<img src=x onerror=alert(1)> Reader");
  const plans = await server.room("Plans", writer, reader);
  const notes = await server.room("<b>Notes</b>", writer);
  for (const [room, agent] of [[plans, writer], [plans, reader], [notes, writer]]) {
    await fail(server, agent, room, await server.say(room, "please <script>alert(1)</script>", agent), "<b>Broken</b>\u202e pipe");
  }
  await logIn(it);
  await visit(it, "/work?state=failed");
  await shows(page, 3);
  assert.equal(await page.locator("main img, main b:not(:empty)").filter({ hasText: "Broken" }).count(), 0);
  assert.equal(await page.locator(".item .who", { hasText: "<img src=x onerror=alert(1)> Reader" }).count(), 1);
  await page.getByLabel("Agent", { exact: true }).focus();
  await page.getByLabel("Agent", { exact: true }).selectOption({ label: "Writer" });
  await shows(page, 2);
  // The focus stays where it was.
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "SELECT");
  await page.getByLabel("Room", { exact: true }).selectOption({ label: "<b>Notes</b>" });
  await shows(page, 1);
  await page.getByLabel("Error contains").fill("broken");
  await page.keyboard.press("Enter");
  await until("the error is in the address", () => page.url().includes("error=broken"));
  await page.reload();
  await shows(page, 1);
  assert.equal(await page.getByLabel("Agent", { exact: true }).inputValue(), writer.id);
  assert.equal(await page.getByLabel("Room", { exact: true }).inputValue(), notes);
  assert.equal(await page.getByLabel("Error contains").inputValue(), "broken");
  assert.equal(await page.getByRole("link", { name: "Failed", exact: true }).getAttribute("aria-current"), "page");
  await page.goBack();
  await page.goBack();
  await shows(page, 2);
  assert.equal(await page.getByLabel("Room", { exact: true }).inputValue(), "");
  assert.equal(await page.getByLabel("Error contains").inputValue(), "");
  await page.goBack();
  await shows(page, 3);
  assertClean(seen);
});

test("work_in_another_state_than_shown_is_left_alone", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const room = await server.room("Plans", writer);
  const message = await server.say(room, "@admin/writer please", writer);
  await fail(server, writer, room, message, "Timeout");
  await logIn(it);
  await visit(it, "/work?state=failed");
  await items(page).locator("summary").click();
  await page.locator(".item .actions").waitFor();
  // A retry of dead work would do, but what was shown was work that has failed.
  await server.call("POST", `/me/work/${message.id}/${writer.id}/dead-letter`, { reason: "Elsewhere" });
  await page.getByRole("button", { name: "Retry" }).click();
  await page.locator(".notice.error").waitFor();
  await items(page).getByText(/^dead-lettered · /).waitFor();
  assert.equal((await server.call("GET", `/me/work/${message.id}/${writer.id}`)).state, "dead");
  assertClean(seen);
});

test("a_turn_is_interrupted_and_a_message_is_reassigned", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const reader = await server.agent("Reader");
  const room = await server.room("Plans", writer, reader);
  const first = await server.say(room, "@admin/writer please", writer);
  await ask(server, writer, "POST", `/chats/${room}/messages/${first.id}/processing`);
  const second = await server.say(room, "@admin/writer and this", writer);
  await logIn(it);
  await visit(it, "/work?state=processing");
  await items(page).locator("summary").click();
  await page.getByRole("button", { name: "Interrupt" }).click();
  await dialog(page).getByRole("heading", { name: "Interrupt Writer?" }).waitFor();
  await dialog(page).getByRole("button", { name: "Interrupt", exact: true }).click();
  await page.getByText("Writer was told to end its open turns.").waitFor();
  assert.ok((await server.call("GET", "/me/organization/audit?limit=50")).some(one => one.action === "agent.interrupted"));

  await page.getByRole("link", { name: "Waiting" }).click();
  await shows(page, 1);
  await items(page).locator("summary").click();
  await page.getByRole("button", { name: "Reassign…" }).click();
  await dialog(page).getByLabel("Agent", { exact: true }).selectOption({ label: "Reader (@admin/reader)" });
  await dialog(page).getByLabel("Reason (optional)").fill("Writer is busy");
  await dialog(page).getByRole("button", { name: "Reassign", exact: true }).click();
  await items(page).getByText("Replaced by a new message.").waitFor();
  assert.equal((await server.call("GET", `/me/work/${second.id}/${writer.id}`)).state, "dead");
  assert.equal((await work(server, `agent_id=${reader.id}`)).length, 1);
  assertClean(seen);
});

test("an_admin_sees_the_work_of_the_organization", async t => {
  const it = await world(t);
  const { page, base, server, context, seen } = it;
  const { name } = await server.call("GET", "/me/organization");
  const key = server.user("bob", "Bob Ray", name);
  const { agent, credentials } = await server.call("POST", "/me/agents/register", { agent: { name: "Helper", description: "Helps" } }, key);
  const room = await server.call("POST", "/me/chats", { chat: { title: "Of Bob" } }, key);
  await server.call("POST", `/me/chats/${room.id}/participants`, { participant: { participant_id: agent.id } }, key);
  const message = await server.call("POST", `/me/chats/${room.id}/messages`, { message: { content: "@bob/helper secret", mentions: [{ id: agent.id }] } }, key);
  await fail(server, { key: credentials.api_key }, room.id, message, "A secret", 3);
  await logIn(it);
  await visit(it, "/work");
  await page.getByText("No work needs attention").waitFor();
  await page.getByRole("main").getByRole("link", { name: "Organization" }).click();
  await shows(page, 1);
  await items(page).getByText("You are not in this room, so its text is not shown.").waitFor();
  assert.equal(await page.getByText("secret").count(), 0);
  assert.equal(await items(page).getByRole("link").count(), 0);
  await items(page).locator("summary").click();
  await page.getByRole("button", { name: "Dead-letter…" }).click();
  await dialog(page).getByLabel("Reason").fill("Bob is away");
  await dialog(page).getByRole("button", { name: "Dead-letter", exact: true }).click();
  await items(page).getByText(/^dead-lettered · /).waitFor();
  assert.equal((await server.call("GET", `/me/work/${message.id}/${agent.id}`, undefined, key)).dead_reason, "Bob is away");
  assertClean(seen);

  // A member sees no switch, and an address that asks for it is refused.
  const other = await context.browser().newContext();
  t.after(() => other.close());
  const tab = await other.newPage();
  await logIn({ page: tab, base, server: { key } });
  await visit({ page: tab, base }, "/work");
  await tab.getByText("No work needs attention").waitFor();
  assert.equal(await tab.getByRole("main").getByRole("link", { name: "Organization" }).count(), 0);
  await visit({ page: tab, base }, "/work?scope=organization");
  await tab.locator(".fault:not(:empty)").waitFor();
});

test("the_list_of_work_survives_a_failing_server", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const room = await server.room("Plans", writer);
  await server.say(room, "@admin/writer please", writer);
  await logIn(it);
  let isBroken = true;
  it.console.faults.answer = request => (isBroken && request.url.includes("/me/work") ? "gateway" : null);
  await visit(it, "/work?state=open");
  await page.locator(".fault", { hasText: "Bad gateway" }).waitFor();
  isBroken = false;
  await page.getByRole("button", { name: "Refresh" }).click();
  await shows(page, 1);
  assert.equal(await page.locator(".fault:not(:empty)").count(), 0);
  // A list that nobody touches follows what happens.
  const message = (await work(server, ""))[0];
  await ask(server, writer, "POST", `/chats/${room}/messages/${message.message_id}/processing`);
  await items(page).getByText(/^working · /).waitFor();
  await ask(server, writer, "POST", `/chats/${room}/messages/${message.message_id}/processed`);
  await page.getByText("Nothing here").waitFor();
  assertClean(seen);
});

test("work_by_keyboard", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const room = await server.room("Plans", writer);
  await fail(server, writer, room, await server.say(room, "@admin/writer please", writer), "Timeout");
  await logIn(it);
  await page.getByRole("heading", { level: 1 }).focus();
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await until("the heading has the focus", () => page.evaluate(() => document.activeElement?.tagName === "H1" && document.activeElement.textContent === "Work"));
  const reach = async (what, key = "Tab") => {
    for (let count = 0; count < 60; count++) {
      if (await page.evaluate(what)) return;
      await page.keyboard.press(key);
    }
    throw new Error(`${key} does not reach ${what}`);
  };
  await reach("document.activeElement.textContent === 'Failed'");
  await page.keyboard.press("Enter");
  await shows(page, 1);
  await reach("document.activeElement.matches('.item .pick input')");
  await page.keyboard.press("Space");
  await page.getByText("1 selected").waitFor();
  await reach("document.activeElement.matches('.item summary')");
  await page.keyboard.press("Enter");
  await page.locator(".item .actions").waitFor();
  await reach("document.activeElement.textContent === 'Dead-letter…' && document.activeElement.closest('.item') !== null");
  await page.keyboard.press("Enter");
  await page.keyboard.type("Not needed");
  await page.keyboard.press("Enter");
  await items(page).getByText(/^dead-lettered · /).waitFor();
  await until("the line has the focus", () => page.evaluate(() => document.activeElement?.matches(".item summary")));
  assertClean(seen);
});

test("what_followed_from_a_message_is_a_tree", async t => {
  const it = await world(t, { viewport: { width: 390, height: 844 } });
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const reader = await server.agent("Reader");
  const HOPS = 56;
  const room = await server.room("Talk", writer, reader);
  await server.call("PATCH", `/me/chats/${room}`, { chat: { max_hops: HOPS - 1 } });
  const other = await server.room("Elsewhere", writer, reader);
  await server.call("PATCH", `/me/chats/${other}`, { chat: { max_hops: 1 } });
  let elsewhere;
  const root = await server.say(room, "@admin/writer talk to the reader", writer);
  let last = root.id;
  for (let hop = 1; hop <= HOPS; hop++) {
    const [from, to] = hop % 2 === 1 ? [writer, reader] : [reader, writer];
    await ask(server, from, "POST", `/chats/${room}/messages/${last}/processing`);
    if (hop === 1) for (const content of ["I think", "I think more"]) await ask(server, from, "POST", `/chats/${room}/events`, { event: { content, message_type: "thought", metadata: {} } });
    if (hop === 1) await ask(server, from, "POST", `/chats/${room}/messages`, { message: { content: "@admin/reader a branch", mentions: [{ id: to.id }] } });
    // What follows in another room is held as well.
    if (hop === 3) elsewhere = await ask(server, from, "POST", `/chats/${other}/messages`, { message: { content: "@admin/reader elsewhere", mentions: [{ id: to.id }] } });
    const sent = await ask(server, from, "POST", `/chats/${room}/messages`, { message: { content: `@${to.handle} hop ${hop}`, mentions: [{ id: to.id }] } });
    await ask(server, from, "POST", `/chats/${room}/messages/${last}/processed`);
    last = sent.id;
  }
  await logIn(it);
  await openRoom(it, room);
  await page.locator(`#row-${last} .tools button`).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Show what followed from this" }).click();
  await page.getByRole("heading", { name: "What followed" }).waitFor();
  await page.locator(`#tree-${last}.here`).waitFor();
  // The root, two answers of the first hop, and those of the others. The loop guard has told the other room of the tree.
  await until("all are there", async () => (await page.locator(".tree article").count()) === HOPS + 2);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  const wide = await page.locator(`#tree-${last}`).boundingBox();
  assert.ok(wide.width > 220, `a deep message is ${wide.width} px wide`);
  await page.locator(".tree .steps", { hasText: "2 steps" }).waitFor();
  await page.locator(`#tree-${last}`).getByText(`hop ${HOPS}`, { exact: true }).waitFor();
  // Two messages follow from the first; the later one says so.
  assert.equal(await page.locator(".tree article > .hint", { hasText: /^follows from/ }).count(), 1);
  await page.getByText(/No tokens reported · 1 delivery held/).waitFor();
  await page.getByRole("button", { name: "Release what is held" }).click();
  await dialog(page).getByText("Release 1 message?").waitFor();
  await dialog(page).getByRole("button", { name: "Release", exact: true }).click();
  await dialog(page).getByText("1 message released.").waitFor();
  await dialog(page).getByRole("button", { name: "Done" }).click();
  await gone(page.locator(`#tree-${last} .delivery.held`));
  assert.equal((await server.call("GET", `/me/work/${elsewhere.id}/${reader.id}`)).state, "held");
  // What comes later appears.
  const unrelated = await server.say(room, "@admin/writer something else", writer);
  await ask(server, writer, "POST", `/chats/${room}/messages/${last}/processing`);
  const later = await ask(server, writer, "POST", `/chats/${room}/messages`, { message: { content: "@admin/reader later", mentions: [{ id: reader.id }] } });
  await page.locator(`#tree-${later.id}`).waitFor();
  assert.equal(await page.locator(`#tree-${unrelated.id}`).count(), 0);
  await page.locator(`#tree-${last}`).getByRole("link", { name: "Show in room" }).click();
  await page.locator(`#row-${last}.target`).waitFor();
  // A message that is not there.
  await visit(it, `/rooms/${room}/tree/00000000-0000-7000-8000-000000000000`);
  await page.locator(".fault:not(:empty)").waitFor();
  assertClean(seen);
});
