// Work and trees that are longer than what the page reads again, and bulk changes that wait.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertClean, closeBrowser, logIn, until, world } from "./world.mjs";

after(closeBrowser);

const ask = (server, agent, method, path, body = {}) => server.call(method, `/agent${path}`, method === "GET" ? undefined : body, agent.key);
const items = page => page.getByRole("list", { name: "Work items" }).getByRole("listitem").filter({ has: page.getByRole("checkbox") });
const shows = (page, count) => until(`${count} rows`, async () => (await items(page).count()) === count);
const dialog = page => page.locator("dialog[open]");
/** The page as it is for somebody who comes by a link. */
const visit = async ({ page, base }, path) => {
  await page.goto(base + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
};

test("a_run_that_waits_can_be_stopped_and_a_larger_one_says_what_it_changes", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const room = await server.room("Busy", writer);
  for (let number = 0; number < 3; number++) await server.say(room, "@admin/writer do it", writer);
  await logIn(it);
  await visit(it, "/work?state=new");
  await shows(page, 3);
  await page.getByLabel("Select all shown").check();
  let sent = 0;
  await page.route("**/dead-letter", route => {
    sent++;
    return route.fulfill({ status: 429, headers: { "retry-after": "2" }, json: { error: { code: "rate_limited", message: "Too many requests", request_id: "r" } } });
  });
  const ask = async () => {
    await page.getByRole("button", { name: "Dead-letter…" }).click();
    await dialog(page).getByLabel("Reason").fill("Enough");
  };
  await ask();
  await dialog(page).getByRole("button", { name: "Dead-letter", exact: true }).click();
  await until("all are refused", () => sent === 3);
  await dialog(page).getByRole("button", { name: "Stop" }).click();
  await dialog(page).getByText("Stopped before the end.").waitFor();
  assert.equal(await dialog(page).locator(".fault:not(:empty)").count(), 0);
  assert.equal(sent, 3);
  await page.unroute("**/dead-letter");
  await dialog(page).getByRole("button", { name: "Done" }).click();
  await shows(page, 3);

  // More than are counted: as if there were no end of them.
  await page.route(/\/me\/work\?/, async route => {
    const url = new URL(route.request().url());
    url.searchParams.delete("cursor");
    const { data, metadata } = await (await route.fetch({ url: url.href })).json();
    await route.fulfill({ json: { data: Array(34).fill(data).flat(), metadata: { ...metadata, has_more: true, next_cursor: "more" } } });
  });
  await page.getByRole("button", { name: "Refresh" }).click();
  await page.getByRole("button", { name: "Load more" }).waitFor();
  await page.getByLabel("Select all shown").check();
  await page.getByRole("button", { name: "Select all matching items" }).click();
  await ask();
  await dialog(page).getByText("Dead-letter more than 3 items?").waitFor();
  await dialog(page).getByText("Items that match by then are changed too.").waitFor();
  await server.say(room, "@admin/writer and this", writer);
  await dialog(page).getByRole("button", { name: "Dead-letter", exact: true }).click();
  await dialog(page).getByText("4 items dead-lettered.").waitFor();
  assertClean(seen);
});

test("long_lists_stay_as_they_are_while_somebody_reads", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const writer = await server.agent("Writer");
  const reader = await server.agent("Reader");
  const room = await server.room("Long", writer, reader);
  const root = await server.say(room, "@admin/writer talk to the reader", writer);
  const talk = () => ask(server, writer, "POST", `/chats/${room}/messages`, { message: { content: "@admin/reader read this", mentions: [{ id: reader.id }] } });
  await ask(server, writer, "POST", `/chats/${room}/messages/${root.id}/processing`);
  for (let count = 0; count < 310; count += 10) await Promise.all(Array.from({ length: 10 }, talk));
  await logIn(it);
  const more = key => page.getByRole("button", { name: "Load more" }).press(key);
  await visit(it, `/work?state=new&agent=${reader.id}`);
  for (const count of [100, 200, 300]) {
    await shows(page, count);
    await more("Enter");
    // The focus stays on the button while there is more.
    if (count < 300) await until("the button has the focus", async () => await items(page).count() > count && page.evaluate(() => document.activeElement?.textContent === "Load more"));
  }
  await shows(page, 310);
  await talk();
  await page.getByText("There may be new work.").waitFor();
  assert.equal(await items(page).count(), 310);
  await page.getByRole("status").getByRole("button", { name: "Refresh" }).click();
  await shows(page, 300);
  assert.equal(await page.getByText("There may be new work.").count(), 0);

  await visit(it, `/rooms/${room}/tree/${root.id}`);
  const lines = count => until(`${count} messages`, async () => (await page.locator(".tree article").count()) === count);
  for (const count of [100, 200, 300]) {
    await lines(count);
    assert.equal(await page.getByText("it does not update automatically").count(), 0);
    await more("Enter");
  }
  await lines(312);
  await page.getByText("This list is long, so it does not update automatically.").waitFor();
  await talk();
  await page.getByRole("status").getByRole("button", { name: "Refresh" }).click();
  await lines(313);
  assertClean(seen);
});
