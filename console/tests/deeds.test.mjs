// What people do in rooms and with agents, and what the server has afterwards.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { scene } from "./scene.mjs";
import { assertClean, BROWSER, closeBrowser, logIn, openRoom, PASSWORD, shownTexts, until, world } from "./world.mjs";

after(closeBrowser);

const composer = page => page.getByLabel("Message", { exact: true });
const choose = async (page, name) => {
  await page.getByRole("button", { name: "More actions", exact: true }).click();
  await page.getByRole("menuitem", { name }).click();
};
const gone = locator => locator.waitFor({ state: "detached" });

test("a_mention_brings_somebody_in", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const room = await server.room("Empty");
  await logIn(it);
  await openRoom(it, room);
  await composer(page).pressSequentially("@wri");
  await page.getByRole("option", { name: /Writer.*add to room/ }).click();
  await composer(page).pressSequentially("hello");
  await page.getByText("Adds Writer to the room").waitFor();
  await page.getByText("Writer is not connected").waitFor();
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".delivery.new").waitFor();
  const people = await server.call("GET", `/me/chats/${room}/participants`);
  assert.deepEqual(people.map(one => one.id).includes(writer.id), true);
  const [message] = await server.call("GET", `/me/chats/${room}/messages`);
  assert.deepEqual(message.metadata.mentions.map(one => one.id), [writer.id]);
  // A text that mentions no agent says so, and a draft survives the way to another page.
  await composer(page).pressSequentially("to nobody");
  await page.getByText("No agent is mentioned").waitFor();
  await page.getByRole("link", { name: "Agents" }).click();
  await page.goBack();
  assert.equal(await composer(page).inputValue(), "to nobody");
  assertClean(seen);
});

test("rooms_are_made_renamed_stopped_and_deleted", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  await logIn(it);
  await page.getByRole("button", { name: "New room" }).first().click();
  await page.getByLabel("Title").fill("Plans");
  await page.getByLabel("Find by name or handle").fill("writ");
  await page.getByRole("checkbox", { name: /Writer/ }).check();
  await page.getByRole("button", { name: "Create room" }).click();
  await page.getByRole("heading", { name: "Plans" }).waitFor();
  await page.locator(".crew", { hasText: "Writer" }).waitFor();
  const room = page.url().split("/").at(-1);

  await choose(page, "Rename room");
  await page.getByLabel("Title").fill("Better plans");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Better plans" }).waitFor();
  assert.equal((await server.call("GET", `/me/chats/${room}`)).title, "Better plans");

  await choose(page, "Stop all agents");
  await page.locator(".strip", { hasText: "Agents in this room are stopped" }).waitFor();
  assert.equal((await server.call("GET", `/me/chats/${room}`)).work_status, "stopped");
  const asked = await server.say(room, "@admin/writer wait", writer);
  await page.locator(`#row-${asked.id} .delivery > summary`).click();
  await page.getByText("It is stopped in this room.").waitFor();
  // Whether the caller's organization is paused does not matter here: the room may be of another one.
  await server.call("POST", "/me/organization/pause", { reason: "Later" });
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.locator(".linkbar", { hasText: "Agents paused since" }).waitFor();
  await page.locator(".strip").getByRole("button", { name: "Resume agents" }).waitFor();
  await server.call("POST", "/me/organization/resume", {});
  await page.locator(".strip").getByRole("button", { name: "Resume agents" }).click();
  await gone(page.locator(".strip"));

  await page.getByRole("button", { name: /^People/ }).click();
  await page.getByRole("button", { name: "Actions for Writer" }).click();
  await page.getByRole("menuitem", { name: "Remove from room" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await gone(page.locator(".person", { hasText: "Writer" }));
  await page.getByRole("button", { name: "Add people or agents" }).click();
  await page.getByRole("button", { name: "Add Writer" }).click();
  await page.locator(".person", { hasText: "Writer" }).waitFor();
  await page.keyboard.press("Escape");

  await choose(page, "Delete room");
  await page.getByRole("button", { name: "Delete room" }).click();
  await page.getByRole("heading", { name: "Your rooms" }).waitFor();
  await gone(page.getByRole("link", { name: "Better plans" }));
  const answer = await fetch(`${server.url}/api/v1/me/chats/${room}`, { headers: { "x-api-key": server.key } });
  assert.equal(answer.status, 404);
  assertClean(seen);
});

test("a_lost_answer_makes_no_second_room", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  await logIn(it);
  let lost = 0;
  it.console.faults.answer = request => (request.method === "POST" && request.url.endsWith("/chats") && lost++ === 0 ? "gateway" : null);
  await page.getByRole("button", { name: "New room" }).first().click();
  await page.getByLabel("Title").fill("Once");
  await page.getByRole("button", { name: "Create room" }).click();
  await page.getByText("Bad gateway").waitFor();
  await page.getByRole("button", { name: "Create room" }).click();
  await page.getByRole("heading", { name: "Once" }).waitFor();
  assert.equal((await server.call("GET", "/me/chats")).length, 1);
  assertClean(seen);
});

test("own_texts_are_edited_and_deleted_and_others_are_answered", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const room = await server.room("Texts", writer);
  const mine = await server.say(room, "@admin/writer frist", writer);
  const me = await server.call("GET", "/me/profile");
  const theirs = await server.call("POST", `/agent/chats/${room}/messages`, { message: { content: "@admin yes?", mentions: [{ id: me.id }] } }, writer.key);
  await logIn(it);
  await openRoom(it, room);
  const menu = async (id, name) => {
    await page.locator(`#row-${id}`).hover();
    await page.locator(`#row-${id} .tools button`).click();
    await page.getByRole("menuitem", { name }).click();
  };
  await menu(mine.id, "Edit");
  const field = page.getByLabel("Edit message", { exact: true }).and(page.locator("textarea"));
  assert.equal(await field.inputValue(), "@admin/writer frist");
  await field.fill("@admin/writer first");
  await page.getByRole("button", { name: "Save" }).click();
  await gone(page.locator("dialog"));
  await page.locator(`#row-${mine.id}`, { hasText: "edited" }).getByText("first").waitFor();
  await menu(theirs.id, "Reply");
  assert.equal(await composer(page).inputValue(), "@admin/writer ");
  await menu(mine.id, "Delete");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await gone(page.locator(`#row-${mine.id}`));
  assert.deepEqual(await server.texts(room), [theirs.id]);
  assertClean(seen);
});

test("a_dead_message_is_retried_and_sent_again", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const { room, agents } = await scene(server);
  await logIn(it);
  await openRoom(it, room);
  const dead = page.locator(".delivery.dead");
  await dead.locator("summary").click();
  await dead.getByText("Superseded by the next message").waitFor();
  await dead.getByRole("button", { name: "Retry" }).click();
  await gone(page.locator(".delivery.dead"));
  const failed = page.locator(".delivery.failed");
  await failed.locator("summary").click();
  await failed.getByRole("button", { name: "Send as new message" }).click();
  await until("the new text is there", async () => (await shownTexts(page)).length === 7);
  await page.locator(".delivery.dead").getByText("Replaced by a new message.").waitFor();
  const open = await server.call("GET", `/me/work?agent_id=${agents.Writer.id}&chat_id=${room}`);
  assert.equal(open.length, 2);
  assertClean(seen);
});

test("a_retry_that_is_not_taken_up_offers_a_new_message", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const room = await server.room("Plans", writer);
  const path = `/agent/chats/${room}/messages`;
  const message = await server.say(room, "@admin/writer please", writer);
  const fail = async () => {
    await server.call("POST", `${path}/${message.id}/processing`, {}, writer.key);
    await server.call("POST", `${path}/${message.id}/failed`, { error: "Timeout" }, writer.key);
  };
  await fail();
  // As if the agent were connected: it does not begin, or fails at once.
  let isFailing = false;
  await page.route("**/retry", async route => {
    // Not `route.fetch`: Firefox does not tell the body of what the page sends.
    await server.call("POST", `/me/work/${message.id}/${writer.id}/retry`, {});
    if (isFailing) await fail();
    const item = await server.call("GET", `/me/work/${message.id}/${writer.id}`);
    assert.equal(item.state, isFailing ? "failed" : "new");
    await route.fulfill({ status: 200, json: { data: { ...item, agent: { ...item.agent, connected: true }, taken_up: false } } });
  });
  await logIn(it);
  await openRoom(it, room);
  const notice = page.locator(".notice");
  const retry = async state => {
    await page.locator(`.delivery.${state} summary`).click();
    await page.getByRole("button", { name: "Retry" }).click();
    await notice.waitFor();
  };
  await retry("failed");
  // What was not received cannot be sent again.
  assert.equal(await notice.getByRole("button", { name: "Send as new message" }).count(), 0);
  await page.locator(".delivery.new").waitFor();
  await gone(notice);
  // It is in another state after the retry than before.
  await server.call("POST", `/me/work/${message.id}/${writer.id}/dead-letter`, { reason: "Later" });
  await page.locator(".delivery.dead").waitFor();
  await page.reload();
  isFailing = true;
  await retry("dead");
  await notice.getByRole("button", { name: "Send as new message" }).click();
  await until("the new text is there", async () => (await shownTexts(page)).length === 2);
  await page.locator(".delivery.dead").getByText("Replaced by a new message.").waitFor();
  assert.equal(await page.locator(".notice.error").count(), 0);
  assertClean(seen);
});

test("a_key_is_shown_though_the_dialog_was_closed", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  await logIn(it);
  let go;
  let isHeld;
  await page.route("**/agents/register", async route => {
    isHeld = true;
    await new Promise(resolve => { go = resolve; });
    await route.continue();
  });
  const register = async () => {
    isHeld = false;
    await page.goto(`${base}/agents/new`);
    await page.getByLabel("Name").fill("Writer");
    await page.getByLabel("What does it do?").fill("Writes");
    await page.getByRole("button", { name: "Register", exact: true }).click();
    await until("the request is on its way", () => isHeld);
    await page.keyboard.press("Escape");
    await gone(page.locator("dialog"));
    go();
  };
  await register();
  await page.locator("dialog[open]").waitFor();
  const shown = await page.getByRole("group", { name: "Start the agent with it" }).innerText();
  await server.call("GET", "/agent/me", undefined, /BAND_API_KEY=(\S+)/.exec(shown)[1]);
  // A failure is told as well.
  await register();
  await page.locator(".notice.error", { hasText: "already been taken" }).waitFor();
  assertClean(seen);
});

test("agents_are_changed_and_deleted_and_keys_rotated", async t => {
  const it = await world(t);
  const { page, base, context, server, seen } = it;
  // chromium-headless-shell cannot ask for permission.
  if (BROWSER === "chromium") await context.grantPermissions(["clipboard-write"]);
  const writer = await server.agent("Writer");
  await logIn(it);
  await page.goto(`${base}/agents/${writer.id}`);
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Description").fill("Writes well");
  await page.getByLabel("Attempts before dead-lettering").fill("3");
  await page.getByRole("button", { name: "Save" }).click();
  await gone(page.locator("dialog"));
  const changed = await server.call("GET", `/me/agents/${writer.id}`);
  assert.deepEqual([changed.description, changed.max_attempts, changed.claims], ["Writes well", 3, "shared"]);

  await page.getByRole("button", { name: "Rotate key" }).click();
  await page.locator("dialog").getByRole("button", { name: "Rotate key" }).click();
  const key = await page.getByRole("group", { name: "API key" }).innerText();
  assert.notEqual(key, writer.key);
  await server.call("GET", "/agent/me", undefined, key);
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await page.getByRole("button", { name: "Done" }).click();
  await gone(page.locator("dialog"));

  await page.getByRole("button", { name: "Delete agent" }).click();
  const confirm = page.locator("dialog").getByRole("button", { name: "Delete agent" });
  await page.getByLabel(/Type admin\/writer/).fill("admin/other");
  await confirm.click();
  await page.locator("dialog[open]").waitFor();
  await page.getByLabel(/Type admin\/writer/).fill("admin/writer");
  await confirm.click();
  await page.getByText("No agents yet").waitFor();
  assertClean(seen);
});

test("faults_stand_at_their_field", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  await server.agent("Writer");
  await page.goto(`${base}/login`);
  await page.getByLabel("Handle or email").fill("admin");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByText("The name or the password is wrong").waitFor();
  await page.goto(`${base}/welcome#thnv_p_1795685201_usFOHMRQovzjPMZsSYwxflSW8kgUVpFSSr3xQeEW`);
  await page.getByLabel("New password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set password and log in" }).click();
  await page.getByText("This link is no longer valid").waitFor();
  // A common password is refused, and the link still works.
  await page.goto(`${base}/login`);
  await page.goto(`${base}/reset#${server.welcomeToken}`);
  await page.getByLabel("New password").fill("password123");
  await page.getByRole("button", { name: "Set password and log in" }).click();
  await page.locator(".field .fault").waitFor();
  await page.getByLabel("New password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set password and log in" }).click();
  await page.getByRole("navigation").waitFor();
  await page.goto(`${base}/agents/new`);
  await page.getByLabel("Name").fill("Writer");
  await page.getByLabel("What does it do?").fill("Writes");
  await page.getByRole("button", { name: "Register", exact: true }).click();
  await page.locator(".field .fault", { hasText: "Has already been taken" }).waitFor();
  // The password logs in as well, and the session outlives a reload.
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Log out" }).first().click();
  await page.getByLabel("Handle or email").fill("admin");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByRole("navigation").waitFor();
  await page.reload();
  await page.getByRole("navigation").waitFor();
  assertClean(seen);
});

test("an_account_is_registered", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const { token } = await server.call("POST", "/me/organization/invitations", { invitation: { role: "member" } });
  await page.goto(`${base}/register#${token}`);
  await page.getByLabel("Name").fill("Bob Ray");
  await page.getByLabel("Email").fill("bob@example.org");
  await page.getByLabel("Handle").fill("admin");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.locator(".field .fault").waitFor();
  await page.getByLabel("Handle").fill("bob");
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("navigation").getByText("Bob Ray").waitFor();
  const members = await server.call("GET", "/me/organization/members");
  assert.deepEqual(members.map(one => one.handle).sort(), ["admin", "bob"]);
  assertClean(seen);
});

test("settings_are_kept", async t => {
  const it = await world(t, { colorScheme: "light" });
  const { page, base, server, seen } = it;
  await logIn(it);
  await page.goto(`${base}/settings`);
  await page.getByLabel("First name").fill("Ann");
  await page.getByLabel("Last name").fill("Lee");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  assert.equal((await server.call("GET", "/me/profile")).first_name, "Ann");
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.getByRole("radio", { name: "Dark" }).check({ force: true });
  await until("it is dark", async () => (await background()) !== light);
  await page.getByLabel("Enter sends a message").uncheck();
  await page.reload();
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  assert.notEqual(await background(), light);
  await openRoom(it, await server.room("Writing"));
  await composer(page).pressSequentially("one");
  await page.keyboard.press("Enter");
  await page.keyboard.type("two");
  assert.equal(await composer(page).inputValue(), "one\ntwo");
  await page.keyboard.press("Control+Enter");
  await until("it is sent", async () => (await shownTexts(page)).length === 1);
  assertClean(seen);
});
