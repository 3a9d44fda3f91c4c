// Searching: words are found in all rooms, and lead to their message.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertClean, closeBrowser, logIn, until, world } from "./world.mjs";

after(closeBrowser);

const hits = page => page.locator(".hits > .item");
const field = page => page.getByLabel("Words to find");

test("words_are_found_in_all_rooms_and_lead_to_their_message", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const writer = await server.agent("Writer");
  const launch = await server.room("Launch", writer);
  const notes = await server.room("Notes", writer);
  await server.say(launch, "@admin/writer the parser is ready to deploy", writer);
  for (let number = 0; number < 60; number++) await server.say(launch, `filler ${number}`);
  await server.say(notes, "Deploy notes: see parseHttpRequest");
  const thought = { event: { content: "I deploy in my mind", message_type: "thought", metadata: {} } };
  await server.call("POST", `/agent/chats/${notes}/events`, thought, writer.key);
  await until("it is indexed", async () => (await server.call("GET", "/me/search?q=deploy")).length === 3);
  await logIn(it);

  await page.keyboard.press("/");
  await page.getByRole("heading", { level: 1, name: "Search" }).waitFor();
  await page.getByText("messages with both words").waitFor();
  await until("the field has the focus", () => field(page).evaluate(one => one === document.activeElement));
  await page.keyboard.type("deploy");
  await page.keyboard.press("Enter");
  await until("two messages", async () => (await hits(page).count()) === 2);
  assert.deepEqual(await page.locator(".hits mark").allInnerTexts(), ["Deploy", "deploy"]);
  await hits(page).first().getByRole("link", { name: /^Notes/ }).waitFor();

  // The query is in the address; the way back leads to the hits.
  await hits(page).nth(1).getByRole("link", { name: /^Launch/ }).click();
  await page.locator(".target").getByText("the parser is ready").waitFor();
  await page.goBack();
  await until("the hits are there again", async () => (await hits(page).count()) === 2);

  for (const [query, texts] of [
    ["deploy kind:thought", ["I deploy in my mind"]],
    ["http request", ["Deploy notes: see parseHttpRequest"]],
    [`ready in:${launch}`, ["@admin/writer the parser is ready to deploy"]],
    ['"parser is', ["@admin/writer the parser is ready to deploy"]],
  ]) {
    await field(page).fill(query);
    await page.keyboard.press("Enter");
    await until(query, async () => JSON.stringify(await page.locator(".hits .said").allInnerTexts()) === JSON.stringify(texts));
  }
  await hits(page).first().getByRole("link").click();
  await page.getByRole("heading", { level: 1, name: "Launch" }).waitFor();
  await page.getByRole("button", { name: "More actions", exact: true }).click();
  await page.getByRole("menuitem", { name: "Search in this room" }).click();
  await until("the newest messages of the room", async () => (await hits(page).count()) === 30);
  await page.getByRole("button", { name: "Load more" }).click();
  await until("more of them", async () => (await hits(page).count()) === 60);

  await field(page).fill("nothingatall");
  await page.keyboard.press("Enter");
  await page.getByText("No messages found").waitFor();
  await page.goto(`${base}/`);
  assertClean(seen);
});

test("a_query_that_is_refused_says_why", async t => {
  const it = await world(t);
  await logIn(it);
  const { page, base } = it;
  await page.goto(`${base}/search?q=before:yesterday`);
  await page.getByText(/needs a date for `before:`/).waitFor();
  await field(page).fill("kind:song");
  await page.keyboard.press("Enter");
  await page.getByText(/unknown kind/).waitFor();
});
