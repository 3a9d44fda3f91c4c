// A scene with something of everything, for the tests that look at all screens and for the pictures.

import { png, upload } from "./uploads.mjs";

const REPORT = `Here is what I found for **our launch**:

| Step | Owner | State |
|---|---|---|
| Landing page | Design | ready |
| Announcement | Writer | open |
| Status page | Operations | \`blocked\` |

1. Ship the landing page first.
2. Then the announcement, see [the checklist](https://example.org/checklist).

\`\`\`sh
parlance backup --to /var/backups/parlance
\`\`\`

- [x] Prices agreed
- [ ] Legal review

> Nothing here is final.`;

/** A chart with six bars. */
const CHART = png(640, 360, (x, y) => {
  const bar = Math.floor((x - 20) / 100);
  const isBar = bar >= 0 && bar < 6 && (x - 20) % 100 < 64 && y > 320 - [90, 140, 120, 190, 240, 280][bar] && y < 320;
  return isBar ? [68 + bar * 8, 80, 217] : y === 320 ? [120, 130, 140] : [250, 250, 252];
});

/** Makes rooms and agents over the API; `server` is that of world.mjs. */
export async function scene(server) {
  await server.call("PUT", "/me/profile", { user: { first_name: "Ann", last_name: "Lee" } });
  const agents = {};
  for (const [name, description] of [["Researcher", "Finds and sums up what a question needs"], ["Writer", "Writes announcements and posts"], ["Translator", "Translates between English and German"]]) {
    agents[name] = await server.agent(name, description);
  }
  const { Researcher, Writer, Translator } = agents;
  const ask = (agent, method, path, body) => server.call(method, `/agent${path}`, body, agent.key);

  const quiet = await server.room("Release notes", Writer);
  await server.say(quiet, "@admin/writer please draft the notes for 0.2", Writer);

  // Two agents that talk to each other are held by the loop guard.
  await server.call("PATCH", `/me/chats/${quiet}`, { chat: { max_hops: 1 } });
  await server.call("POST", `/me/chats/${quiet}/participants`, { participant: { participant_id: Translator.id } });
  const talk = await server.say(quiet, "@admin/translator agree on the wording with the writer", Translator);
  const turns = [[Translator, Writer, "@admin/writer shall we say *launch*?"], [Writer, Translator, "@admin/translator I would say *release*."]];
  for (let last = talk.id; turns.length > 0;) {
    const [from, to, content] = turns.shift();
    await ask(from, "POST", `/chats/${quiet}/messages/${last}/processing`, {});
    const sent = await ask(from, "POST", `/chats/${quiet}/messages`, { message: { content, mentions: [{ id: to.id }] } });
    await ask(from, "POST", `/chats/${quiet}/messages/${last}/processed`, {});
    last = sent.id;
  }

  const foreign = await server.call("POST", "/agent/chats", { chat: {} }, Translator.key);
  await server.call("POST", `/agent/chats/${foreign.id}/participants`, { participant: { participant_id: Writer.id } }, Translator.key);
  const german = await ask(Translator, "POST", `/chats/${foreign.id}/messages`, { message: { content: "@admin/writer the German version is ready", mentions: [{ id: Writer.id }] } });
  await ask(Writer, "POST", `/chats/${foreign.id}/messages/${german.id}/processing`, {});
  await ask(Writer, "POST", `/chats/${foreign.id}/messages/${german.id}/failed`, { error: "OverloadedError: 530 the model is overloaded" });

  const room = await server.room("Launch plan", Researcher, Writer, Translator);
  const first = await server.say(room, "Good morning! @admin/researcher please find out **what our launch needs**.", Researcher);
  const path = `/chats/${room}`;
  await ask(Researcher, "POST", `${path}/messages/${first.id}/processing`, {});
  const event = (agent, message_type, content, metadata = {}) => ask(agent, "POST", `${path}/events`, { event: { content, message_type, metadata } });
  await event(Researcher, "thought", "The plan is in the wiki. I read it first, then the tickets.");
  await event(Researcher, "tool_call", JSON.stringify({ name: "search", args: { query: "launch checklist" } }), { tool: "search" });
  await event(Researcher, "tool_result", JSON.stringify({ name: "search", output: "3 hits, the best is Launch checklist 2026" }));
  const user = (await server.call("GET", "/me/profile"));
  await ask(Researcher, "POST", `${path}/messages`, { message: { content: `@admin ${REPORT}`, mentions: [{ id: user.id }] } });
  await ask(Researcher, "POST", `${path}/messages/${first.id}/processed`, {});

  const second = await server.say(room, "@admin/writer write the announcement, please. @admin/translator and a German version.", Writer, Translator);
  for (let attempt = 0; attempt < 2; attempt++) {
    await ask(Writer, "POST", `${path}/messages/${second.id}/processing`, {});
    await ask(Writer, "POST", `${path}/messages/${second.id}/failed`, { error: "OverloadedError: 529 the model is overloaded\n  at complete (model.py:88)\n  at turn (agent.py:41)" });
  }
  await event(Writer, "error", "OverloadedError: 529 the model is overloaded");
  await ask(Translator, "POST", `${path}/messages/${second.id}/processing`, {});
  const third = await server.say(room, "@admin/writer never mind the long form, a short one will do", Writer);
  await server.call("POST", `/me/work/${third.id}/${Writer.id}/dead-letter`, { reason: "Superseded by the next message" });
  await server.say(room, "And keep it friendly.");

  // Files of an agent: a picture, a text, and a picture that is none.
  const files = [];
  for (const [name, content] of [["visits by month.png", CHART], ["launch-checklist-for-all-departments-and-their-partners-2026.txt", "1. Landing page\n2. Announcement\n"], ["broken.png", Buffer.concat([CHART.subarray(0, 16), Buffer.alloc(400)])]]) files.push(await upload(server, room, name, content, Researcher.key));
  const drawn = await ask(Researcher, "POST", `${path}/messages`, { message: { content: "@admin here are the visits, and the checklist.", mentions: [{ id: user.id }], attachment_ids: files.map(one => one.id) } });

  // A board with tasks of every status.
  await server.call("PUT", `/me${path}/board`, { goal_title: "Launch version 0.2", goal_summary: "Everything that customers see is ready on **Monday**: page, announcement, and prices." });
  const task = async (subject, detail, ...work) => {
    const { number } = await server.call("POST", `/me${path}/tasks`, { subject, detail });
    for (const [agent, body] of work) await ask(agent, "POST", `${path}/tasks/${number}`, body);
    return number;
  };
  await task("Ship the landing page", "", [Researcher, { status: "completed", comment: "It is online." }]);
  await task("Write the announcement", "Short and friendly. See [the checklist](https://example.org/checklist):\n\n- what is new\n- what it costs",
    [Writer, { status: "in_progress", active_form: "Collecting what is new" }], [Writer, { status: "blocked", active_form: "Waiting for the prices", comment: "Who knows **the prices**?" }], [Translator, { status: "pending" }]);
  await task("Translate the announcement", "", [Translator, { status: "in_progress", active_form: "Reading the style guide" }]);
  await task("Review the prices, also those for very large customers with contracts of their own", "");
  const old = await task("Call the press", "");
  await server.call("POST", `/me${path}/tasks/${old}`, { state: "cancelled" });

  // A second member, an invitation, and tokens that agents have reported.
  const invite = invitation => server.call("POST", "/me/organization/invitations", { invitation });
  const { token } = await invite({ role: "member" });
  await server.call("POST", "/auth/register", { handle: "ben", email: "ben@example.org", name: "Ben Ray", password: "correct horse battery", invitation: token });
  await invite({ role: "admin", email: "fay@example.org" });
  const report = (agent, chat, input_tokens, output_tokens, cache_read_tokens) => ask(agent, "POST", `/chats/${chat}/events`,
    { event: { content: "Token usage", message_type: "task", metadata: { band_usage: { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens: 0 } } } });
  // Budgets count per UTC day; a test that runs past midnight reports again.
  let reported = "";
  const reportToday = async () => {
    const today = new Date().toISOString().slice(0, 10);
    if (reported === today) return;
    await report(Researcher, room, 48_200, 2_110, 31_000);
    await report(Writer, room, 12_400, 3_020, 0);
    await report(Translator, quiet, 3_050, 880, 0);
    reported = today;
  };
  await reportToday();

  // People of other organizations, and what agents remember.
  const [bob, eve] = [["bob", "Bob Ray"], ["eve", "Eve Long-Name of the Department of Many Affairs"], ["carol", "Carol Poe"]].map(([handle, name]) => server.user(handle, name));
  const asks = (recipient_handle, key, message) => server.call("POST", "/me/contacts/requests", { contact_request: { recipient_handle, ...(message ? { message } : {}) } }, key);
  await server.call("POST", `/me/contacts/requests/${(await asks("admin", bob)).id}/approve`, {});
  await asks("admin", eve, "We met at the conference. Shall we let our agents plan the next one together?");
  await asks(Writer.handle, eve);
  await asks("carol", server.key, "Hello!");
  const scout = (await server.call("POST", "/me/agents/register", { agent: { name: "Scout", description: "Finds places, people, and prices for events of any size" } }, bob)).agent;
  for (const [one, key] of [[scout, bob], [Researcher, server.key]]) await server.call("PATCH", `/me/agents/${one.id}`, { agent: { listed_in_directory: true } }, key);
  const remember = (agent, memory) => ask(agent, "POST", "/memories", { memory: { system: "long_term", type: "semantic", segment: "user", thought: "Said in the launch room", ...memory } });
  await remember(Writer, { content: "Prefers short announcements, and no exclamation marks. Wants to see the German version before anything is published.", subject_id: user.id, metadata: { room: "Launch plan" } });
  await remember(Researcher, { content: "The checklist is in the wiki under *Launch checklist 2026*.", segment: "tool", system: "working", type: "procedural", scope: "organization" });
  await remember(Translator, { content: "“Release” is not translated.", segment: "guideline" });
  // What waits for the user, beside the requests and the work above.
  const waits = (agent, content, metadata) => ask(agent, "POST", `/chats/${quiet}/events`, { event: { content, message_type: "attention", metadata } });
  await waits(Translator, "Is “du” or “Sie” right for the customers? The notes go out on Monday, and I cannot go on without it.", { kind: "question", blocking: true, default: "I take “Sie”." });
  const expires_at = new Date(Date.now() + 3 * 3600 * 1000).toISOString();
  await waits(Writer, "I leave out the change of the file format, since no customer uses it.", { kind: "assumption", expires_at });
  const seen = await waits(Writer, "Please read the draft before I send it.", { kind: "review" });
  await waits(Writer, "Not needed any more: the draft was read.", { kind: "review", resolves: seen.id });
  return { room, quiet, foreign: foreign.id, agents, second: second.id, talk: talk.id, first: first.id, drawn: drawn.id, reportToday };
}
