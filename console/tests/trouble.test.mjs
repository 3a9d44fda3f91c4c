// What hostile agents, failing networks, other tabs, and impatient people do to the page.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertClean, closeBrowser, logIn, openRoom, shownTexts, until, world } from "./world.mjs";

after(closeBrowser);

const composer = page => page.getByLabel("Message", { exact: true });
const event = (server, room, agent, message_type, content, metadata = {}) =>
  server.call("POST", `/agent/chats/${room}/events`, { event: { content, message_type, metadata } }, agent.key);
/** The key of another member of the organization. */
const invited = async (server, handle) => {
  const { name } = await server.call("GET", "/me/organization");
  return server.user(handle, `${handle} Ray`, name);
};
const shows = (it, room) => until("the page shows what the server has", async () =>
  JSON.stringify(await shownTexts(it.page)) === JSON.stringify((await it.server.texts(room)).slice(-(await shownTexts(it.page)).length)));

/** Another tab logs in with a key, without a log-out before. */
async function logInElsewhere({ context, base }, key) {
  const tab = await context.newPage();
  await tab.goto(`${base}/settings`);
  await tab.getByRole("navigation").waitFor();
  await tab.evaluate(async api_key => {
    const answer = await fetch("/console/session", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ api_key }) });
    if (!answer.ok) throw new Error(await answer.text());
    new BroadcastChannel("parlance").postMessage("in");
  }, key);
}

test("a_hidden_page_loses_no_change", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  // A hidden page draws no frames.
  await page.addInitScript(() => {
    globalThis.isHidden = false;
    const frame = requestAnimationFrame;
    globalThis.requestAnimationFrame = work => (globalThis.isHidden ? 0 : frame.call(globalThis, work));
    Object.defineProperty(document, "hidden", { get: () => globalThis.isHidden });
    Object.defineProperty(document, "visibilityState", { get: () => (globalThis.isHidden ? "hidden" : "visible") });
  });
  const agent = await server.agent("Writer");
  const room = await server.room("Hidden", agent);
  await server.say(room, "before");
  await logIn(it);
  await openRoom(it, room);
  await until("the text is there", async () => (await shownTexts(page)).length === 1);
  await page.evaluate(() => { globalThis.isHidden = true; });
  const edited = await server.say(room, "@admin/writer frist", agent);
  await server.call("PATCH", `/me/chats/${room}/messages/${edited.id}`, { message: { content: "@admin/writer first" } });
  const deleted = await server.say(room, "not for long");
  await server.call("DELETE", `/me/chats/${room}/messages/${deleted.id}`);
  await event(server, room, agent, "thought", "thinking");
  const last = await server.say(room, "last");
  await until("the page has the last", () => page.evaluate(id => document.getElementById(`row-${id}`) !== null, last.id));
  const texts = await page.$$eval("[data-text] .md", rows => rows.map(row => row.textContent));
  assert.deepEqual([texts.length, texts[0], /first/.test(texts[1]), texts[2]], [3, "before", true, "last"]);
  assert.equal(await page.evaluate(() => document.querySelectorAll(".steps").length), 1);
  assertClean(seen);
});

test("more_events_than_fit_make_the_page_read_again", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const room = await server.room("Flood");
  await server.say(room, "before");
  await logIn(it);
  await openRoom(it, room);
  await until("the text is there", async () => (await shownTexts(page)).length === 1);
  // The answer to a read is old when it arrives, and too much has been pushed since.
  let release;
  const held = new Promise(resolve => { release = resolve; });
  let asked = 0;
  await page.route(/messages\?.*message_types=text/, async route => {
    const answer = await route.fetch();
    if (asked++ === 0) await held;
    await route.fulfill({ response: answer });
  });
  it.console.cut();
  await until("the page reads", () => asked > 0);
  for (let batch = 0; batch < 44; batch++) await Promise.all(Array.from({ length: 25 }, (_, at) => server.say(room, `flood ${batch * 25 + at}`)));
  release();
  await until("it reads again", () => asked > 1);
  await page.getByRole("button", { name: /new|newest/ }).click({ timeout: 1500 }).catch(() => undefined);
  await until("it has the newest", async () => (await shownTexts(page)).at(-1) === (await server.texts(room)).at(-1));
  await shows(it, room);
  assertClean(seen);
});

test("what_is_not_sent_stays", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const room = await server.room("Unsent");
  await logIn(it);
  await openRoom(it, room);
  const asksBeforeClosing = () => page.evaluate(() => !dispatchEvent(new Event("beforeunload", { cancelable: true })));
  assert.equal(await asksBeforeClosing(), false);
  await page.route("**/messages", route => (route.request().method() === "POST"
    ? route.fulfill({ status: 403, json: { error: { code: "limit_reached", message: "Not now.", request_id: "r" } } }) : route.continue()));
  await composer(page).fill("keep me");
  await page.keyboard.press("Enter");
  await page.getByText("Not sent. Not now.").waitFor();
  await page.getByRole("navigation").getByRole("link", { name: "Settings" }).click();
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  assert.equal(await asksBeforeClosing(), true);
  await page.getByRole("link", { name: "Unsent" }).click();
  await page.getByText("Not sent. Not now.").waitFor();
  await page.unroute("**/messages");
  await page.getByRole("button", { name: "Send again" }).click();
  await until("it is sent", async () => (await shownTexts(page)).length === 1 && (await page.locator(".pending").count()) === 0);
  assert.equal(await asksBeforeClosing(), false);
  assertClean(seen);
});

test("another_user_gets_nothing_of_the_first", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const key = await invited(server, "bob");
  const bob = await server.call("GET", "/me/profile", undefined, key);
  // Both may write in the room, so a text of the one could be sent with the token of the other.
  const room = await server.room("Both", bob);
  await logIn(it);
  await openRoom(it, room);
  await page.route("**/messages", route => (route.request().method() === "POST" ? route.fulfill({ status: 503, json: { error: { code: "unavailable", message: "Busy", request_id: "r" } } }) : route.continue()));
  await composer(page).fill("in the name of Ann");
  await page.keyboard.press("Enter");
  await page.getByText("Sending…").waitFor();
  await composer(page).fill("a draft of Ann");
  const other = await server.room("Of the admin alone");
  await page.getByRole("link", { name: "Of the admin alone" }).waitFor();

  // Another tab logs in as somebody else without a log-out.
  await logInElsewhere(it, key);
  await page.getByRole("navigation").getByText("bob Ray").waitFor();
  await page.unroute("**/messages");
  await composer(page).waitFor();
  assert.equal(await composer(page).inputValue(), "");
  assert.equal(await page.locator(".pending").count(), 0);
  assert.equal(await page.getByRole("link", { name: "Of the admin alone" }).count(), 0);
  assert.doesNotMatch(await page.evaluate(() => JSON.stringify({ ...sessionStorage })), /draft of Ann/);
  // Longer than the outbox waits for its next try.
  await new Promise(resolve => setTimeout(resolve, 3000));
  assert.deepEqual(await server.texts(room), []);
  // The room is live for the second one.
  const said = await server.say(room, "hello Bob");
  await page.locator(`#row-${said.id}`).waitFor();
  assert.ok(other);
  assertClean(seen);
});

test("an_answer_for_the_first_user_does_not_reach_the_second", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  await server.agent("Confidential");
  const key = await invited(server, "bob");
  await logIn(it);
  let release;
  let isFirst = true;
  await page.route("**/me/peers?*", async route => {
    if (!isFirst) return route.continue();
    isFirst = false;
    const answer = await route.fetch();
    await new Promise(go => { release = go; });
    await route.fulfill({ response: answer });
  });
  await page.keyboard.press("Control+k");
  await until("the answer is held", () => release);
  await logInElsewhere(it, key);
  await page.getByRole("navigation").getByText("bob Ray").waitFor();
  const own = page.waitForResponse(/\/me\/peers\?/);
  await page.keyboard.press("Control+k");
  await own;
  const late = page.waitForEvent("requestfinished", request => request.url().includes("/me/peers"));
  release();
  await late;
  await page.getByRole("combobox").fill("con");
  await page.evaluate(() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.equal(await page.getByRole("option", { name: /Confidential/ }).count(), 0);
  assert.equal(await page.locator(".notice.error").count(), 0);
  assertClean(seen);
});

for (const fault of ["cut", "gateway"]) {
  test(`a_log_out_that_failed_says_so_and_is_repeated: ${fault}`, async t => {
    const it = await world(t);
    const { page, context, base, server, seen } = it;
    const room = await server.room("Draft");
    await logIn(it);
    await openRoom(it, room);
    await composer(page).fill("a secret draft");
    const cookie = async () => (await context.cookies(`${base}/session`)).find(one => one.name === "parlance_session");
    assert.ok(await cookie());
    await page.route("**/console/session", route => (route.request().method() !== "DELETE" ? route.continue()
      : fault === "cut" ? route.abort() : route.fulfill({ status: 502, body: "Bad gateway" })));
    await page.getByRole("button", { name: "Log out" }).first().click();
    await page.getByText("You may still be logged in on this browser").waitFor();
    assert.ok(await cookie());
    assert.doesNotMatch(await page.evaluate(() => JSON.stringify({ ...sessionStorage })), /secret draft/);
    // It is still so after another failed start; nobody is logged in by the cookie.
    await page.reload();
    await page.getByText("You may still be logged in on this browser").waitFor();
    await page.unroute("**/console/session");
    await page.reload();
    await page.getByLabel("Password").waitFor();
    await until("the cookie is gone", async () => !(await cookie()));
    assert.equal(await page.getByText("You may still be logged in").count(), 0);
    assertClean(seen);
  });
}

test("only_a_refusal_ends_a_session", async t => {
  const it = await world(t);
  const { page, base, seen } = it;
  await logIn(it);
  for (const status of [403, 404, 500]) {
    await page.route("**/console/session/token", route => route.fulfill({ status, body: "<html>a proxy</html>" }));
    await page.goto(`${base}/settings`);
    await page.getByText("Connecting to the server").waitFor();
    await page.unroute("**/console/session/token");
    await page.getByRole("heading", { name: "Settings" }).waitFor();
  }
  await page.route("**/console/session/token", route => route.fulfill({ status: 401, json: { error: { code: "unauthorized", message: "No", request_id: "r" } } }));
  await page.goto(`${base}/settings`);
  await page.getByLabel("Password").waitFor();
  assertClean(seen);
});

test("attention_says_whose_it_is", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const room = await server.room("Attention", writer);
  await event(server, room, writer, "attention", "The server needs your password. **Now.**", { kind: "failure", blocking: true, held_by: "max_hops" });
  await logIn(it);
  await openRoom(it, room);
  const row = page.locator(".attention");
  await row.getByText("Needs attention, says Writer.").waitFor();
  await row.locator(".face.agent").waitFor();
  await row.getByText("The server needs your password. **Now.**").waitFor();
  assertClean(seen);
});

test("only_those_who_were_picked_are_added_and_once", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const translator = await server.agent("Translator");
  const room = await server.room("Picked");
  const people = async () => (await server.call("GET", `/me/chats/${room}/participants`)).map(one => one.id);
  await logIn(it);
  await openRoom(it, room);
  // The list was open once; the handle came by pasting.
  await composer(page).pressSequentially("@");
  await page.getByRole("option", { name: /Translator/ }).waitFor();
  await page.keyboard.press("Escape");
  await composer(page).fill("from a log: @admin/translator failed");
  await page.keyboard.press("Enter");
  await until("it is sent", async () => (await shownTexts(page)).length === 1);
  assert.equal((await people()).includes(translator.id), false);

  // Whoever is picked stays picked in the draft.
  await composer(page).pressSequentially("@wri");
  await page.getByRole("option", { name: /Writer.*add to room/ }).click();
  await composer(page).pressSequentially("hello");
  await page.reload();
  await page.getByText("Adds Writer to the room").waitFor();
  // Adding fails: the text comes back.
  await page.route("**/participants", route => (route.request().method() === "POST"
    ? route.fulfill({ status: 403, json: { error: { code: "limit_reached", message: "The room is full.", request_id: "r" } } }) : route.continue()));
  await composer(page).press("Enter");
  await page.getByText("The room is full.").waitFor();
  assert.equal(await composer(page).inputValue(), "@admin/writer hello");
  await page.unroute("**/participants");
  // Enter twice while it takes its time.
  let release;
  const held = new Promise(resolve => { release = resolve; });
  await page.route("**/participants", async route => { if (route.request().method() === "POST") await held; await route.continue(); });
  await composer(page).press("Enter");
  await composer(page).press("Enter");
  assert.equal(await composer(page).inputValue(), "");
  release();
  await until("it is sent", async () => (await shownTexts(page)).length >= 2 && (await page.locator(".pending").count()) === 0);
  assert.equal((await server.texts(room)).length, 2);
  assert.equal((await people()).includes(writer.id), true);
  await page.unroute("**/participants");
  assertClean(seen);
});

test("who_is_removed_is_told", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const key = await invited(server, "bob");
  const me = await server.call("GET", "/me/profile");
  const room = (await server.call("POST", "/me/chats", { chat: { title: "Of Bob" } }, key)).id;
  const add = () => server.call("POST", `/me/chats/${room}/participants`, { participant: { participant_id: me.id } }, key);
  const remove = () => server.call("DELETE", `/me/chats/${room}/participants/${me.id}`, undefined, key);
  const told = async () => {
    await page.getByRole("heading", { name: "You are no longer in this room." }).waitFor();
    assert.equal(await composer(page).count(), 0);
  };
  await add();
  await logIn(it);
  await openRoom(it, room);
  await page.route("**/messages", route => (route.request().method() === "POST"
    ? route.fulfill({ status: 403, json: { error: { code: "limit_reached", message: "Not now.", request_id: "r" } } }) : route.continue()));
  await composer(page).fill("never sent");
  await page.keyboard.press("Enter");
  await page.getByText("Not sent. Not now.").waitFor();
  assert.equal(await page.evaluate(() => !dispatchEvent(new Event("beforeunload", { cancelable: true }))), true);
  await page.unroute("**/messages");
  await remove();
  await told();
  // There is nothing left to ask about what could not be sent there.
  assert.equal(await page.evaluate(() => !dispatchEvent(new Event("beforeunload", { cancelable: true }))), false);
  // Back in the room, it is live again.
  await add();
  await composer(page).waitFor();
  const said = await server.call("POST", `/me/chats/${room}/messages`, { message: { content: "welcome back", mentions: [] } }, key);
  await page.locator(`#row-${said.id}`).waitFor();
  // The same while the socket is away.
  await it.context.setOffline(true);
  it.console.cut();
  await remove();
  await it.context.setOffline(false);
  await told();
  assertClean(seen);
});

test("all_steps_are_within_reach", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const agent = await server.agent("Busy");
  const room = await server.room("Steps", agent);
  const me = await server.call("GET", "/me/profile");
  await server.say(room, "begin");
  const long = `begin ${"x".repeat(15_000)} the end`;
  await event(server, room, agent, "tool_result", long, { note: "y".repeat(5000) });
  for (let batch = 0; batch < 25; batch++) await Promise.all(Array.from({ length: 10 }, (_, at) => event(server, room, agent, "thought", `step ${batch * 10 + at}`)));
  await server.call("POST", `/agent/chats/${room}/messages`, { message: { content: "@admin done", mentions: [{ id: me.id }] } }, agent.key);
  await server.say(room, "thanks");
  for (let batch = 0; batch < 11; batch++) await Promise.all(Array.from({ length: 10 }, (_, at) => event(server, room, agent, "thought", `later ${batch * 10 + at}`)));
  await logIn(it);
  await openRoom(it, room);
  // The newest hundred are read with the room; the others when somebody asks.
  const show = page.getByRole("button", { name: "Show steps" });
  await show.waitFor();
  await page.route(/messages\?.*message_types=thought/, route => route.fulfill({ status: 500, json: { error: { code: "internal_error", message: "It failed.", request_id: "r" } } }));
  await show.click();
  await page.getByText("It failed.").waitFor();
  await page.unroute(/messages\?.*message_types=thought/);
  await show.click();
  await until("both lines are there", async () => (await page.locator(".steps").count()) === 2);
  const first = page.locator(".steps").first();
  await first.locator("summary").first().click();
  for (const count of ["200+ steps", "251 steps"]) {
    await first.getByRole("button", { name: "Show earlier steps" }).click();
    await first.getByText(count).waitFor();
  }
  assert.equal(await first.getByRole("button", { name: "Show earlier steps" }).count(), 0);
  assert.equal(await first.locator("ol > li").count(), 251);
  // The page keeps the beginning of a long step.
  const step = first.locator("li.tool_result");
  assert.ok((await step.innerText()).length < 3000);
  await step.getByRole("button", { name: "Show all" }).click();
  await until("more of it is there", async () => (await step.innerText()).length > 15_000);
  await step.locator(".more > summary").click();
  await step.getByText("yyyy").last().waitFor();
  assertClean(seen);
});

test("a_deleted_message_at_the_edge_is_no_lost_room", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const room = await server.room("Edge");
  for (let batch = 0; batch < 15; batch++) await Promise.all(Array.from({ length: 10 }, (_, at) => server.say(room, `text ${batch * 10 + at}`)));
  await logIn(it);
  await page.route(/messages\?.*before=/, route => route.fulfill({ status: 404, json: { error: { code: "not_found", message: "There is no such message.", request_id: "r" } } }));
  await openRoom(it, room);
  await until("the newest page is there", async () => (await shownTexts(page)).length === 100);
  await page.getByRole("region", { name: "Messages" }).hover();
  await until("the fault is shown", async () => {
    await page.mouse.wheel(0, -9000);
    return (await page.getByText("There is no such message.").count()) === 1;
  });
  assert.equal(await composer(page).count(), 1);
  assertClean(seen);
});

test("the_way_to_the_newest_waits_for_a_read", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const room = await server.room("Long");
  for (let batch = 0; batch < 30; batch++) await Promise.all(Array.from({ length: 10 }, (_, at) => server.say(room, `text ${batch * 10 + at}`)));
  const all = await server.texts(room);
  await logIn(it);
  await page.route(/messages\?.*before=/, async route => { await new Promise(resolve => setTimeout(resolve, 1500)); await route.continue(); });
  await page.goto(`${it.base}/rooms/${room}?at=${all[120]}`);
  await page.locator(`#row-${all[120]}`).waitFor();
  let isAsked = false;
  page.on("request", request => { isAsked ||= /before=/.test(request.url()); });
  await page.getByRole("region", { name: "Messages" }).hover();
  // The page may still read something else, and then it does not follow the wheel.
  await until("older texts are asked for", async () => {
    await page.mouse.wheel(0, 400);
    await page.mouse.wheel(0, -5000);
    return isAsked;
  });
  await page.getByRole("button", { name: "Jump to newest" }).click();
  await page.locator(`#row-${all.at(-1)}`).waitFor();
  await page.unrouteAll({ behavior: "ignoreErrors" });
  assertClean(seen);
});

test("a_copy_that_failed_is_no_copy", async t => {
  const it = await world(t);
  const { page, base, seen } = it;
  await page.addInitScript(() => { if (navigator.clipboard) navigator.clipboard.writeText = () => Promise.reject(new Error("denied")); });
  await logIn(it);
  await page.goto(`${base}/agents/new`);
  await page.getByLabel("Name").fill("Writer");
  await page.getByLabel("What does it do?").fill("Writes");
  await page.getByRole("button", { name: "Register", exact: true }).click();
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await page.getByText("Press Ctrl+C to copy").waitFor();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("heading", { name: "Close without copying the key?" }).waitFor();
  // The key is selected, so the keyboard copies it.
  await page.keyboard.press("Escape");
  await page.getByRole("group", { name: "API key" }).evaluate(key => { getSelection().selectAllChildren(key); });
  await page.keyboard.press("Control+C");
  await page.getByRole("button", { name: "Done" }).click();
  await until("the dialog is closed", async () => (await page.locator("dialog[open]").count()) === 0);
  assertClean(seen);
});
