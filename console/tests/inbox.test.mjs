// The inbox: what waits for somebody, across rooms, and how it is answered.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertClean, closeBrowser, logIn, submit, until, world } from "./world.mjs";

after(closeBrowser);

const ask = (server, agent, method, path, body) => server.call(method, `/agent${path}`, body, agent.key);
const waits = (server, agent, room, content, metadata) => ask(server, agent, "POST", `/chats/${room}/events`, { event: { content, message_type: "attention", metadata } });
const items = page => page.locator(".inbox > .item");
const shows = (page, texts) => until(`the list is ${texts.join(", ")}`, async () => JSON.stringify(await page.locator(".inbox .said").allInnerTexts()) === JSON.stringify(texts));
const badge = (page, text) => page.getByRole("navigation").getByRole("link", { name: text === "" ? "Inbox" : new RegExp(`^Inbox\\s*, ${text}$`), exact: true }).waitFor();
const dialog = page => page.locator("dialog[open]");

/** An agent in two rooms that asks for several things. */
async function place(t, options) {
  const it = await world(t, options);
  const { server } = it;
  const writer = await server.agent("Writer");
  const launch = await server.room("Launch", writer);
  const notes = await server.room("Notes", writer);
  await waits(server, writer, launch, "I leave the prices out.", { kind: "assumption", default: "The prices stay out." });
  await waits(server, writer, notes, "Which date is right?", { kind: "question", blocking: true });
  return { ...it, writer, launch, notes };
}

test("everything_that_waits_is_in_one_list_and_is_answered_there", async t => {
  const it = await place(t);
  const { page, base, server, seen, writer, notes } = it;
  const stranger = server.user("bob", "Bob Ray");
  await server.call("POST", "/me/contacts/requests", { contact_request: { recipient_handle: "admin", message: "Hello from Bob" } }, stranger);
  await logIn(it);

  // The first page leads to it, once; what blocks somebody comes first.
  await page.getByRole("heading", { level: 1, name: "Inbox" }).waitFor();
  await badge(page, "3 wait for you");
  await until("three items", async () => (await items(page).count()) === 3);
  const first = items(page).first();
  await first.getByText("Which date is right?").waitFor();
  await first.getByText("cannot go on without you").waitFor();
  await first.getByRole("link", { name: "Notes" }).waitFor();

  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.getByRole("heading", { level: 1, name: "Your rooms" }).waitFor();
  await page.goBack();

  // The answer is a message that the agent gets.
  await first.getByRole("button", { name: "Answer Writer" }).click();
  await dialog(page).getByLabel("Your answer").fill("Monday");
  await submit(page, "Answer");
  await page.getByText("Answered.").waitFor();
  await until("the row has gone", async () => (await items(page).count()) === 2);
  const next = await ask(server, writer, "GET", `/chats/${notes}/messages/next`);
  assert.match(next.content, /Monday/);
  await badge(page, "2 wait for you");

  await items(page).filter({ hasText: "I leave the prices out." }).getByText("Without an answer: The prices stay out.").waitFor();
  await items(page).filter({ hasText: "I leave the prices out." }).getByRole("button", { name: "Dismiss Writer" }).click();
  await page.getByText("Dismissed.").waitFor();
  await items(page).filter({ hasText: "Hello from Bob" }).getByRole("button", { name: "Accept Bob Ray" }).click();
  await page.getByText("Accepted.").waitFor();
  await page.getByText("Nothing waits for you").waitFor();
  await badge(page, "");
  assert.equal((await server.call("GET", "/me/contacts")).length, 1);

  // Who answered, and with what, is kept.
  await page.getByRole("link", { name: "Answered", exact: true }).click();
  await items(page).filter({ hasText: "I leave the prices out." }).getByText(/Dismissed by /).waitFor();
  await items(page).filter({ hasText: "Which date is right?" }).getByRole("link", { name: /^Answered by / }).click();
  await page.locator(".target").getByText("Monday").waitFor();
  await page.goto(`${base}/`);
  assertClean(seen);
});

test("what_happens_elsewhere_is_seen", async t => {
  const it = await place(t);
  const { page, server, seen, writer, launch, notes } = it;
  const { name: organization } = await server.call("GET", "/me/organization");
  const key = server.user("ben", "Ben Ray", organization);
  const ben = await server.call("GET", "/me/profile", undefined, key);
  for (const room of [launch, notes]) await server.call("POST", `/me/chats/${room}/participants`, { participant: { participant_id: ben.id } });
  await logIn(it);
  await shows(page, ["Which date is right?", "I leave the prices out."]);

  // A new item comes without a reload.
  const question = await waits(server, writer, launch, "May I publish?", { kind: "question" });
  await shows(page, ["Which date is right?", "I leave the prices out.", "May I publish?"]);

  // Somebody else answers while the dialog is open.
  await items(page).first().getByRole("button", { name: "Answer Writer" }).click();
  const open = (await server.call("GET", "/me/attention", undefined, key)).find(one => one.summary === "Which date is right?");
  await server.call("POST", `/me/attention/${open.id}/answer`, { answer: { content: "Tuesday" } }, key);
  await dialog(page).getByLabel("Your answer").fill("Monday");
  await submit(page, "Answer");
  await dialog(page).getByText(/@ben already answered/).waitFor();
  assert.equal(await dialog(page).getByLabel("Your answer").inputValue(), "Monday");
  await page.keyboard.press("Escape");
  await shows(page, ["I leave the prices out.", "May I publish?"]);

  // The agent no longer needs an answer.
  await waits(server, writer, launch, "Published.", { kind: "assumption", resolves: question.id });
  await shows(page, ["I leave the prices out."]);
  assertClean(seen);
});

test("the_inbox_is_worked_by_keyboard_alone", async t => {
  const it = await place(t);
  const { page, seen } = it;
  await logIn(it);
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await page.waitForURL(/\/inbox$/);
  await shows(page, ["Which date is right?", "I leave the prices out."]);
  const hasFocus = (what, locator) => until(`${what} has the focus`, () => locator.evaluate(one => one === document.activeElement).catch(() => false));
  await page.locator("main h1").focus();
  for (let step = 0; step < 12 && !(await items(page).first().getByRole("button", { name: "Answer Writer" }).evaluate(one => one === document.activeElement)); step++) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await hasFocus("the answer", dialog(page).getByLabel("Your answer"));
  await page.keyboard.type("Monday");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await shows(page, ["I leave the prices out."]);
  await hasFocus("the heading", page.locator("main h1"));
  assertClean(seen);
});

test("a_long_inbox_comes_in_pages", async t => {
  const it = await place(t);
  const { page, server, seen, writer, launch } = it;
  for (let count = 0; count < 60; count += 10) await Promise.all(Array.from({ length: 10 }, (_, at) => waits(server, writer, launch, `Assumption ${count + at}`, { kind: "assumption" })));
  await logIn(it);
  await badge(page, "62 wait for you");
  await until("one page", async () => (await items(page).count()) === 50);
  await page.getByRole("button", { name: "Load more" }).click();
  await until("all", async () => (await items(page).count()) === 62);
  assertClean(seen);
});
