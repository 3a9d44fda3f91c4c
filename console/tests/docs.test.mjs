// The documentation of the server, which is on the origin of the console.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { assertClean, closeBrowser, logIn, watch, world } from "./world.mjs";

after(closeBrowser);

test("the_console_links_to_the_documentation_which_cannot_use_its_session", async t => {
  const book = mkdtempSync(join(tmpdir(), "parlance-book-"));
  t.after(() => rmSync(book, { recursive: true, force: true }));
  // As mdBook writes its pages.
  writeFileSync(join(book, "index.html"), `<!DOCTYPE html><html lang="en"><title>Book</title>
    <script>const path_to_root = "";</script><script src="book.js"></script><p style="clear: both">Read</p></html>`);
  mkdirSync(join(book, "start"));
  writeFileSync(join(book, "start/index.html"), `<!DOCTYPE html><html lang="en"><title>Start</title><p>Connect</p></html>`);
  writeFileSync(join(book, "book.js"), `document.title = "Ready" + path_to_root;`);
  const it = await world(t, { environment: { PARLANCE_DOCS_DIRECTORY: book } });
  await logIn(it);
  const link = it.page.getByRole("link", { name: "Documentation" });
  const [page] = await Promise.all([it.context.waitForEvent("page"), link.click()]);
  const seen = watch(page);
  await page.waitForFunction(() => document.title === "Ready");
  assert.equal(new URL(page.url()).pathname, "/docs/");
  await page.reload();
  await page.waitForFunction(() => document.title === "Ready");
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector("p")).clear), "both");
  assertClean(seen);

  const done = await page.evaluate(async () => {
    const script = document.createElement("script");
    script.textContent = "document.title = 'Injected'";
    document.body.append(script);
    const asked = fetch("/console/session/token", { method: "POST" });
    return [document.title, await asked.then(answer => answer.status, () => "refused")];
  });
  assert.deepEqual(done, ["Ready", "refused"]);

  // Whoever registers an agent finds the guides, and installs the version that they name.
  await page.close();
  await it.page.goto(`${it.base}/agents/new`);
  await it.page.getByLabel("Name").fill("Echo");
  await it.page.getByLabel("What does it do?").fill("Answers");
  await it.page.getByRole("button", { name: "Register", exact: true }).click();
  const [, version] = /band-sdk==(\S+)/.exec(await it.page.getByRole("group", { name: "Start the agent with it" }).innerText());
  assert.ok(readFileSync(new URL("../../tests/clients/requirements.txt", import.meta.url), "utf8").includes(`band-sdk==${version}\n`));
  const [guides] = await Promise.all([it.context.waitForEvent("page"), it.page.getByRole("link", { name: "Connect an agent with a framework" }).click()]);
  await guides.getByText("Connect").waitFor();
  assert.equal(new URL(guides.url()).pathname, "/docs/start/");
  assertClean(it.seen);
});

test("without_documentation_there_is_no_link", async t => {
  const it = await world(t);
  await logIn(it);
  assert.equal(await it.page.getByRole("link", { name: "Documentation" }).count(), 0);
});
