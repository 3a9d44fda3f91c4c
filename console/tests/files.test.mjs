// Files: what people attach, what the page shows of it, and what it hands out.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { png, upload } from "./uploads.mjs";
import { assertClean, BROWSER, closeBrowser, LOOKS, logIn, openRoom, reflows, until, violations, world } from "./world.mjs";

after(closeBrowser);

const composer = page => page.getByLabel("Message", { exact: true });
const tray = page => page.getByRole("list", { name: "Files to send" }).getByRole("listitem");
const send = page => page.getByRole("button", { name: "Send", exact: true });
const chooser = page => page.locator("input[type=file]");
const ready = (page, count = 1) => until(`${count} files are ready`, async () => (await tray(page).filter({ hasText: "ready" }).count()) === count);
const shown = (page, text) => page.locator("[data-text]", { hasText: text });
const file = (name, content, mimeType = "application/octet-stream") => ({ name, mimeType, buffer: Buffer.from(content) });
const messages = (server, room) => server.call("GET", `/me/chats/${room}/messages?limit=20&message_types=text`).then(list => list.reverse());

const GIF = Buffer.from("R0lGODlhAQABAIAAAAUEBAAAACwAAAAAAQABAAACAkQBADs=", "base64");
const WEBP = Buffer.from("UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA=", "base64");
const JPEG = Buffer.from("/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////2wBDAVVaWnhpeOuCguv/////////////////////////////////////////////////////////////////////////wAARCAABAAEDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAH/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAAAP/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AKAD/9k=", "base64");

const sayWith = (server, room, content, files) => server.call("POST", `/me/chats/${room}/messages`, { message: { content, attachment_ids: files.map(one => one.id) } });

/** `world` with a page that tells which blobs it keeps. Playwright does not see the downloads of Firefox, so there, it also tells what it hands out. */
async function place(t, options) {
  const it = await world(t, options);
  await it.page.addInitScript(isFirefox => {
    const kept = globalThis.keptBlobs = new Map();
    const { createObjectURL, revokeObjectURL } = URL;
    URL.createObjectURL = blob => { const url = createObjectURL.call(URL, blob); kept.set(url, blob); return url; };
    URL.revokeObjectURL = url => { kept.delete(url); revokeObjectURL.call(URL, url); };
    if (isFirefox) HTMLAnchorElement.prototype.click = function () { globalThis.handedOut = { name: this.download, blob: kept.get(this.href) }; };
  }, BROWSER === "firefox");
  return it;
}

/** What the browser saves after `press`. */
async function saved(page, press) {
  if (BROWSER === "firefox") {
    await page.evaluate(() => { globalThis.handedOut = null; });
    await press();
    const read = () => page.evaluate(async () => {
      const { name, blob } = globalThis.handedOut ?? {};
      if (!blob) return null;
      const bytes = new Uint8Array(await blob.arrayBuffer());
      let text = "";
      for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
      return { name, type: blob.type, content: btoa(text) };
    });
    const { name, type, content } = await until("a file is handed out", read);
    assert.equal(type, "application/octet-stream");
    return { name, content: Buffer.from(content, "base64") };
  }
  const [download] = await Promise.all([page.waitForEvent("download"), press()]);
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
}

test("files_are_attached_and_downloaded_as_they_were", async t => {
  const it = await place(t);
  const { page, server, seen } = it;
  const room = await server.room("Files");
  await logIn(it);
  await openRoom(it, room);

  // A name is text, whatever it says.
  const name = `<img src=x onerror=alert(1)> & "ü" 100%.bin`;
  const content = randomBytes(3_000_000);
  const [opened] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", { name: "Attach files" }).click()]);
  assert.equal(opened.isMultiple(), true);
  await opened.setFiles([{ name, mimeType: "text/html", buffer: content }, file("empty.txt", ""), file("page.html", "<script>alert(1)</script>", "text/html")]);
  await ready(page, 3);
  assert.match(await tray(page).first().innerText(), /3 MB · ready/);
  assert.match(await tray(page).nth(1).innerText(), /0 bytes · ready/);
  await page.locator(".composer [role=status]", { hasText: "3 files ready" }).waitFor();
  await composer(page).fill("Here they are");
  await composer(page).press("Enter");
  const row = shown(page, "Here they are");
  await row.locator(".files li").nth(2).waitFor();
  await until("the list is empty", async () => (await tray(page).count()) === 0);
  const [message] = await messages(server, room);
  assert.equal(message.content, "Here they are");
  assert.deepEqual(message.attachments.map(one => [one.name, one.bytes, one.expires_at]), [[name, content.length, null], ["empty.txt", 0, null], ["page.html", 25, null]]);
  assert.equal(await row.locator(".files bdi").first().innerText(), name);
  assert.equal(await row.locator(".files img").count(), 0);

  const first = await saved(page, () => row.getByRole("button", { name: `Download ${name}`, exact: true }).click());
  assert.ok(first.content.equals(content));
  // Browsers replace what a file system does not take.
  assert.match(first.name, /img src=x onerror=alert\(1\). & .ü. 100%\.bin$/);
  assert.equal((await saved(page, () => row.getByRole("button", { name: "Download empty.txt" }).click())).content.length, 0);
  const html = await saved(page, () => row.getByRole("button", { name: "Download page.html" }).click());
  assert.deepEqual([html.name, html.content.toString()], ["page.html", "<script>alert(1)</script>"]);

  // A message without a text of its own names its files.
  await chooser(page).setInputFiles(file("notes.txt", "abc"));
  await ready(page);
  await send(page).click();
  await shown(page, "Shared a file: notes.txt").getByRole("button", { name: "Download notes.txt" }).waitFor();
  assertClean(seen);
});

test("files_are_dropped_and_pasted", async t => {
  const it = await place(t);
  const { page, server, seen } = it;
  const room = await server.room("Drops");
  await logIn(it);
  await openRoom(it, room);
  /** What a file manager or another page does. */
  const give = (type, target, files, others = {}) => page.evaluate(([kind, selector, list, texts]) => {
    const data = new DataTransfer();
    for (const [fileName, text, mime] of list) data.items.add(new File([text], fileName, { type: mime }));
    for (const [format, text] of Object.entries(texts)) data.setData(format, text);
    const event = kind === "paste" ? new ClipboardEvent(kind, { clipboardData: data, bubbles: true, cancelable: true }) : new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
    // Firefox makes its own copy.
    if (kind === "paste" && event.clipboardData.files.length !== list.length) Object.defineProperty(event, "clipboardData", { value: data });
    document.querySelector(selector).dispatchEvent(event);
    return event.defaultPrevented;
  }, [type, target, files, others]);

  assert.equal(await give("dragover", ".feed", [["a.txt", "a", "text/plain"]]), true);
  await page.locator(".composer.dropping").waitFor();
  assert.equal(await give("drop", ".feed", [["a.txt", "a", "text/plain"], ["b.txt", "b", "text/plain"]]), true);
  await ready(page, 2);
  await until("the drop is over", async () => (await page.locator(".composer.dropping").count()) === 0);
  assert.equal(await page.evaluate(() => document.activeElement.id), "composer");

  // A picture is attached. A text stays a text, also one that a word processor copies with a picture of it.
  assert.equal(await give("paste", "#composer", [["image.png", "\x89PNG", "image/png"]]), true);
  await ready(page, 3);
  assert.equal(await give("paste", "#composer", [], { "text/plain": "hello" }), false);
  assert.equal(await give("paste", "#composer", [["image.png", "x", "image/png"]], { "text/plain": "hello", "text/html": "<b>hello</b>" }), false);
  assert.equal(await give("drop", ".feed", [], { "text/plain": "hello" }), false);
  assert.equal(await tray(page).count(), 3);

  if (BROWSER === "chromium") {
    // A real drop, of a file and a folder.
    const directory = mkdtempSync(join(tmpdir(), "parlance-drop-"));
    t.after(() => rmSync(directory, { recursive: true }));
    mkdirSync(join(directory, "folder"));
    writeFileSync(join(directory, "real.txt"), "real");
    const devtools = await it.context.newCDPSession(page);
    const box = await page.locator("nav").boundingBox();
    for (const type of ["dragEnter", "dragOver", "drop"]) {
      await devtools.send("Input.dispatchDragEvent", { type, x: box.x + 20, y: box.y + 20, data: { items: [], files: [join(directory, "real.txt"), join(directory, "folder")], dragOperationsMask: 1 } });
    }
    await page.getByText("Folders cannot be attached.").waitFor();
    await ready(page, 4);
    assert.match(await tray(page).last().innerText(), /real\.txt/);
  }

  // A message takes ten.
  await chooser(page).setInputFiles(Array.from({ length: 9 }, (_, count) => file(`more-${count}.txt`, `more ${count}`)));
  await page.getByText("A message can have at most 10 files.").waitFor();
  await ready(page, 10);
  await composer(page).press("Enter");
  await page.locator(".files li").nth(9).waitFor();
  assert.equal((await messages(server, room))[0].attachments.length, 10);
  assertClean(seen);
});

test("pictures_are_shown_without_being_opened", async t => {
  const it = await place(t);
  const { page, server, seen } = it;
  const room = await server.room("Pictures");
  const files = [];
  for (const [name, content] of [["red.png", png(40, 20)], ["dot.gif", GIF], ["dot.webp", WEBP], ["dot.jpg", JPEG]]) files.push(await upload(server, room, name, content));
  const svg = await upload(server, room, "evil.svg", `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`);
  const bomb = await upload(server, room, "bomb.png", png(40_000, 40_000, undefined, 1));
  const broken = await upload(server, room, "broken.png", png(30, 30).subarray(0, 40));
  await sayWith(server, room, "Look", [...files, svg, bomb, broken]);
  for (let count = 0; count < 40; count++) await server.say(room, `Line ${count}\n\n${"and more\n\n".repeat(6)}`);
  const fetched = [];
  page.on("request", request => { if (request.url().includes("/files/")) fetched.push(request.url()); });
  await logIn(it);
  await openRoom(it, room);
  await page.getByText("Line 39").last().waitFor();
  await page.locator(".files").first().waitFor({ state: "attached" });
  await page.waitForTimeout(500);
  assert.deepEqual(fetched, [], "pictures are fetched when they are about to be seen");

  const row = shown(page, "Look");
  await row.scrollIntoViewIfNeeded();
  for (const { name } of files) await row.locator("li", { hasText: name }).locator("img").waitFor();
  await until("the pictures have arrived", () => row.locator("img").evaluateAll(all => all.length === 4 && all.every(one => one.complete && one.naturalWidth > 0 && one.src.startsWith("blob:"))));
  await until("damaged and huge ones are not shown", async () => (await row.getByText("No preview. The picture is damaged or too large.").count()) === 2);
  assert.equal(await row.locator("li", { hasText: "evil.svg" }).locator(".thumb").count(), 0);

  await row.getByRole("button", { name: "Enlarge red.png" }).click();
  const dialog = page.locator("dialog[open]");
  await dialog.getByRole("img", { name: "red.png" }).waitFor();
  assert.equal(await dialog.getByRole("img").evaluate(one => one.naturalWidth), 40);
  const { name, content } = await saved(page, () => dialog.getByRole("button", { name: "Download red.png" }).click());
  assert.equal(name, "red.png");
  assert.ok(content.equals(png(40, 20)));
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Enlarge red.png");

  // What is far away is let go, and comes back.
  const url = await row.locator("img").first().getAttribute("src");
  const isKept = () => page.evaluate(one => globalThis.keptBlobs.has(one), url);
  assert.equal(await isKept(), true);
  await page.locator(".feed").evaluate(feed => { feed.scrollTop = feed.scrollHeight; });
  await until("the pictures are let go", async () => (await row.locator("img").count()) === 0);
  assert.equal(await isKept(), false);
  await row.scrollIntoViewIfNeeded();
  await until("the pictures are back", async () => (await row.locator("img").count()) === 4);
  assert.notEqual(await row.locator("img").first().getAttribute("src"), url);
  assertClean(seen);
});

test("an_interrupted_upload_is_repeated_or_kept", async t => {
  const it = await place(t);
  const { page, server, seen } = it;
  const room = await server.room("Trouble");
  const other = await server.room("Elsewhere");
  await logIn(it);
  await openRoom(it, room);
  const uploads = [];
  it.console.faults.answer = request => {
    if (request.method !== "PUT") return null;
    uploads.push(request.headers["x-file-name"]);
    return uploads.length <= 2 ? "cut" : null;
  };
  await chooser(page).setInputFiles(file("again.txt", "again"));
  await ready(page);
  assert.equal(uploads.length, 3);

  // The server stays away: the file and the text are kept, and nothing can be sent.
  it.console.faults.answer = request => (request.method === "PUT" ? "gateway" : null);
  await chooser(page).setInputFiles(file("away.txt", "away"));
  await composer(page).fill("Both");
  await page.getByText("Waiting for files to upload.").waitFor();
  assert.equal(await send(page).isDisabled(), true);
  await composer(page).press("Enter");
  await tray(page).last().getByText("Bad gateway").waitFor();
  await page.getByText("Some files were not uploaded.").waitFor();
  assert.equal(await composer(page).inputValue(), "Both");

  // They are still there after a look at another room.
  await page.getByRole("link", { name: /Elsewhere/ }).click();
  await page.getByRole("heading", { name: "Elsewhere" }).waitFor();
  assert.equal(await tray(page).count(), 0);
  await page.getByRole("link", { name: /Trouble/ }).click();
  await tray(page).last().getByText("Bad gateway").waitFor();
  it.console.faults.answer = () => null;
  await tray(page).last().getByRole("button", { name: "Try again away.txt" }).click();
  await ready(page, 2);

  // A text that cannot be sent keeps its files.
  it.console.faults.answer = request => (request.method === "POST" && request.url.endsWith("/messages") ? "gateway" : null);
  await server.call("DELETE", `/me/chats/${other}`);
  await send(page).click();
  await page.locator(".pending", { hasText: "Files: again.txt, away.txt" }).waitFor();
  it.console.faults.answer = () => null;
  await shown(page, "Both").locator(".files li").nth(1).waitFor();
  await until("nothing is pending", async () => (await page.locator(".pending").count()) === 0);
  assert.deepEqual((await messages(server, room)).map(one => one.attachments.map(({ name }) => name)), [["again.txt", "away.txt"]]);

  // Leaving the page asks first.
  await chooser(page).setInputFiles(file("unsent.txt", "unsent"));
  await ready(page);
  const asked = page.waitForEvent("dialog");
  const leaving = page.close({ runBeforeUnload: true });
  assert.equal((await asked).type(), "beforeunload");
  await (await asked).dismiss();
  await leaving;
  await page.getByRole("button", { name: "Remove unsent.txt" }).click();
  await until("it is gone", async () => (await tray(page).count()) === 0);
  assertClean(seen);
});

test("uploads_show_their_progress_and_are_cancelled", async t => {
  const it = await place(t);
  const { page, server, seen } = it;
  const room = await server.room("Slow");
  await logIn(it);
  await openRoom(it, room);
  if (BROWSER === "chromium") {
    const devtools = await it.context.newCDPSession(page);
    await devtools.send("Network.enable");
    await devtools.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: 4e5, uploadThroughput: 4e5 });
    await chooser(page).setInputFiles(file("slow.bin", randomBytes(2_000_000)));
    const bar = tray(page).getByRole("progressbar", { name: "Upload of slow.bin" });
    await until("it is under way", async () => (await bar.evaluate(one => one.value)) > 0.1);
    assert.match(await tray(page).innerText(), /2 MB · \d+ %/);
  } else {
    // The upload never leaves the browser.
    await page.route("**/files", () => undefined);
    await chooser(page).setInputFiles(file("slow.bin", "slow"));
  }
  await page.getByRole("button", { name: "Cancel upload of slow.bin" }).click();
  await until("it is gone", async () => (await tray(page).count()) === 0);
  await until("the focus is in the composer", () => page.evaluate(() => document.activeElement.id === "composer"));
  // A few seconds would bring another attempt.
  await page.waitForTimeout(1500);
  const uploads = async () => (await server.call("GET", "/me/organization/audit?limit=50")).filter(one => one.action === "file.uploaded").length;
  assert.equal(await uploads(), 0);
  await page.unroute("**/files");
  await chooser(page).setInputFiles(file("small.bin", "small"));
  await ready(page);
  assert.equal(await uploads(), 1);
  assertClean(seen);
});

test("refusals_of_files_say_what_the_server_says", async t => {
  process.env.PARLANCE_MAX_FILE_BYTES = "2000000";
  process.env.PARLANCE_MAX_ROOM_FILE_BYTES = "2500000";
  t.after(() => { delete process.env.PARLANCE_MAX_FILE_BYTES; delete process.env.PARLANCE_MAX_ROOM_FILE_BYTES; });
  const it = await place(t);
  const { page, server, seen } = it;
  const room = await server.room("Limits");
  await logIn(it);
  await openRoom(it, room);
  await chooser(page).setInputFiles(file("large.bin", Buffer.alloc(30_000_000)));
  // Firefox does not read the answer to a body that the proxy of this test cuts off.
  await tray(page).getByText(BROWSER === "firefox" ? /The file is too large\.|larger than the server allows/ : "The file is too large. Upload at most 2000000 bytes.").waitFor();
  await page.getByRole("button", { name: "Remove large.bin" }).click();
  await chooser(page).setInputFiles(file("one.bin", Buffer.alloc(2_000_000)));
  await ready(page);
  await chooser(page).setInputFiles(file("two.bin", Buffer.alloc(1_000_000)));
  await tray(page).last().getByText(/This room may store 2500000 bytes of files/).waitFor();
  await page.getByRole("button", { name: "Remove two.bin" }).click();
  // The same bytes are one file, under the name that came first.
  await chooser(page).setInputFiles(file("other.bin", Buffer.alloc(2_000_000)));
  await ready(page, 2);
  assert.equal(await tray(page).last().locator("bdi").innerText(), "one.bin");
  await send(page).click();
  const row = shown(page, "Shared 2 files: one.bin, one.bin");
  await row.locator(".files li").first().waitFor();
  assert.equal(await row.locator(".files li").count(), 1);
  assertClean(seen);
});

test("files_that_are_gone_and_rooms_without_files_say_so", async t => {
  const it = await place(t);
  const { page, server, seen } = it;
  const agent = await server.agent("Painter");
  const room = await server.room("Gallery", agent);
  // Made by an agent, seen live.
  await logIn(it);
  await openRoom(it, room);
  await server.say(room, "Paint something");
  await shown(page, "Paint something").waitFor();
  const user = await server.call("GET", "/me/profile");
  const picture = await upload(server, room, "live.png", png(30, 30), agent.key);
  const notes = await upload(server, room, "notes.txt", "notes", agent.key);
  await server.call("POST", `/agent/chats/${room}/messages`, { message: { content: "@admin done", mentions: [{ id: user.id }], attachment_ids: [picture.id, notes.id] } }, agent.key);
  const row = shown(page, "done");
  await row.getByRole("button", { name: "Enlarge live.png" }).waitFor();
  await page.getByRole("log").getByText("(2 files)").waitFor({ state: "attached" });
  // The list of what followed shows them too.
  const message = (await messages(server, room)).at(-1);
  await page.goto(`${it.base}/rooms/${room}/tree/${message.id}`);
  await page.locator(".tree").getByRole("button", { name: "Download notes.txt" }).waitFor();

  // The page does not know yet that the room is gone.
  await openRoom(it, room);
  await row.getByRole("button", { name: "Download notes.txt" }).waitFor();
  // The preview has what it needs.
  await row.getByRole("button", { name: "Enlarge live.png" }).waitFor();
  await page.route("**/files/*", route => route.fulfill({ status: 404, contentType: "application/json", body: `{"error":{"code":"not_found","message":"Resource not found","request_id":"x"}}` }));
  await row.getByRole("button", { name: "Download notes.txt" }).click();
  await row.getByText("This file no longer exists, or you have no access to it.").waitFor();
  await page.unroute("**/files/*");
  assert.equal((await saved(page, () => row.getByRole("button", { name: "Download notes.txt" }).click())).content.toString(), "notes");
  await until("the fault is gone", async () => (await row.getByText("This file no longer exists").count()) === 0);

  assertClean(seen);
});

test("a_session_that_ends_stops_transfers", async t => {
  const it = await place(t);
  const { page, server, seen } = it;
  const room = await server.room("Revoked");
  await sayWith(server, room, "Read this", [await upload(server, room, "notes.txt", "notes")]);
  const { api_key, credentials } = await server.call("POST", "/me/api-keys", { api_key: { name: "other" } });
  await logIn({ ...it, server: { key: credentials.api_key } });
  await openRoom(it, room);
  let [downloads, ends] = [0, 0];
  page.on("download", () => { downloads++; });
  page.on("requestfailed", request => { if (request.url().includes("/files")) ends++; });
  const held = [];
  await page.route("**/files**", route => { held.push(route); });
  await shown(page, "Read this").getByRole("button", { name: "Download notes.txt" }).click();
  await page.getByRole("progressbar", { name: "Download of notes.txt" }).waitFor();
  await chooser(page).setInputFiles(file("mine.txt", "mine"));
  await until("both are under way", () => held.length === 2);
  await server.call("DELETE", `/me/api-keys/${api_key.id}`);
  await page.getByText("Your session has ended").waitFor();
  // Firefox does not report that a request was stopped that Playwright holds.
  if (BROWSER !== "firefox") await until("both are stopped", () => ends === 2);
  for (const route of held) await route.continue().catch(() => undefined);

  // The next user of this browser finds nothing of it.
  await page.unroute("**/files**");
  await logIn(it);
  await openRoom(it, room);
  assert.equal(await tray(page).count(), 0);
  assert.equal(downloads, 0);
  assertClean(seen);
});

test("observers_read_files_and_a_server_without_them_offers_none", async t => {
  const it = await place(t);
  const { page, server } = it;
  const [one, two] = [await server.agent("One"), await server.agent("Two")];
  const foreign = await server.call("POST", "/agent/chats", { chat: {} }, one.key);
  await server.call("POST", `/agent/chats/${foreign.id}/participants`, { participant: { participant_id: two.id } }, one.key);
  const notes = await upload(server, foreign.id, "secret.txt", "between agents", one.key);
  await server.call("POST", `/agent/chats/${foreign.id}/messages`, { message: { content: "@admin/two read this", mentions: [{ id: two.id }], attachment_ids: [notes.id] } }, one.key);
  await logIn(it);
  await page.goto(`${it.base}/rooms/${foreign.id}`);
  const row = shown(page, "read this");
  const { content } = await saved(page, () => row.getByRole("button", { name: "Download secret.txt" }).click());
  assert.equal(content.toString(), "between agents");
  assert.equal(await page.getByRole("button", { name: "Attach files" }).count(), 0);

  await server.stop();
  server.environment.PARLANCE_MAX_FILE_BYTES = "0";
  await server.run();
  const room = await server.room("None");
  await page.reload();
  await openRoom(it, room);
  await until("nothing is offered", async () => (await page.getByRole("button", { name: "Attach files" }).count()) === 0);
});

test("without_the_script_of_files_their_names_are_shown", async t => {
  const it = await place(t);
  const { page, server } = it;
  const room = await server.room("Names");
  await sayWith(server, room, "Look", [await upload(server, room, "a.txt", "a"), await upload(server, room, "b.png", png(9, 9))]);
  await page.route("**/later.js", route => route.abort());
  await logIn(it);
  await openRoom(it, room);
  await shown(page, "Look").getByText("Files: a.txt, b.png").waitFor();
  await page.getByText("Files cannot be loaded or attached now.").waitFor();
  await page.unroute("**/later.js");
  await page.reload();
  await shown(page, "Look").getByRole("button", { name: "Enlarge b.png" }).waitFor();
});

test("who_is_removed_or_finds_no_files_is_told", async t => {
  const it = await place(t);
  const { page, server, seen } = it;
  const room = await server.room("Off");
  await logIn(it);
  await openRoom(it, room);
  // The page learns it when it asks for its next token.
  await server.stop();
  server.environment.PARLANCE_MAX_FILE_BYTES = "0";
  await server.run();
  await chooser(page).setInputFiles(file("a.txt", "a"));
  await tray(page).getByText("You cannot upload files to this room.").waitFor();

  await server.stop();
  delete server.environment.PARLANCE_MAX_FILE_BYTES;
  await server.run();
  const bob = server.user("bob", "Bob");
  const me = await server.call("GET", "/me/profile");
  const { id: request } = await server.call("POST", "/me/contacts/requests", { contact_request: { recipient_handle: "bob" } });
  await server.call("POST", `/me/contacts/requests/${request}/approve`, {}, bob);
  const other = await server.call("POST", "/me/chats", { chat: { title: "Of Bob" } }, bob);
  await server.call("POST", `/me/chats/${other.id}/participants`, { participant: { participant_id: me.id } }, bob);
  await openRoom(it, other.id);
  await page.route("**/files", () => undefined);
  await chooser(page).setInputFiles(file("b.txt", "b"));
  await page.getByText("Waiting for files to upload.").waitFor();
  await server.call("DELETE", `/me/chats/${other.id}/participants/${me.id}`, undefined, bob);
  await page.getByText("You are no longer in this room.").waitFor();
  // Nothing is left that keeps the page from being closed.
  let asked = 0;
  page.on("dialog", dialog => { asked++; void dialog.accept(); });
  await page.goto(`${it.base}/settings`);
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  assert.equal(asked, 0);
  assertClean(seen);
});

test("files_need_no_mouse", async t => {
  const it = await place(t);
  const { page, server, seen } = it;
  const room = await server.room("Keys");
  // The browser's own dialog does not open once somebody listens.
  page.on("filechooser", () => undefined);
  await logIn(it);
  await openRoom(it, room);
  await composer(page).focus();
  await page.keyboard.press("Shift+Tab");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Attach files");
  const [opened] = await Promise.all([page.waitForEvent("filechooser"), page.keyboard.press("Enter")]);
  await opened.setFiles([file("one.txt", "1"), file("two.png", png(60, 40))]);
  await ready(page, 2);
  await composer(page).focus();
  for (const expected of ["Attach files", "Remove two.png", "Remove one.txt"]) {
    await page.keyboard.press("Shift+Tab");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), expected);
  }
  await page.keyboard.press("Enter");
  await until("it is gone", async () => (await tray(page).count()) === 1);
  await until("the focus is in the composer", () => page.evaluate(() => document.activeElement.id === "composer"));
  await page.keyboard.press("Enter");
  const open = page.getByRole("button", { name: "Enlarge two.png" });
  await open.waitFor();
  await open.focus();
  await page.keyboard.press("Enter");
  await page.locator("dialog[open] img").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  const { name } = await saved(page, () => page.keyboard.press("Enter"));
  assert.equal(name, "two.png");
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Enlarge two.png");
  assertClean(seen);
});

test("a_transcript_is_a_page_of_its_own", async t => {
  const it = await place(t);
  const { page, server, seen } = it;
  const room = await server.room("Launch", await server.agent("Writer"));
  await server.call("POST", `/me/chats/${room}/messages`, { message: { content: "<b>Ready</b> & steady" } });
  await logIn(it);
  await openRoom(it, room);
  const { name, content } = await saved(page, async () => {
    await page.getByRole("main").getByRole("button", { name: "More actions", exact: true }).click();
    await page.getByRole("menuitem", { name: "Download transcript" }).click();
  });
  assert.equal(name, `transcript-${room}.html`);
  // On an empty page, where the policy of the console does not apply.
  await page.goto("about:blank");
  await page.setContent(content.toString());
  await page.getByRole("heading", { name: "Launch" }).waitFor();
  await page.getByText("<b>Ready</b> & steady", { exact: true }).waitFor();
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    assert.ok(await reflows(page), `${width} px: scrolls sideways`);
    assert.deepEqual(await violations(page), []);
  }
  assertClean(seen);
});

for (const [colorScheme, width] of LOOKS) {
  test(`axe_finds_nothing_in_files: ${colorScheme}, ${width} px`, async t => {
    const it = await place(t, { viewport: { width, height: 800 }, colorScheme, reducedMotion: "reduce" });
    const { page, server, seen } = it;
    const room = await server.room("Axe");
    await sayWith(server, room, "Look", [await upload(server, room, "a picture.png", png(300, 200)), await upload(server, room, `${"long-name-".repeat(20)}.txt`, "x"), await upload(server, room, "broken.png", png(9, 9).subarray(0, 40))]);
    await logIn(it);
    await openRoom(it, room);
    await page.getByText("No preview.").waitFor();
    await page.getByRole("button", { name: "Enlarge a picture.png" }).waitFor();
    it.console.faults.answer = request => (request.method === "PUT" && request.headers["x-file-name"] !== "fine.txt" ? "gateway" : null);
    await chooser(page).setInputFiles([file("fine.txt", "fine"), file(`${"failing-".repeat(12)}.txt`, "failing")]);
    const check = async what => {
      assert.deepEqual((await violations(page)).map(one => `${what}: ${one}`), []);
      assert.ok(await reflows(page), `${what} scrolls sideways`);
    };
    await ready(page);
    await check("uploading");
    await tray(page).getByText("Bad gateway").waitFor();
    await check("failed");
    await page.getByRole("button", { name: "Enlarge a picture.png" }).click();
    await page.locator("dialog[open] img").waitFor();
    await check("enlarged");
    assertClean(seen);
  });
}
