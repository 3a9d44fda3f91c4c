// Messages that are sent later: how they are scheduled, listed, and cancelled.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertClean, closeBrowser, logIn, submit, until, world } from "./world.mjs";

after(closeBrowser);

const dialog = page => page.locator("dialog[open]");
const composer = page => page.getByLabel("Message", { exact: true });

async function open(page) {
  await page.getByRole("button", { name: "Schedule", exact: true }).click();
  await dialog(page).getByRole("heading", { name: "Send later" }).waitFor();
}

test("a_draft_is_scheduled_and_cancelled", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const writer = await server.agent("Writer");
  const room = await server.room("Launch", writer);
  await logIn(it);
  await page.goto(`${base}/rooms/${room}`);
  await composer(page).waitFor();

  // Without a draft, there is only the list.
  await open(page);
  await dialog(page).getByText("Nothing is scheduled.").waitFor();
  assert.equal(await dialog(page).getByRole("button", { name: "Schedule" }).isDisabled(), true);
  await page.keyboard.press("Escape");

  await composer(page).fill("@admin/writer how far are you?");
  await open(page);
  await dialog(page).getByText("@admin/writer how far are you?").waitFor();
  await dialog(page).getByLabel("Repeat").selectOption("Every day");
  await submit(page, "Schedule");
  await page.getByText("Scheduled.", { exact: true }).waitFor();
  assert.equal(await composer(page).inputValue(), "");
  const [reminder] = await server.call("GET", "/me/reminders");
  assert.equal(reminder.every, "FREQ=DAILY");
  assert.deepEqual(reminder.mentions.map(one => one.handle), [writer.handle]);

  // A time that has passed is named, and the draft stays.
  await composer(page).fill("too late");
  await open(page);
  const at = dialog(page).getByLabel("When");
  await at.evaluate(field => field.removeAttribute("min"));
  await at.fill("2020-01-01T10:00");
  await submit(page, "Schedule");
  await dialog(page).getByText("Must be later than now").waitFor();
  await dialog(page).getByText("how far are you?").waitFor();
  await dialog(page).getByText(/ · every day$/).waitFor();
  await dialog(page).getByRole("button", { name: /^Cancel @admin/ }).click();
  await dialog(page).getByText("Nothing is scheduled.").waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await composer(page).inputValue(), "too late");
  await until("it is cancelled", async () => (await server.call("GET", "/me/reminders")).length === 0);
  await composer(page).fill("");
  assertClean(seen);
});
