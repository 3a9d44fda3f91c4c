// While servers are replaced one by one, the page of one build gets the script of another.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { serve } from "../serve.mjs";
import { assertClean, closeBrowser, logIn, openRoom, world } from "./world.mjs";

after(closeBrowser);

const built = process.env.CONSOLE_ASSETS ?? join(dirname(fileURLToPath(import.meta.url)), "../../crates/http-console/assets");

/** The same files under another digest; the script tells that it is the other one. */
function anotherBuild() {
  const directory = mkdtempSync(join(tmpdir(), "parlance-build-"));
  cpSync(built, directory, { recursive: true });
  const page = join(directory, "index.html");
  writeFileSync(page, readFileSync(page, "utf8").replaceAll(/\/assets\/\w+\//g, "/assets/0123456789abcdef/"));
  const script = join(directory, "app.js");
  writeFileSync(script, `document.documentElement.dataset.build = "other";\n${readFileSync(script, "utf8")}`);
  return directory;
}

test("rolling_upgrade", async t => {
  const it = await world(t);
  const { page, server, seen } = it;
  const other = anotherBuild();
  t.after(() => rmSync(other, { recursive: true }));
  const room = await server.room("Upgrade");

  for (const [pages, files, build] of [[built, other, "other"], [other, built, undefined]]) {
    const mixed = await serve({ to: server.urls, assets: path => path.startsWith("/console/assets/") ? files : pages });
    t.after(mixed.close);
    const base = `${mixed.url}/console`;
    await logIn({ page, base, server });
    await openRoom({ page, base }, room);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.build), build);
    assert.equal(await page.evaluate(() => document.querySelector("script").src.includes("/0123456789abcdef/")), pages === other);
    await page.getByLabel("Message", { exact: true }).fill(`by ${build}`);
    await page.keyboard.press("Enter");
    await page.locator("[data-text]").getByText(`by ${build}`).waitFor();
  }
  assertClean(seen);
});
