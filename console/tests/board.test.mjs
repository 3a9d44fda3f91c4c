// The board beside a room: what people and agents see of each other's work, while they look at it.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Agent, assertClean, closeBrowser, hasAgents, logIn, openRoom, submit, until, world } from "./world.mjs";

after(closeBrowser);

const board = page => page.locator("#board");
const group = (page, name) => board(page).getByRole("region", { name, exact: true });
const row = (page, subject) => board(page).locator("button.task", { hasText: subject });
const press = (page, name) => board(page).getByRole("button", { name, exact: true }).click();
const openBoard = async page => {
  await page.getByRole("button", { name: /^Board/ }).click();
  await board(page).getByRole("heading", { name: "Board" }).waitFor();
};
/** The counts in the header of the room, as they are read. */
const counts = page => page.locator(".room .counts").innerText().then(text => text.replace(/\s+/g, " ").trim());

/** A room with an agent, its board, and what the agent does there. */
async function scene(it) {
  const agent = await it.server.agent("Scribe");
  const room = await it.server.room("Launch", agent);
  const path = `/chats/${room}`;
  const works = (number, body) => it.server.call("POST", `/agent${path}/tasks/${number}`, body, agent.key);
  return { agent, room, path, works, task: (number, query = "") => it.server.call("GET", `/me${path}/tasks/${number}${query}`) };
}

test("a_person_and_an_agent_share_a_board", async t => {
  const it = await world(t);
  const { page, server } = it;
  const { room, path, works, task } = await scene(it);
  await logIn(it);
  await openRoom(it, room);
  assert.equal(await counts(page), "");
  await openBoard(page);
  await board(page).getByText("No goal yet.").waitFor();
  await board(page).getByText("No open tasks.").waitFor();

  await press(page, "Set a goal");
  await page.getByLabel("Title").fill("Ship <b>it</b>");
  await page.getByLabel("Summary (optional)").fill("On *Monday*");
  await submit(page, "Save");
  await group(page, "Goal").getByText("Ship <b>it</b>", { exact: true }).waitFor();
  await group(page, "Goal").locator("em", { hasText: "Monday" }).waitFor();

  await press(page, "New task");
  await page.getByLabel("Subject").fill("Write the notes");
  await page.getByLabel("Details (optional)").fill("Since **1.4**");
  await submit(page, "Create task");
  await group(page, "Pending").getByRole("button", { name: "#1 Write the notes Nobody is assigned" }).waitFor();
  await until("the header counts it", async () => (await counts(page)) === "1 Pending");

  // The agent takes it, and the page follows.
  await works(1, { status: "in_progress", active_form: "Reading the <i>commits</i>" });
  await group(page, "In progress").getByRole("button", { name: /Scribe · Reading the <i>commits<\/i>/ }).waitFor();
  assert.equal(await group(page, "Pending").count(), 0);
  await until("the header follows", async () => (await counts(page)) === "1 In progress");

  await row(page, "Write the notes").click();
  await board(page).getByRole("heading", { name: "#1", exact: true }).waitFor();
  await board(page).locator("strong", { hasText: "1.4" }).waitFor();
  await group(page, "History").getByText("joined: In progress").waitFor();
  await press(page, "Assign to me");
  await page.getByText("Task #1 is assigned to you.").waitFor();
  assert.equal(await board(page).getByLabel("Your status").inputValue(), "pending");
  await board(page).getByLabel("Your status").selectOption("Completed");
  await board(page).getByLabel("What you are doing (optional)").fill("Nothing any more");
  await press(page, "Update");
  await group(page, "Assignees").getByText("Nothing any more").waitFor();
  await board(page).getByLabel("Comment").fill("Who reads it?");
  await press(page, "Add comment");
  await group(page, "History").getByText("Who reads it?").waitFor();
  assert.equal(await board(page).getByLabel("Comment").inputValue(), "");
  await works(1, { status: "blocked", comment: "I do, when I have **the rights**." });
  await group(page, "History").locator("strong", { hasText: "the rights" }).waitFor();
  await group(page, "History").getByText("In progress → Blocked").waitFor();
  const { assignments, overall_status } = await task(1);
  assert.deepEqual(assignments.map(one => [one.assignee.type, one.status, one.active_form]), [["Agent", "blocked", "Reading the <i>commits</i>"], ["User", "completed", "Nothing any more"]]);
  assert.equal(overall_status, "blocked");

  await press(page, "Edit");
  await page.locator("dialog[open]").getByLabel("Subject").fill("Write all notes");
  await submit(page, "Save");
  await board(page).getByRole("heading", { name: "Write all notes" }).waitFor();
  await group(page, "History").getByText("changed the subject: Write all notes").waitFor();
  await press(page, "Archive");
  await board(page).getByText("archived", { exact: true }).waitFor();
  assert.equal(await board(page).getByLabel("Comment").count(), 0, "what is put away is not worked on");
  await press(page, "Restore");
  await press(page, "Replace…");
  await page.locator("dialog[open]").getByLabel("Subject").fill("Write short notes");
  await submit(page, "Replace task");
  await board(page).getByRole("heading", { name: "#2", exact: true }).waitFor();
  assert.equal((await task(1)).superseded_by_id, (await task(2)).id);

  await press(page, "Back to the board");
  await group(page, "Pending").getByText("Write short notes").waitFor();
  assert.equal(await row(page, "Write all notes").count(), 0);
  await board(page).getByLabel("Show", { exact: true }).selectOption("Replaced");
  await row(page, "Write all notes").click();
  await press(page, "Show the new task");
  await board(page).getByRole("heading", { name: "Write short notes" }).waitFor();
  await press(page, "Cancel task");
  await submit(page, "Cancel task");
  await page.getByText("Task #2 cancelled.").waitFor();
  await until("nothing is counted", async () => (await counts(page)) === "");
  assertClean(it.seen);
});

test("tasks_are_found_by_words_states_and_pages", async t => {
  const it = await world(t);
  const { page, server } = it;
  const { room, path, works } = await scene(it);
  for (let number = 1; number <= 120; number++) await server.call("POST", `/me${path}/tasks`, { subject: number === 7 ? "Seven wonders" : `Task ${number}` });
  await works(7, { status: "failed" });
  await works(8, { state: "archived" });
  await logIn(it);
  await openRoom(it, room);
  await openBoard(page);
  await row(page, "Task 101").waitFor();
  assert.equal(await row(page, "Task 102").count(), 0, "a page has 100");
  await press(page, "Load more");
  await row(page, "Task 120").waitFor();
  assert.deepEqual(await board(page).locator("section h3").allInnerTexts().then(all => all.slice(1).map(text => text.replace(/\s+/g, " "))), ["Failed 1", "Pending 118"]);
  await board(page).getByLabel("Filter tasks").fill("wonders scribe");
  await until("one is left", async () => (await board(page).locator("button.task").count()) === 1);
  await board(page).getByLabel("Filter tasks").fill("nothing like it");
  await board(page).getByText("No task matches the filter.").waitFor();
  await board(page).getByLabel("Filter tasks").fill("");
  await board(page).getByLabel("Show", { exact: true }).selectOption("Archived");
  await row(page, "Task 8").waitFor();
  assert.equal(await board(page).locator("button.task").count(), 1);
  // What happens in another state is not listed here, and what comes into this one is.
  await works(9, { state: "archived" });
  await row(page, "Task 9").waitFor();
  await works(8, { state: "active" });
  await until("it has left", async () => (await row(page, "Task 8").count()) === 0);
});

test("what_was_missed_on_the_board_is_filled_in", async t => {
  const it = await world(t);
  const { page, server } = it;
  const { room, path, works } = await scene(it);
  for (const subject of ["One", "Two"]) await server.call("POST", `/me${path}/tasks`, { subject });
  await logIn(it);
  await openRoom(it, room);
  await openBoard(page);
  await row(page, "Two").click();
  await board(page).getByText("Nobody is assigned").waitFor();
  await server.stop("SIGKILL");
  await page.getByText(/connect/i).first().waitFor();
  await server.run();
  await works(1, { state: "archived" });
  await works(2, { status: "in_review", comment: "Look at it, please." });
  await server.call("POST", `/me${path}/tasks`, { subject: "Three" });
  await server.call("PUT", `/me${path}/board`, { goal_title: "Meanwhile" });
  await group(page, "History").getByText("Look at it, please.").waitFor();
  await press(page, "Back to the board");
  await group(page, "In review").getByText("Two").waitFor();
  await group(page, "Pending").getByText("Three").waitFor();
  await group(page, "Goal").getByText("Meanwhile").waitFor();
  assert.equal(await row(page, "One").count(), 0);
});

test("a_long_history_is_read_whole_on_demand", async t => {
  const it = await world(t);
  const { page, server } = it;
  const { room, path, works } = await scene(it);
  await server.call("POST", `/me${path}/tasks`, { subject: "Talkative" });
  for (let number = 1; number <= 130; number++) await works(1, { comment: `Comment ${number}.` });
  await logIn(it);
  await openRoom(it, room);
  await openBoard(page);
  await row(page, "Talkative").click();
  const history = group(page, "History");
  await history.locator("li").first().getByText("Comment 130.").waitFor();
  assert.equal(await history.locator("li").count(), 100);
  await history.getByRole("button", { name: "Show the whole history" }).click();
  await history.locator("li").first().getByText("created the task").waitFor();
  await history.getByRole("button", { name: "Load more" }).click();
  await until("all are there", async () => (await history.locator("li").count()) === 131);
  await history.locator("li").last().getByText("Comment 130.").waitFor();
});

test("a_board_is_worked_by_keyboard_alone", async t => {
  const it = await world(t);
  const { page, server } = it;
  const { room, path, task } = await scene(it);
  await server.call("POST", `/me${path}/tasks`, { subject: "By hand" });
  await logIn(it);
  await openRoom(it, room);
  const focus = () => page.evaluate(() => { const one = document.activeElement; return one.getAttribute("aria-label") ?? (one.labels?.[0]?.textContent || one.textContent).replace(/\s+/g, " ").trim(); });
  const tabTo = async name => {
    for (let presses = 0; presses < 80; presses++) {
      if (name instanceof RegExp ? name.test(await focus()) : (await focus()) === name) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(`${name} is not reached`);
  };
  await page.getByRole("heading", { name: "Launch" }).focus();
  await tabTo(/^Board/);
  await page.keyboard.press("Enter");
  await until("the focus is in the panel", async () => (await focus()) === "Board");
  await row(page, "By hand").waitFor();
  await tabTo("New task");
  await page.keyboard.press("Enter");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.type("Typed");
  await page.keyboard.press("Enter");
  await row(page, "Typed").waitFor();
  await until("the focus is back", async () => (await focus()) === "New task");
  await tabTo(/^#1 By hand/);
  await page.keyboard.press("Enter");
  await until("the focus is at the task", async () => (await focus()) === "#1");
  await tabTo("Assign to me");
  await page.keyboard.press("Enter");
  await board(page).getByLabel("Your status").waitFor();
  await tabTo("Your status");
  await page.keyboard.type("In p");
  await tabTo("Update");
  await page.keyboard.press("Enter");
  await until("it is stored", async () => (await task(1)).overall_status === "in_progress");
  await page.locator("#board h2").focus();
  await page.keyboard.press("Escape");
  await until("the focus is at the task in the list", async () => /^#1 By hand/.test(await focus()));
  await page.keyboard.press("Escape");
  await board(page).waitFor({ state: "detached" });
  await until("the focus is at the button", async () => /^Board/.test(await focus()));
});

test("who_only_observes_reads_the_board", async t => {
  const it = await world(t);
  const { page, server } = it;
  const agent = await server.agent("Scout");
  const { id } = await server.call("POST", "/agent/chats", { chat: {} }, agent.key);
  await server.call("POST", `/agent/chats/${id}/tasks`, { subject: "Not yours" }, agent.key);
  await server.call("PUT", `/agent/chats/${id}/board`, { goal_summary: "Scouting" }, agent.key);
  await logIn(it);
  await page.goto(`${it.base}/rooms/${id}`);
  await openBoard(page);
  await group(page, "Goal").getByText("Scouting").waitFor();
  await row(page, "Not yours").click();
  await group(page, "History").getByText("created the task").waitFor();
  assert.deepEqual(await board(page).getByRole("button").evaluateAll(all => all.map(one => one.getAttribute("aria-label") ?? one.textContent)), ["Back to the board", "Close"]);
});

test("a_server_without_boards_shows_none", async t => {
  const it = await world(t);
  const { page, server } = it;
  const { room } = await scene(it);
  server.environment.PARLANCE_MAX_TASKS = "0";
  await server.stop();
  await server.run();
  await logIn(it);
  await openRoom(it, room);
  await until("the button is gone", async () => (await page.getByRole("button", { name: /^Board/ }).count()) === 0);
});

test("a_published_agent_answers_beside_a_busy_board", { skip: !hasAgents }, async t => {
  const it = await world(t);
  const { page, server } = it;
  const { agent, room, path, works } = await scene(it);
  const running = new Agent(server.urls[0], agent.id, agent.key);
  t.after(() => running.stop());
  await logIn(it);
  await openRoom(it, room);
  await openBoard(page);
  let isOver = false;
  await server.call("POST", `/me${path}/tasks`, { subject: "Busy" });
  const busy = (async () => {
    for (let number = 1; !isOver; number++) {
      await works(1, { status: number % 2 ? "in_progress" : "in_review", comment: `Round ${number}` });
      await server.call("PUT", `/me${path}/board`, { goal_title: `Round ${number}` });
    }
  })();
  await until("it is connected", async () => (await server.call("GET", `/me/agents/${agent.id}?include=work`)).connected);
  for (const word of ["first", "second"]) {
    await server.say(room, `@${agent.handle} the ${word}`, agent);
    await page.locator(".feed").getByText(`You said:`).filter({ hasText: word }).first().waitFor().catch(cause => { throw new Error(`${cause.message}\n${running.output}`); });
  }
  isOver = true;
  await busy;
  const { goal_title } = await server.call("GET", `/me${path}/board`);
  await group(page, "Goal").getByText(goal_title, { exact: true }).waitFor();
  assert.doesNotMatch(running.output, /Traceback|validation error/i);
  assertClean(it.seen);
});
