// Takes a picture of every screen: node tests/pictures.mjs DIRECTORY
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";
import { serve } from "../serve.mjs";
import { scene } from "./scene.mjs";
import { logIn, Server } from "./world.mjs";

const out = process.argv[2] ?? "pictures";
mkdirSync(out, { recursive: true });
const server = await Server.start();
const { url, close } = await serve({ to: server.urls, ...(process.env.CONSOLE_ASSETS ? { assets: process.env.CONSOLE_ASSETS } : {}) });
const { room, quiet, agents } = await scene(server);
const browser = await chromium.launch({ executablePath: process.env.CONSOLE_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const base = `${url}/console`;

try {
  for (const [look, theme, width] of [["light", "light", 1280], ["dark", "dark", 1280], ["phone", "light", 390]]) {
    const context = await browser.newContext({ viewport: { width, height: width < 500 ? 844 : 800 }, colorScheme: theme, deviceScaleFactor: 1 });
    const page = await context.newPage();
    const take = async name => { await page.waitForTimeout(250); await page.screenshot({ path: `${out}/${name}-${look}.png` }); };
    const to = async (path, ready = "main h1") => { await page.goto(base + path); await page.locator(ready).first().waitFor(); };

    await to("/login"); await take("login");
    await to(`/welcome#thnv_p_1`); await take("welcome");
    await to(`/register`); await take("register");
    await logIn({ page, base, server });
    await take("rooms");
    await to(`/rooms/${room}`, "[data-text]"); await take("room");
    await page.getByLabel("Message", { exact: true }).fill("@admin/writer and @admin/researcher, please ");
    await page.getByText("not connected").last().waitFor(); await take("room-composer");
    await page.getByLabel("Message", { exact: true }).fill("");
    await page.getByLabel("Message", { exact: true }).pressSequentially("Hello @");
    await page.getByRole("option").first().waitFor(); await take("room-completion");
    await page.keyboard.press("Escape");
    await page.getByLabel("Message", { exact: true }).fill("");
    await page.locator(".delivery.failed summary").click();
    await page.locator(".steps summary").first().click();
    await page.locator(".delivery.failed .actions").waitFor();
    await page.locator(".delivery.failed .inside").scrollIntoViewIfNeeded(); await take("room-failure");
    await page.getByRole("button", { name: "Dead-letter…" }).first().click(); await take("room-deadletter");
    await page.keyboard.press("Escape");
    await page.locator(".steps").first().scrollIntoViewIfNeeded(); await take("room-steps");
    await page.getByRole("button", { name: /^People/ }).click(); await take("room-people");
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "More actions", exact: true }).click(); await take("room-menu");
    await page.keyboard.press("Escape");
    await to(`/rooms/${quiet}`, ".delivery.held"); await page.locator(".delivery.held summary").click(); await page.locator(".delivery.held .actions").waitFor(); await take("room-held");
    await to("/agents", ".card"); await page.locator(".card .presence").first().waitFor(); await take("agents");
    await to("/agents/new", "dialog[open]"); await take("agent-new");
    await page.getByLabel("Name").fill(`Helper ${look}`);
    await page.getByLabel("What does it do?").fill("Helps");
    await page.getByRole("button", { name: "Register", exact: true }).click();
    await page.getByText("Waiting for the first connection").waitFor(); await take("agent-key");
    await to(`/agents/${agents.Writer.id}`); await page.locator(".now .presence").waitFor(); await take("agent");
    await to("/settings"); await page.getByText("Key of the account").waitFor(); await take("settings");
    await page.getByRole("heading", { name: "API keys" }).scrollIntoViewIfNeeded(); await page.locator("main").evaluate(main => main.scrollTo(0, main.scrollHeight)); await take("settings-access");
    await page.getByRole("button", { name: "New API key" }).click(); await take("settings-key");
    await page.keyboard.press("Escape");
    await to("/people", ".people .deeds"); await take("people");
    await page.locator("main").evaluate(main => main.scrollTo(0, main.scrollHeight)); await take("people-directory");
    await page.getByRole("button", { name: "Add a contact" }).click();
    await page.getByLabel("Handle").fill("carol"); await page.keyboard.press("Enter"); await page.getByLabel("Message (optional)").waitFor(); await take("people-request");
    await page.keyboard.press("Escape");
    await to("/memories", ".memories summary"); await page.locator(".memories summary").last().click(); await page.locator(".memories .inside").waitFor(); await take("memories");
    await page.keyboard.press("Control+k"); await page.keyboard.type("l"); await page.locator("#places-0").waitFor(); await take("go-to");
    await page.keyboard.press("Escape");
    await to("/", "nav"); await page.getByRole("button", { name: "New room" }).first().click();
    await page.locator(".choose li").first().waitFor(); await take("room-new");
    await page.keyboard.press("Escape");
    await to("/nowhere"); await take("not-found");
    await context.close();
  }
} finally {
  await browser.close();
  close();
  await server.close();
}
