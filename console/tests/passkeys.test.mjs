// Passkeys, with the virtual authenticator of the browser.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { anotherBrowser, assertClean, BROWSER, closeBrowser, freePort, PASSWORD, until, violations, welcome, world } from "./world.mjs";

after(closeBrowser);

/** Only Chromium has one. */
const skip = BROWSER !== "chromium";

const section = page => page.getByRole("region", { name: "Passkeys", exact: true });
const dialog = page => page.locator("dialog[open]");

/** A device that confirms at once, unless it is told otherwise. */
async function device(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  return (method, more = {}) => session.send(`WebAuthn.${method}`, { authenticatorId, ...more });
}

/** A server at a host name, which passkeys need. */
async function scene(t) {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const it = await world(t, { environment: { PARLANCE_PUBLIC_URL: origin }, port });
  it.base = `${origin}/console`;
  await welcome(it);
  await it.page.goto(`${it.base}/settings`);
  return it;
}

async function add(page, name) {
  await section(page).getByRole("button", { name: "Add passkey" }).click();
  await dialog(page).getByLabel("Name").fill(name);
  await dialog(page).getByLabel("Your password").fill(PASSWORD);
  await dialog(page).getByRole("button", { name: "Add passkey" }).click();
}

test("a_passkey_is_added_and_logs_in_without_a_password", { skip }, async t => {
  const it = await scene(t);
  const { page, base, server, seen } = it;
  const mine = await device(page);
  await section(page).getByText("You have no passkeys.").waitFor();
  await section(page).getByRole("button", { name: "Add passkey" }).click();
  assert.deepEqual(await violations(page), []);
  await dialog(page).getByLabel("Name").fill("Laptop");
  await dialog(page).getByLabel("Your password").fill("not the password");
  await dialog(page).getByRole("button", { name: "Add passkey" }).click();
  await dialog(page).locator(".field .fault", { hasText: "Is wrong" }).waitFor();
  await dialog(page).getByLabel("Your password").fill(PASSWORD);
  await dialog(page).getByRole("button", { name: "Add passkey" }).click();
  await section(page).getByText("Laptop").waitFor();
  const { credentials: [credential] } = await mine("getCredentials");
  assert.equal(credential.isResidentCredential, true);
  assert.equal(credential.rpId, "localhost");
  // The same device holds one only.
  await add(page, "Again");
  await dialog(page).getByText("This device already holds a passkey of your account.").waitFor();
  await page.keyboard.press("Escape");

  const other = await anotherBrowser(t, it);
  const theirs = await device(other.page);
  await theirs("addCredential", { credential });
  await other.page.goto(`${base}/login`);
  const logIn = other.page.getByRole("button", { name: "Log in with a passkey" });
  await logIn.waitFor();
  assert.deepEqual(await violations(other.page), []);
  // Whoever finds the device cannot unlock it.
  await theirs("setUserVerified", { isUserVerified: false });
  await logIn.click();
  await other.page.getByText("The device did not confirm in time").waitFor();
  await theirs("setUserVerified", { isUserVerified: true });
  await logIn.click();
  await other.page.getByRole("navigation").waitFor();
  await other.page.reload();
  await other.page.getByRole("navigation").waitFor();
  const [listed] = await server.call("GET", "/me/passkeys");
  assert.deepEqual([listed.name, typeof listed.last_used_at], ["Laptop", "string"]);
  for (const one of [seen, other.seen]) assertClean(one);
});

test("a_passkey_is_renamed_and_removed_with_its_sessions", { skip }, async t => {
  const it = await scene(t);
  const { page, base, server, seen } = it;
  const mine = await device(page);
  await add(page, "Laptop");
  await section(page).getByRole("button", { name: /^Rename.*Laptop/ }).click();
  await dialog(page).getByLabel("Name").fill("Old laptop");
  await dialog(page).getByRole("button", { name: "Rename" }).click();
  await section(page).getByText("Old laptop").waitFor();

  const { credentials: [credential] } = await mine("getCredentials");
  const other = await anotherBrowser(t, it);
  const theirs = await device(other.page);
  await theirs("addCredential", { credential });
  await other.page.goto(`${base}/login`);
  await other.page.getByRole("button", { name: "Log in with a passkey" }).click();
  await other.page.getByRole("navigation").waitFor();

  await section(page).getByRole("button", { name: /^Remove.*Old laptop/ }).click();
  await dialog(page).getByLabel("Your password").fill(PASSWORD);
  await dialog(page).getByRole("button", { name: "Remove" }).click();
  await section(page).getByText("You have no passkeys.").waitFor();
  await other.page.getByText("Your session has ended. Log in again.").waitFor();
  await other.page.getByRole("button", { name: "Log in with a passkey" }).click();
  await other.page.getByText("Nobody on this server has this passkey.").waitFor();
  await until("the list is empty", async () => (await server.call("GET", "/me/passkeys")).length === 0);
  for (const one of [seen, other.seen]) assertClean(one);
});

test("without_a_host_name_there_is_no_button", { skip }, async t => {
  const it = await world(t);
  const { page, base, seen } = it;
  await page.goto(`${base}/login`);
  await page.getByLabel("Handle or email").waitFor();
  await welcome(it);
  await page.goto(`${base}/settings`);
  await section(page).getByText("This server has no passkeys.").waitFor();
  assert.equal(await section(page).getByRole("button", { name: "Add passkey" }).count(), 0);
  const other = await anotherBrowser(t, it);
  const answered = other.page.waitForResponse(answer => answer.url().endsWith("/console/oidc"));
  await other.page.goto(`${base}/login`);
  assert.equal((await (await answered).json()).has_passkeys, false);
  assert.equal(await other.page.getByRole("button", { name: "Log in with a passkey" }).count(), 0);
  for (const one of [seen, other.seen]) assertClean(one);
});
