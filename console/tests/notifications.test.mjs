// Channels by which the user is told what waits: a webhook, and this browser.
import assert from "node:assert/strict";
import { createDecipheriv, createECDH, hkdfSync } from "node:crypto";
import http from "node:http";
import { after, test } from "node:test";
import { assertClean, BROWSER, closeBrowser, logIn, reflows, submit, until, violations, world } from "./world.mjs";

after(closeBrowser);
// chromium-headless-shell shows no notifications.
delete process.env.CONSOLE_CHROMIUM;

/** Takes what the server sends. */
async function receiver(t) {
  const requests = [];
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    requests.push({ path: request.url, headers: request.headers, body: Buffer.concat(chunks) });
    response.writeHead(server.status ?? 201);
    response.end();
  });
  await new Promise(resolve => server.listen(0, "127.0.0.1", resolve));
  t.after(() => { server.close(); server.closeAllConnections(); });
  const get = async count => { await until(`request ${count}`, () => requests.length >= count); return requests[count - 1]; };
  return { server, requests, get, url: `http://127.0.0.1:${server.address().port}` };
}

async function place(t, options) {
  const it = await world(t, options);
  const got = await receiver(t);
  Object.assign(it.server.environment, { PARLANCE_WEBHOOKS_ALLOW_PRIVATE: "127.0.0.1" });
  await it.server.stop();
  await it.server.run();
  await logIn(it);
  await it.page.goto(`${it.base}/settings`);
  const part = it.page.getByRole("region", { name: "Notifications", exact: true });
  await part.getByText("You are not notified").waitFor();
  return { ...it, got, part };
}

const dialog = page => page.locator("dialog[open]").last();

test("a_channel_is_added_tested_and_removed", async t => {
  const it = await place(t);
  const { page, part, got, seen } = it;
  await part.getByRole("button", { name: "Add channel" }).click();
  await dialog(page).getByLabel("Kind").selectOption({ label: "Webhook" });
  await dialog(page).getByLabel("URL").fill("ftp://example.org");
  await submit(page, "Add channel");
  await dialog(page).locator(".field .fault").waitFor();
  await dialog(page).getByLabel("URL").fill(`${got.url}/in`);
  await dialog(page).getByLabel("Quiet hours").fill("at night");
  await submit(page, "Add channel");
  await dialog(page).locator(".field .fault").waitFor();
  await dialog(page).getByLabel("Quiet hours").fill("22:00-07:00 Europe/Zurich");
  await dialog(page).getByLabel("What a notification shows").selectOption({ label: "Room and sender" });
  await submit(page, "Add channel");
  await page.getByRole("heading", { name: "The channel was added" }).waitFor();
  assert.match(await dialog(page).getByRole("group", { name: "Signing secret" }).innerText(), /^whsec_/);
  await dialog(page).getByRole("button", { name: "Done" }).click();
  await submit(page, "Close anyway");
  const name = `Webhook (${new URL(got.url).host})`;
  await part.getByText(`${name}: on`).waitFor();
  await part.getByText("Room and sender · quiet 22:00-07:00 Europe/Zurich").waitFor();
  await part.getByRole("button", { name: `Send test ${name}` }).click();
  assert.equal(JSON.parse((await got.get(1)).body).data.title, "This is a test");
  await part.getByText("delivered", { exact: false }).waitFor();
  assert.deepEqual(await violations(page), []);
  await page.setViewportSize({ width: 390, height: 800 });
  assert.ok(await reflows(page));

  got.server.status = 410;
  await part.getByRole("button", { name: `Send test ${name}` }).click();
  await part.getByText(`${name}: off`).waitFor();
  await part.getByText("The receiver refused for good: status 410").waitFor();
  await part.getByRole("button", { name: `Switch on ${name}` }).click();
  await part.getByText(`${name}: on`).waitFor();
  await part.getByRole("button", { name: `Remove ${name}` }).click();
  await submit(page, "Remove");
  await part.getByText("You are not notified").waitFor();
  assertClean(seen);
});

/** The text of a push, as a browser with these keys reads it (RFC 8291). */
function decrypted(body, keys, auth) {
  const [salt, length] = [body.subarray(0, 16), body[20]];
  const [server, record] = [body.subarray(21, 21 + length), body.subarray(21 + length)];
  const derive = (salt, secret, info, bytes) => Buffer.from(hkdfSync("sha256", secret, salt, info, bytes));
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), keys.getPublicKey(), server]);
  const secret = derive(auth, keys.computeSecret(server), info, 32);
  const key = derive(salt, secret, Buffer.from("Content-Encoding: aes128gcm\0"), 16);
  const nonce = derive(salt, secret, Buffer.from("Content-Encoding: nonce\0"), 12);
  const cipher = createDecipheriv("aes-128-gcm", key, nonce);
  cipher.setAuthTag(record.subarray(-16));
  const text = Buffer.concat([cipher.update(record.subarray(0, -16)), cipher.final()]);
  return text.subarray(0, text.lastIndexOf(2)).toString();
}

// There is no push service in a test, so the subscription is that of the test. Firefox grants no permission to a test.
test("this_browser_shows_what_is_pushed", { skip: BROWSER !== "chromium" }, async t => {
  const it = await place(t);
  const { page, part, got, context, server, base, seen } = it;
  const keys = createECDH("prime256v1");
  keys.generateKeys();
  const auth = Buffer.from("0123456789abcdef");
  await context.grantPermissions(["notifications"], { origin: new URL(base).origin });
  const subscription = { endpoint: `${got.url}/push/1`, keys: { p256dh: keys.getPublicKey("base64url"), auth: auth.toString("base64url") } };
  await page.addInitScript(subscription => {
    PushManager.prototype.getSubscription = async () => null;
    PushManager.prototype.subscribe = async ({ applicationServerKey }) => ({ toJSON: () => ({ ...subscription, used: applicationServerKey }) });
  }, subscription);
  await page.reload();
  const devtools = await context.newCDPSession(page);
  let registration = "";
  devtools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => { registration = registrations.at(-1)?.registrationId ?? registration; });
  await devtools.send("ServiceWorker.enable");
  await part.getByRole("button", { name: "Add channel" }).click();
  await dialog(page).getByLabel("Kind").selectOption({ label: "This browser" });
  await submit(page, "Add channel");
  await part.getByText(/This browser .*: on/).waitFor();

  const bot = await server.agent("Bot");
  const room = await server.room("Orders", bot);
  await server.call("POST", `/agent/chats/${room}/events`, { event: { content: "Which key?", message_type: "attention", metadata: { kind: "question" } } }, bot.key);
  const pushed = await got.get(1);
  const text = decrypted(pushed.body, keys, auth);
  assert.equal(JSON.parse(text).title, "A question waits for your answer");
  await until("the worker", () => registration);
  await devtools.send("ServiceWorker.deliverPushMessage", { origin: new URL(base).origin, registrationId: registration, data: text });
  const shown = () => page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications()).map(one => one.title));
  await until("the notification", async () => (await shown()).includes("A question waits for your answer"));
  assertClean(seen);
});
