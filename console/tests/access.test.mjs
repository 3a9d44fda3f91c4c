// Who uses no mouse, sees little, or has a small screen.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { scene } from "./scene.mjs";
import { assertClean, BROWSER, closeBrowser, LOOKS, logIn, openRoom, PASSWORD, reflows, shownTexts, until, violations, watch, world } from "./world.mjs";

after(closeBrowser);

async function openBoard(page) {
  await page.getByRole("button", { name: /^Board/ }).click();
  await page.locator("button.task").first().waitFor();
}

/** Every screen of the console, with dialogs and details open. */
function screens({ base, server }, { room, quiet, foreign, agents, talk, first, drawn, reportToday }) {
  const composer = page => page.getByLabel("Message", { exact: true });
  const to = (path, ready) => async page => { await page.goto(base + path); await page.locator(ready).first().waitFor(); };
  const inRoom = act => async page => { await to(`/rooms/${room}`, "[data-text]")(page); await act(page); };
  return [
    ["login", to("/login", "form"), true],
    ["login by key", async page => { await to("/login", "form")(page); await page.getByRole("button", { name: "Log in with an API key" }).click(); }, true],
    ["welcome", to("/welcome#thnv_p_x", "form"), true],
    ["register", to("/register", "form"), true],
    ["rooms", to("/", "nav")],
    ["room", inRoom(async () => undefined)],
    ["room, details open", inRoom(async page => {
      for (const summary of await page.locator(".steps > summary, .delivery > summary").all()) await summary.click();
      for (const summary of await page.locator(".steps .more > summary").all()) await summary.click();
      await page.locator(".delivery.failed .actions").waitFor();
    })],
    ["room, completion", inRoom(async page => { await composer(page).pressSequentially("@"); await page.getByRole("option").first().waitFor(); })],
    ["room, effect", inRoom(async page => { await composer(page).fill("@admin/writer please"); await page.locator(".effect .warning").waitFor(); })],
    ["room, files", async page => { await to(`/rooms/${room}?at=${drawn}`, ".thumb img")(page); await page.getByText("No preview").waitFor(); }],
    ["room, picture", async page => { await to(`/rooms/${room}?at=${drawn}`, ".thumb img")(page); await page.locator(".thumb button").first().click(); await page.locator("dialog[open] img").waitFor(); }],
    ["room, people", inRoom(async page => { await page.getByRole("button", { name: /^People/ }).click(); await page.locator(".person").first().waitFor(); })],
    ["room, board", inRoom(async page => { await openBoard(page); })],
    ["room, all tasks", inRoom(async page => { await openBoard(page); await page.getByLabel("Show", { exact: true }).selectOption("all"); await page.locator(".task .tag", { hasText: "cancelled" }).waitFor(); })],
    ["room, task", inRoom(async page => { await openBoard(page); await page.locator("button.task", { hasText: "Write the announcement" }).click(); await page.locator(".entries li").first().waitFor(); await page.getByRole("button", { name: "Assign to me" }).click(); await page.getByLabel("Your status").waitFor(); })],
    ...["New task", "Edit goal"].map(name => [`room, ${name}`, inRoom(async page => { await openBoard(page); await page.getByRole("button", { name }).click(); await page.locator("dialog[open]").waitFor(); })]),
    ...["Edit", "Replace…", "Cancel task"].map(name => [`room, ${name}`, inRoom(async page => {
      await openBoard(page);
      await page.locator("button.task", { hasText: "Review the prices" }).click();
      await page.locator("#board").getByRole("button", { name, exact: true }).click();
      await page.locator("dialog[open]").waitFor();
    })]),
    ["room, add", inRoom(async page => { await page.getByRole("button", { name: /^People/ }).click(); await page.getByRole("button", { name: "Add people or agents" }).click(); await page.locator("dialog[open]").waitFor(); })],
    ["room, menu", inRoom(async page => { await page.getByRole("button", { name: "More actions", exact: true }).click(); })],
    ["room, message menu", inRoom(async page => { await page.locator(".tools button").first().focus(); await page.keyboard.press("Enter"); })],
    ["room, edit", inRoom(async page => { await page.locator(".tools button").first().focus(); await page.keyboard.press("Enter"); await page.getByRole("menuitem", { name: "Edit" }).click(); })],
    ["room, dead-letter", inRoom(async page => { await page.locator(".delivery.failed > summary").click(); await page.getByRole("button", { name: "Dead-letter…" }).click(); })],
    ["held", to(`/rooms/${quiet}`, ".delivery.held")],
    ["observed room", to(`/rooms/${foreign}`, "[data-text]")],
    ["missing room", to("/rooms/00000000-0000-7000-8000-000000000000", ".blank")],
    ["new room", async page => { await to("/", "nav")(page); await page.getByRole("button", { name: "New room" }).first().click(); await page.locator(".choose li").first().waitFor(); }],
    ["inbox", to("/inbox", ".item")],
    ["inbox, answer", async page => { await to("/inbox", ".item")(page); await page.getByRole("button", { name: /^Answer / }).first().click(); await page.locator("dialog[open] textarea").waitFor(); }],
    ["inbox, answered", to("/inbox?state=answered", ".item")],
    ["inbox, none", to("/inbox?state=expired", ".nothing")],
    ["work", to("/work", ".item")],
    ["work, all open", async page => {
      await to("/work?state=open", ".item")(page);
      await page.locator(".item summary", { hasText: "failed" }).last().click();
      await page.locator(".item .actions").waitFor();
      await page.getByLabel("Select all shown").check();
    }],
    ["work, groups", to("/work?state=failed", ".groups a")],
    ["work, dead-letter many", async page => { await to("/work?state=open", ".item")(page); await page.getByLabel("Select all shown").check(); await page.getByRole("button", { name: "Dead-letter…" }).click(); await page.locator("dialog[open] input").waitFor(); }],
    ["work, reassign", async page => { await to("/work?state=failed", ".item")(page); await page.locator(".item summary").last().click(); await page.getByRole("button", { name: "Reassign…" }).click(); await page.locator("dialog[open] select").waitFor(); }],
    ["work, interrupt", async page => { await to("/work?state=processing", ".item")(page); await page.locator(".item summary").click(); await page.getByRole("button", { name: "Interrupt" }).click(); }],
    ["work of the organization, none", to("/work?scope=organization&state=failed&flag=stuck", ".nothing")],
    ["tree", to(`/rooms/${quiet}/tree/${talk}`, ".tree article")],
    ["tree with steps", async page => { await to(`/rooms/${room}/tree/${first}`, ".tree .steps")(page); await page.locator(".tree .steps > summary").click(); }],
    ["agents", to("/agents", ".card .presence")],
    ["register agent", to("/agents/new", "dialog[open]")],
    ["key", async page => {
      await to("/agents/new", "dialog[open]")(page);
      await page.getByLabel("Name").fill(`Agent ${Math.random()}`);
      await page.getByLabel("What does it do?").fill("Helps");
      await page.getByRole("button", { name: "Register", exact: true }).click();
      await page.getByText("Waiting for the first connection").waitFor();
    }],
    ["agent", to(`/agents/${agents.Writer.id}`, ".now .presence")],
    ["agent, edit", async page => { await to(`/agents/${agents.Writer.id}`, ".sheet")(page); await page.getByRole("button", { name: "Edit" }).click(); }],
    ["agent, rotate", async page => { await to(`/agents/${agents.Writer.id}`, ".sheet")(page); await page.getByRole("button", { name: "Rotate key" }).click(); }],
    ["agent, delete", async page => { await to(`/agents/${agents.Writer.id}`, ".sheet")(page); await page.getByRole("button", { name: "Delete agent" }).click(); }],
    ["agent, interrupt", async page => { await to(`/agents/${agents.Translator.id}`, ".tally")(page); await page.getByRole("button", { name: /^Interrupt in/ }).click(); }],
    ["usage", to("/usage", ".sums")],
    ["organization", to("/organization", ".somebody")],
    ["organization, invite", async page => { await to("/organization", ".somebody")(page); await page.getByRole("button", { name: "Invite somebody" }).click(); }],
    ["organization, invited", async page => {
      await to("/organization", ".somebody")(page);
      await page.getByRole("button", { name: "Invite somebody" }).click();
      await page.getByRole("button", { name: "Create invitation" }).click();
      await page.getByRole("group", { name: "Invitation link" }).waitFor();
    }],
    ["organization, member", async page => { await to("/organization", ".somebody")(page); await page.getByRole("button", { name: "Actions for Ben Ray" }).click(); }],
    ["organization, limits", async page => {
      await reportToday();
      await server.call("PATCH", "/me/organization/budgets", { budgets: { organization_tokens: 120_000, agent_tokens: 90_000, room_tokens: 50_000 } });
      await to("/organization/limits", ".alarm.over")(page);
    }],
    ["organization, budgets", async page => { await to("/organization/limits", ".sums")(page); await page.getByRole("button", { name: "Set budgets" }).click(); }],
    ["organization, rules", async page => { await to("/organization/limits", ".sums")(page); await page.getByRole("button", { name: "Change rules" }).click(); }],
    ["organization, usage", to("/organization/usage", ".sums")],
    ["organization, audit", to("/organization/audit", ".lines li")],
    ["invitation", async page => { await page.goto("about:blank"); await to("/register#thnv_i_1_x", "h1")(page); await page.getByText("You are logged in as").waitFor(); }],
    ["settings", to("/settings", ".sheet")],
    ...["New API key", "Revoke Unnamed key", "Set up second factor"].map(name => [`settings, ${name}`, async page => {
      await to("/settings", ".sheet")(page);
      await page.getByRole("button", { name }).click();
      await page.locator("dialog[open]").waitFor();
    }]),
    ["settings, key", async page => {
      await to("/settings", ".sheet")(page);
      await page.getByRole("button", { name: "New API key" }).click();
      await page.locator("dialog").getByLabel("Name").fill("Laptop");
      await page.getByRole("button", { name: "Create key" }).click();
      await page.locator(".secret .key").waitFor();
    }],
    ["people", to("/people", ".lines .deeds")],
    ["people, add", async page => { await to("/people", ".sheet")(page); await page.getByRole("button", { name: "Add a contact" }).click(); await page.locator("dialog[open]").waitFor(); }],
    ["people, request", async page => {
      await to("/people", ".sheet")(page);
      await page.getByRole("button", { name: "Add a contact" }).click();
      await page.getByLabel("Handle").fill("carol");
      await page.keyboard.press("Enter");
      await page.getByLabel("Message (optional)").waitFor();
    }],
    ["search", to("/search", ".keys")],
    ["search, hits", to("/search?q=announcement", ".hits mark")],
    ["memories", async page => { await to("/memories", ".memories summary")(page); for (const summary of await page.locator(".memories summary").all()) await summary.click(); await page.locator(".memories .deeds").first().waitFor(); }],
    ["memories, delete", async page => { await to("/memories", ".memories summary")(page); await page.locator(".memories summary").last().click(); await page.getByRole("button", { name: "Delete" }).click(); await page.locator("dialog[open]").waitFor(); }],
    ["go to", async page => { await to("/settings", ".sheet")(page); await page.keyboard.press("Control+k"); await page.locator("#places-0").waitFor(); }],
    ["shortcuts", async page => { await to("/settings", ".sheet")(page); await page.locator("h1").focus(); await page.keyboard.press("?"); await page.locator("dialog[open]").waitFor(); }],
    ["server", to("/operator", ".legend")],
    ["server, table", async page => { await to("/operator", ".legend")(page); for (const summary of await page.locator(".chart summary").all()) await summary.click(); }],
    ["server, connections", to("/operator/connections", ".somebody")],
    ["server, trouble", to("/operator/trouble", ".somebody")],
    ["server, organizations", to("/operator/organizations", ".quotas")],
    ["server, plan", async page => { await to("/operator/organizations", ".quotas")(page); await page.getByRole("button", { name: "Change plan admin" }).click(); await page.locator("dialog[open] select").waitFor(); }],
    ["server, users", to("/operator/users", ".somebody")],
    ["server, disable", async page => { await to("/operator/users", ".somebody")(page); await page.getByRole("button", { name: /^Disable/ }).first().click(); await page.locator("dialog[open]").waitFor(); }],
    ["server, agents", to("/operator/agents", ".somebody")],
    ["server, audit", to("/operator/audit", ".lines li")],
    ["not found", to("/nowhere", ".blank")],
    ["paused", async page => {
      await server.call("POST", "/me/organization/pause", { reason: "Costs are too high. Ask Ann before you resume." });
      await to("/organization", ".somebody")(page);
      await page.locator(".linkbar", { hasText: "paused" }).waitFor();
    }],
  ];
}

for (const [colorScheme, width] of LOOKS) {
  test(`axe_finds_nothing: ${colorScheme}, ${width} px`, async t => {
    const it = await world(t, { viewport: { width, height: 800 }, colorScheme, reducedMotion: "reduce" });
    const made = await scene(it.server);
    const faults = [];
    let isIn = false;
    for (const [name, show, isOut] of screens(it, made)) {
      if (!isOut && !isIn) { await logIn(it); isIn = true; }
      await show(it.page);
      for (const fault of await violations(it.page)) faults.push(`${name}: ${fault}`);
      if (!(await reflows(it.page))) faults.push(`${name}: scrolls sideways`);
      // What is for screen readers only must not escape what scrolls.
      if (!isOut && await it.page.evaluate(() => document.documentElement.scrollHeight > innerHeight)) faults.push(`${name}: the window scrolls as well`);
    }
    assert.deepEqual(faults, []);
    assertClean(it.seen);
  });
}

test("wider_text_spacing_cuts_nothing_off", async t => {
  const it = await world(t);
  const made = await scene(it.server);
  await logIn(it);
  const cut = [];
  for (const [name, show, isOut] of screens(it, made)) {
    if (isOut) continue;
    await show(it.page);
    // The spacing of WCAG 1.4.12; a style sheet that a script makes is not a style in the page.
    const found = await it.page.evaluate(() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync("* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important } p { margin-bottom: 2em !important }");
      document.adoptedStyleSheets = [sheet];
      const isCut = one => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "hidden" && getComputedStyle(one).textOverflow !== "ellipsis" && !one.closest(".vh");
      const texts = [...document.querySelectorAll("button, a, p, h1, h2, h3, label, summary, dt, dd")].filter(one => one.checkVisibility() && isCut(one)).map(one => one.outerHTML.slice(0, 80));
      if (document.documentElement.scrollWidth > innerWidth) texts.push("the page scrolls sideways");
      return texts;
    });
    for (const one of found) cut.push(`${name}: ${one}`);
  }
  assert.deepEqual(cut, []);
});

test("nothing_scrolls_sideways_at_320_px", async t => {
  const it = await world(t, { viewport: { width: 320, height: 640 } });
  const made = await scene(it.server);
  const wide = [];
  let isIn = false;
  for (const [name, show, isOut] of screens(it, made)) {
    if (!isOut && !isIn) { await logIn(it); isIn = true; }
    await show(it.page);
    if (!(await reflows(it.page))) wide.push(name);
    const inside = await it.page.evaluate(() => { const dialog = document.querySelector("dialog[open]"); return !dialog || dialog.scrollWidth <= dialog.clientWidth; });
    if (!inside) wide.push(`${name}: dialog`);
  }
  assert.deepEqual(wide, []);
  assertClean(it.seen);
});

test("keyboard_alone", async t => {
  const it = await world(t);
  const { page, base, server, seen } = it;
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  /** Presses Tab until what has the focus has this name. */
  const reach = async (name, key = "Tab") => {
    for (let count = 0; count < 60; count++) {
      const focused = await page.evaluate(() => {
        // In Firefox, Tab goes on to the browser's own bars behind the last element of the page.
        const one = document.hasFocus() ? document.activeElement : null;
        return one?.getAttribute("aria-label") ?? one?.labels?.[0]?.innerText ?? one?.innerText ?? "";
      });
      if (focused.trim().replace(/\s+/g, " ") === name) return;
      await page.keyboard.press(key);
    }
    throw new Error(`Tab does not reach ${name}`);
  };

  const focused = name => until(`${name} has the focus`, () => page.evaluate(name => (document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent) === name, name));

  await page.goto(`${base}/welcome#${server.welcomeToken}`);
  await page.getByLabel("New password").waitFor();
  await page.keyboard.type(PASSWORD);
  await press("Enter");
  await page.getByRole("navigation").waitFor();
  await reach("Register an agent");
  await press("Enter");
  await page.getByLabel("Name").waitFor();
  await page.keyboard.type("Echo");
  await press("Tab");
  await page.keyboard.type("Answers");
  await press("Enter");
  await page.getByText("Waiting for the first connection").waitFor();
  // Closing without having copied the key asks first.
  await press("Escape");
  await page.getByRole("heading", { name: "Close without copying the key?" }).waitFor();
  await press("Escape");
  await reach("Start a room with it", "Shift+Tab");
  await press("Enter");
  await page.getByRole("heading", { name: "Close without copying the key?" }).waitFor();
  await reach("Close anyway", "Shift+Tab");
  await press("Enter");
  await until("the dialog is closed", async () => (await page.locator("dialog[open]").count()) === 0);

  await reach("New room", "Shift+Tab");
  await press("Enter");
  await page.getByLabel("Title").waitFor();
  await page.keyboard.type("By keyboard");
  await page.locator(".choose li").first().waitFor();
  await press("Tab", "Tab", "Space");
  await press("Tab");
  await reach("Create room");
  await press("Enter");
  await page.getByLabel("Message", { exact: true }).waitFor();
  // The focus is on the room's heading; a key leads to the composer.
  await until("the heading has the focus", () => page.evaluate(() => document.activeElement?.id === "room-title"));
  await press("c");
  await page.locator(".crew li").waitFor();
  await page.keyboard.type("@ec");
  await page.getByRole("option").first().waitFor();
  await press("Enter");
  await page.keyboard.type("hello");
  await press("Enter");
  await until("the text is there", async () => (await shownTexts(page)).length === 1);

  // The delivery opens, and its actions are reached.
  await page.locator(".delivery").waitFor();
  await reach("Echo waiting", "Shift+Tab");
  await press("Enter");
  await page.locator(".delivery .actions").waitFor();
  await reach("Dead-letter…");
  await press("Enter");
  await page.keyboard.type("Not needed");
  await press("Enter");
  await page.locator(".delivery.dead").waitFor();
  await until("the focus is on the delivery", () => page.evaluate(() => document.activeElement?.matches(".delivery.dead > summary")));

  // People: open, add, remove, close.
  await reach("People, 2 participants", "Shift+Tab");
  await press("Enter");
  await reach("Actions for Echo");
  await press("Enter");
  await press("End");
  await press("Enter");
  await page.getByRole("heading", { name: "Remove Echo from this room?" }).waitFor();
  await press("Enter");
  await until("Echo is gone", async () => (await page.locator(".person").count()) === 1);
  // What had the focus is gone, so the heading of the page has it.
  await focused("By keyboard");

  // Menus and shortcuts.
  await reach("More actions");
  await press("Enter");
  await focused("Rename room");
  await press("ArrowUp");
  await focused("Delete room");
  await press("Escape");
  await focused("More actions");
  await press("g", "a");
  await page.getByRole("heading", { name: "Agents", level: 1 }).waitFor();
  await press("?");
  await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
  await press("Escape");
  await press("Alt+ArrowDown");
  await page.getByRole("heading", { name: "By keyboard" }).waitFor();
  assertClean(seen);
});
