// Codes of an authenticator app, and recovery codes, in a browser.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, test } from "node:test";
import { anotherBrowser, assertClean, byPassword, closeBrowser, PASSWORD, until, violations, welcome, world } from "./world.mjs";

after(closeBrowser);

const part = (page, name) => page.getByRole("region", { name, exact: true });

/** The bytes of a secret in base32. */
function bytes(secret) {
  const bits = [...secret].map(letter => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0")).join("");
  return Buffer.from(bits.match(/.{8}/g).map(byte => parseInt(byte, 2)));
}

/** A code that an app shows, of the step that is `later` than now; an app whose clock is a little ahead shows that of the next one. */
function code(secret, later = 0) {
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later));
  const mac = createHmac("sha1", bytes(secret)).update(step).digest();
  const truncated = mac.readUInt32BE(mac[19] & 0xf) & 0x7fffffff;
  return String(truncated % 1_000_000).padStart(6, "0");
}

/** Sets the first user's password, and leaves the page at the settings. */
async function atSettings(it) {
  await welcome(it);
  await it.page.goto(`${it.base}/settings`);
}

/** Turns the second factor on; returns the secret and the recovery codes. */
async function turnOn(page, check = async () => undefined) {
  await part(page, "Second factor").getByRole("button", { name: "Set up second factor" }).click();
  await page.locator("dialog").getByLabel("Your password").fill(PASSWORD);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("img", { name: "QR code for an authenticator app" }).waitFor();
  const secret = (await page.getByRole("group", { name: "Key for the app" }).innerText()).replaceAll(" ", "");
  await check(secret);
  await page.locator("dialog").getByLabel("Code", { exact: true }).fill(code(secret));
  await page.getByRole("button", { name: "Turn on" }).click();
  const shown = page.getByRole("group", { name: "Your recovery codes" });
  const codes = (await shown.innerText()).trim().split(/\s+/);
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("heading", { name: "Close without copying the recovery codes?" }).waitFor();
  await page.getByRole("button", { name: "Close anyway" }).click();
  await page.locator("dialog").first().waitFor({ state: "detached" });
  return { secret, codes };
}

test("a_second_factor_is_set_up_with_an_app_and_asked_for_at_the_log_in", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  await atSettings(it);
  const section = part(page, "Second factor");
  await section.getByText("Your second factor is off.").waitFor();
  await section.getByRole("button", { name: "Set up second factor" }).click();
  await page.locator("dialog").getByLabel("Your password").fill("not the password");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.locator("dialog .field .fault", { hasText: "Is wrong" }).waitFor();
  await page.keyboard.press("Escape");
  const { secret, codes } = await turnOn(page, async secret => {
    assert.match(secret, /^[A-Z2-7]{32}$/);
    // Light modules within a quiet zone of four around a QR code of some version.
    const size = Number((await page.locator("svg.qr").getAttribute("viewBox")).split(" ")[2]);
    assert.equal((size - 8 - 17) % 4, 0, `${size} modules`);
    assert.deepEqual(await violations(page), []);
    await page.locator("dialog").getByLabel("Code", { exact: true }).fill("000000");
    await page.getByRole("button", { name: "Turn on" }).click();
    await page.locator("dialog .field .fault", { hasText: "Is wrong" }).waitFor();
  });
  assert.equal(codes.length, 10);
  await section.getByText(/^On since .* 10 recovery codes left\.$/).waitFor();
  assert.equal((await server.call("GET", "/me/second-factor")).status, "on");
  const kept = await page.evaluate(() => document.documentElement.outerHTML + location.href + JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }));
  assert.ok(!kept.includes(secret) && !kept.includes(codes[0]), "the secrets stay nowhere");

  const other = await anotherBrowser(t, it);
  await byPassword(other.page, base, "not the password");
  await other.page.getByText("The name or the password is wrong").waitFor();
  await byPassword(other.page, base);
  const field = other.page.getByLabel("Code", { exact: true });
  await field.waitFor();
  assert.equal(await field.getAttribute("autocomplete"), "one-time-code");
  assert.equal(await field.getAttribute("inputmode"), "numeric");
  assert.ok(await field.evaluate(input => input === document.activeElement), "it has the focus");
  assert.deepEqual(await violations(other.page), []);
  await field.fill("000000");
  await other.page.getByRole("button", { name: "Log in", exact: true }).click();
  await other.page.getByText("The code is wrong or was used already.").waitFor();
  // The code of the setup is used, and that of the next step is valid already.
  await field.fill(code(secret, 1));
  await other.page.getByRole("button", { name: "Log in", exact: true }).click();
  await other.page.getByRole("navigation").waitFor();

  // Back to the password, and on with a recovery code.
  const third = await anotherBrowser(t, it);
  await byPassword(third.page, base);
  await third.page.getByLabel("Code", { exact: true }).waitFor();
  await third.page.getByRole("button", { name: "Cancel" }).click();
  await third.page.getByLabel("Handle or email").waitFor();
  await byPassword(third.page, base);
  await third.page.getByRole("button", { name: "Use a recovery code" }).click();
  await third.page.getByLabel("Recovery code").fill(codes[4].toUpperCase());
  await third.page.getByRole("button", { name: "Log in", exact: true }).click();
  await third.page.getByRole("navigation").waitFor();
  await third.page.goto(`${base}/settings`);
  await part(third.page, "Second factor").getByText("9 recovery codes left.").waitFor();
  for (const one of [seen, other.seen, third.seen]) assertClean(one);
});

test("recovery_codes_are_replaced_and_the_second_factor_is_turned_off", async t => {
  const it = await world(t);
  const { page, seen } = it;
  await atSettings(it);
  const section = part(page, "Second factor");
  const { codes } = await turnOn(page);
  await section.getByRole("button", { name: "New recovery codes" }).click();
  const dialog = page.locator("dialog");
  assert.deepEqual(await violations(page), []);
  const fill = async (code, password) => {
    if (await dialog.getByRole("button", { name: "Use a recovery code" }).count()) await dialog.getByRole("button", { name: "Use a recovery code" }).click();
    await dialog.getByLabel("Recovery code", { exact: true }).fill(code);
    await dialog.getByLabel("Your password").fill(password);
  };
  await fill(codes[0], "not the password");
  await dialog.getByRole("button", { name: "New recovery codes" }).click();
  await dialog.locator(".field .fault", { hasText: "Is wrong" }).waitFor();
  await fill(codes[0], PASSWORD);
  await dialog.getByRole("button", { name: "New recovery codes" }).click();
  const renewed = (await page.getByRole("group", { name: "Your recovery codes" }).innerText()).trim().split(/\s+/);
  assert.ok(renewed.length === 10 && !renewed.includes(codes[0]));
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Close anyway" }).click();

  await section.getByRole("button", { name: "Turn off second factor" }).click();
  await fill(codes[1], PASSWORD);
  await dialog.getByRole("button", { name: "Turn off second factor" }).click();
  await dialog.locator(".field .fault", { hasText: "Is wrong" }).waitFor();
  await fill(renewed[0], PASSWORD);
  await dialog.getByRole("button", { name: "Turn off second factor" }).click();
  await section.getByText("Your second factor is off.").waitFor();
  assertClean(seen);
});

test("a_reset_link_asks_for_a_code_and_the_operator_helps_without_one", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  await atSettings(it);
  const { secret } = await turnOn(page);
  const reset = JSON.parse(server.command("user", "reset-password", "admin", "--json")).reset_token;
  const other = await anotherBrowser(t, it);
  await other.page.goto(`${base}/reset#${reset}`);
  await other.page.getByLabel("New password").fill("battery staple horse");
  await other.page.getByRole("button", { name: "Set password and log in" }).click();
  const field = other.page.getByLabel("Code", { exact: true });
  await field.fill("000000");
  await other.page.getByRole("button", { name: "Set password and log in" }).click();
  await other.page.getByText("The code is wrong or was used already.").waitFor();
  await field.fill(code(secret, 1));
  await other.page.getByRole("button", { name: "Set password and log in" }).click();
  await other.page.getByRole("navigation").waitFor();
  await page.getByText("Your session has ended. Log in again.").waitFor();

  // After another password, the log-in asks for a code, so the page cannot log in again by itself.
  await other.page.goto(`${base}/settings`);
  const form = part(other.page, "Password");
  await form.getByLabel("Current password").fill("battery staple horse");
  await form.getByLabel("New password").fill("a walk in the park");
  await form.getByRole("button", { name: "Change password" }).click();
  await other.page.getByText("The password was changed. Log in with the new one.").waitFor();
  await until("no session is left", async () => (await server.call("GET", "/me/sessions")).length === 0);

  // The phone is lost.
  assert.match(server.command("user", "show", "admin"), /second factor on/);
  const helped = JSON.parse(server.command("user", "remove-second-factor", "admin", "--json")).reset_token;
  assert.doesNotMatch(server.command("user", "show", "admin"), /second factor/);
  await page.goto(`${base}/reset#${helped}`);
  await page.getByLabel("New password").fill("a ladder and a rope");
  await page.getByRole("button", { name: "Set password and log in" }).click();
  await page.getByRole("navigation").waitFor();
  await page.goto(`${base}/settings`);
  await until("it is off", () => part(page, "Second factor").getByText("Your second factor is off.").isVisible());
  for (const one of [seen, other.seen]) assertClean(one);
});
