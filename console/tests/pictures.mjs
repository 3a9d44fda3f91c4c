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
    await to(`/agents/${agents.Writer.id}`); await page.locator(".now .presence").waitFor(); await page.locator(".sums").waitFor(); await take("agent");
    await page.locator(".sums").scrollIntoViewIfNeeded(); await take("agent-usage");
    await page.getByRole("button", { name: "Edit" }).click(); await take("agent-edit");
    await page.keyboard.press("Escape");
    await to("/usage", ".sums"); await take("usage");
    await to("/organization", ".somebody"); await take("organization");
    await page.locator(".sheet").last().scrollIntoViewIfNeeded(); await take("organization-below");
    await page.getByRole("button", { name: "Invite somebody" }).click(); await take("organization-invite");
    await page.getByRole("button", { name: "Create invitation" }).click();
    await page.getByRole("group", { name: "Invitation link" }).waitFor(); await take("organization-invited");
    await page.keyboard.press("Escape");
    await server.call("PATCH", "/me/organization/budgets", { budgets: { organization_tokens: 120_000, agent_tokens: 90_000, room_tokens: 50_000 } });
    await to("/organization/limits", ".alarm"); await take("organization-limits");
    await page.getByRole("button", { name: "Set budgets" }).click(); await take("organization-budgets");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Change rules" }).click(); await take("organization-rules");
    await page.keyboard.press("Escape");
    await to("/organization/usage", ".sums"); await take("organization-usage");
    await to("/organization/audit", ".lines li"); await take("organization-audit");
    await server.call("POST", "/me/organization/pause", { reason: "Costs are too high. Ask Ann before you resume." });
    await to("/organization", ".somebody"); await take("organization-paused");
    await to(`/rooms/${room}`, "[data-text]"); await take("room-paused");
    await server.call("POST", "/me/organization/resume", {});
    await page.goto("about:blank"); await to("/register#thnv_i_1_x"); await page.getByText("You are logged in as").waitFor(); await take("invitation");
    await page.getByRole("button", { name: "Not now" }).click();
    await to("/settings"); await take("settings");
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
