// Pauses of agents, roles in rooms, and keys whose answers were lost.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertClean, closeBrowser, logIn, openRoom, submit, until, watch, world } from "./world.mjs";

after(closeBrowser);


test("an_agent_is_paused_and_resumed", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const writer = await server.agent("Writer");
  const room = await server.room("Work", writer);
  await logIn(it);
  await page.goto(`${base}/agents/${writer.id}`);
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByLabel("Reason").fill("Wrong <b>answers</b>");
  await submit(page, "Pause");
  await page.locator(".now", { hasText: "paused" }).getByText("Wrong <b>answers</b>").waitFor();
  assert.equal((await server.call("GET", `/me/agents/${writer.id}`)).pause.reason, "Wrong <b>answers</b>");
  await page.goto(`${base}/agents`);
  await page.locator(".card", { hasText: "Writer" }).locator(".tag", { hasText: "paused" }).waitFor();

  await openRoom(it, room);
  const asked = await server.say(room, "@admin/writer wait", writer);
  await page.locator(`#row-${asked.id} .delivery > summary`).click();
  await page.getByText("It is paused: Wrong <b>answers</b>").waitFor();
  assert.equal(await page.locator(".strip").count(), 0, "the room is not stopped");
  await page.getByRole("button", { name: /^People, / }).click();
  const person = page.locator(".person", { hasText: "Writer" });
  await person.locator(".tag", { hasText: "paused" }).waitFor();

  // Resumed elsewhere: the page hears of it.
  await server.call("POST", `/me/agents/${writer.id}/resume`);
  await person.locator(".tag", { hasText: "paused" }).waitFor({ state: "detached" });
  await server.call("POST", `/me/agents/${writer.id}/pause`, { reason: "Again" });
  await page.goto(`${base}/agents/${writer.id}`);
  await page.locator(".now").getByText("Again").waitFor();
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await submit(page, "Resume");
  await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
  assert.equal((await server.call("GET", `/me/agents/${writer.id}`)).pause, null);
  assertClean(seen);
});

test("roles_in_a_room_are_changed", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const key = server.user("bob", "Bob Ray", "admin");
  const bob = await server.call("GET", "/me/profile", undefined, key);
  const writer = await server.agent("Writer");
  const room = await server.room("Work", writer);
  await server.call("POST", `/me/chats/${room}/participants`, { participant: { participant_id: bob.id } });
  const context = await it.context.browser().newContext();
  t.after(() => context.close());
  const other = { page: await context.newPage(), base, server: { key } };
  const otherSeen = watch(other.page);
  const change = async (on, name, role) => {
    await on.getByRole("button", { name: `Actions for ${name}` }).click();
    await on.getByRole("menuitem", { name: role }).click();
  };
  for (const one of [it, other]) {
    await logIn(one);
    await openRoom(one, room);
    await one.page.getByRole("button", { name: /^People, / }).click();
    await one.page.locator(".person", { hasText: "Bob Ray" }).waitFor();
  }
  assert.equal(await other.page.getByRole("button", { name: /^Actions for / }).count(), 0, "members change nobody");
  await change(page, "Bob Ray", "Make admin");
  await page.locator(".person", { hasText: "Bob Ray" }).locator(".tag", { hasText: "admin" }).waitFor();
  // Bob hears of it, and may make members admins.
  await other.page.locator(".person", { hasText: "Bob Ray" }).locator(".tag", { hasText: "admin" }).waitFor();
  await change(other.page, "Writer", "Make admin");
  await page.locator(".person", { hasText: "Writer" }).locator(".tag", { hasText: "admin" }).waitFor();
  const choices = async name => {
    await other.page.getByRole("button", { name: `Actions for ${name}` }).click();
    const all = await other.page.getByRole("menuitem").allTextContents();
    await other.page.keyboard.press("Escape");
    return all;
  };
  await other.page.locator(".person", { hasText: "Writer" }).locator(".tag", { hasText: "admin" }).waitFor();
  assert.deepEqual(await choices("Writer"), ["Remove from room"]);
  await change(page, "Bob Ray", "Make owner");
  await other.page.locator(".person", { hasText: "Bob Ray" }).locator(".tag", { hasText: "owner" }).waitFor();
  assert.deepEqual(await choices("Writer"), ["Make owner", "Make member", "Remove from room"]);
  const roles = (await server.call("GET", `/me/chats/${room}/participants`)).map(one => `${one.handle} ${one.role}`).sort();
  assert.deepEqual(roles, ["admin owner", "admin/writer admin", "bob owner"]);
  await change(other.page, "Bob Ray", "Make member");
  await page.locator(".person", { hasText: "Bob Ray" }).locator(".tag").waitFor({ state: "detached" });
  await other.page.getByRole("button", { name: /^Actions for / }).first().waitFor({ state: "detached" });
  assertClean(seen);
  assertClean(otherSeen);
});

test("a_key_whose_answer_was_lost_is_replaced", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  await logIn(it);
  const lose = path => {
    let lost = 0;
    it.console.faults.answer = request => (request.method === "POST" && request.url.endsWith(path) && lost++ === 0 ? "gateway" : null);
  };
  const twice = async name => {
    await submit(page, name);
    await page.getByText("Bad gateway").waitFor();
    await submit(page, name);
  };
  lose("/agents/register");
  await page.goto(`${base}/agents/new`);
  await page.getByLabel("Name").fill("Writer");
  await page.getByLabel("What does it do?").fill("Writes");
  await twice("Register");
  const shown = await page.getByRole("group", { name: "Start the agent with it" }).innerText();
  const key = /BAND_API_KEY=(\S+)/.exec(shown)[1];
  await server.call("GET", "/agent/me", undefined, key);
  const [agent, ...others] = await server.call("GET", "/me/agents");
  assert.deepEqual([agent.name, others], ["Writer", []]);

  lose("/rotate-key");
  await page.goto(`${base}/agents/${agent.id}`);
  await page.getByRole("button", { name: "Rotate key" }).click();
  await twice("Rotate key");
  const next = await page.getByRole("group", { name: "API key" }).innerText();
  assert.notEqual(next, key);
  await server.call("GET", "/agent/me", undefined, next);

  lose("/api-keys");
  await page.goto(`${base}/settings`);
  const before = (await server.call("GET", "/me/api-keys")).length;
  await page.getByRole("button", { name: "New API key" }).click();
  await page.locator("dialog").getByLabel("Name").fill("Laptop");
  await twice("Create key");
  const mine = await page.locator(".secret .key").innerText();
  await server.call("GET", "/me/profile", undefined, mine);
  assert.equal((await server.call("GET", "/me/api-keys")).length, before + 1);
  await until("the list has it once", async () => (await page.getByText("Laptop", { exact: true }).count()) === 1);
  assertClean(seen);
});
