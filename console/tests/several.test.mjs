// Deleting several agents or rooms with one question.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertClean, closeBrowser, logIn, until, world } from "./world.mjs";

after(closeBrowser);

const choose = (page, name) => page.getByRole("checkbox", { name }).check();

test("several_agents_are_deleted_with_one_question", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  for (const name of ["Writer", "Reader", "Keeper"]) await server.agent(name);
  await logIn(it);
  await page.getByRole("link", { name: "Agents" }).click();
  await page.getByRole("link", { name: "Delete several" }).click();
  await page.getByRole("heading", { name: "Delete agents" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Delete 0 agents" }).isDisabled(), true);
  await page.getByLabel("Select all").check();
  await page.getByRole("button", { name: "Delete 3 agents" }).waitFor();
  await page.getByRole("checkbox", { name: /Keeper/ }).uncheck();
  await page.getByRole("button", { name: "Delete 2 agents" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  assert.equal((await server.call("GET", "/me/agents")).length, 3, "the question was answered with no");
  await page.getByRole("button", { name: "Delete 2 agents" }).click();
  await dialog.getByRole("button", { name: "Delete 2 agents" }).click();
  await page.getByText("2 agents deleted.").waitFor();
  await page.getByRole("checkbox", { name: /Writer/ }).waitFor({ state: "detached" });
  assert.deepEqual((await server.call("GET", "/me/agents")).map(one => one.name), ["Keeper"]);
  assertClean(seen);
});

test("rooms_that_cannot_be_deleted_are_named", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  await server.agent("Writer");
  const rooms = [];
  for (const title of ["Plans", "Notes", "Kept"]) rooms.push(await server.room(title));
  await logIn(it);
  await page.getByRole("link", { name: "Delete several" }).click();
  for (const title of [/Plans/, /Notes/]) await choose(page, title);
  // The list of this page is older than the deletion.
  await page.route("**/api/v1/me/chats/bulk-delete", async route => {
    await server.call("DELETE", `/me/chats/${rooms[1]}`);
    await route.continue();
  });
  await page.getByRole("button", { name: "Delete 2 rooms" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete 2 rooms" }).click();
  await page.getByText("1 room deleted.").waitFor();
  await page.getByText("1 room could not be deleted:").waitFor();
  const row = page.getByRole("status").getByRole("listitem");
  assert.match(await row.innerText(), /Notes.*no longer exists/s);
  await until("the rooms are gone", async () => (await server.call("GET", "/me/chats")).length === 1);
  await page.getByRole("checkbox", { name: /Plans/ }).waitFor({ state: "detached" });
  await page.getByRole("checkbox", { name: /Kept/ }).waitFor();
  assertClean(seen);
});

test("a_deletion_whose_progress_is_refused_is_not_awaited", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  for (const name of ["Writer", "Reader"]) await server.agent(name);
  await logIn(it);
  await page.goto(`${it.base}/agents/delete`);
  await choose(page, /Writer/);
  const job = { id: "00000000-0000-7000-8000-000000000000", status: "running", total: 1, processed: 0, succeeded: 0, failed: 0, results: [], completed_at: null };
  await page.route("**/api/v1/me/agents/bulk-delete", route => route.fulfill({ status: 202, json: { data: job } }));
  let asked = 0;
  await page.route("**/api/v1/me/bulk-deletions/*", route => {
    asked++;
    return route.fulfill({ status: 403, json: { error: { code: "forbidden", message: "Not for you", request_id: "" } } });
  });
  const submit = page.getByRole("button", { name: "Delete 1 agent" });
  await submit.click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete 1 agent" }).click();
  await page.locator(".notice.error", { hasText: "Not for you" }).waitFor();
  await until("the form can be used again", () => submit.isEnabled());
  assert.equal(await page.getByText("0 of 1 done").count(), 0);
  assert.equal(asked, 1);
  assertClean(seen);
});
