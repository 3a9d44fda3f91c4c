// The JavaScript client of Phoenix, in the versions that published clients of the API stand on,
// unchanged, on both versions of the serializer.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { join_topic, leave_topic, Server, until, VERSIONS } from "./harness.mjs";

for (const version of VERSIONS) {
  for (const vsn of ["2.0.0", "1.0.0"]) {
    describe(`${version}, serializer ${vsn}`, () => {
      let server, ann, echo, room;
      const sockets = [];
      const open = async (party, options = {}) => {
        const socket = await party.socket(version, { vsn, ...serializer(vsn), ...options });
        sockets.push(socket);
        return socket;
      };

      before(async () => {
        server = await Server.start();
        ann = server.user("ann");
        echo = await ann.register("Echo");
        room = await ann.room(echo);
      });
      // A socket that stayed would come back and supersede the next test's.
      afterEach(async () => {
        for (const socket of sockets.splice(0)) await new Promise((resolve) => socket.disconnect(resolve));
      });
      after(() => server.remove());

      test("topics are joined, refused, told and left", async () => {
        const socket = await open(echo);
        const joined = await join_topic(socket, `chat_room:${room}`);
        assert.equal(joined.status, "ok");
        const foreign = await join_topic(socket, `user_rooms:${ann.id}`);
        assert.deepEqual([foreign.status, foreign.response.reason], ["error", "unauthorized"]);
        foreign.channel.leave();
        const unknown = await join_topic(socket, "weather:today");
        assert.equal(unknown.status, "error");
        unknown.channel.leave();

        const said = await ann.say(room, "hello", echo);
        const event = await until("the message comes", () => joined.pushed[0]);
        assert.equal(event.event, "message_created");
        assert.deepEqual([event.payload.id, words(event)], [said.id, "hello"]);

        await leave_topic(socket, joined.channel);
        await ann.say(room, "nobody listens", echo);
        const again = await join_topic(socket, `chat_room:${room}`);
        await ann.say(room, "here again", echo);
        const later = await until("the next message comes", () => again.pushed[0]);
        assert.equal(words(later), "here again");
        assert.equal(joined.pushed.length, 1);
        assert.equal(socket.opened, 1);
      });

      // Version 1.7 has no such option.
      if (!version.includes("-1.7.")) {
        test("a token is taken from the sub-protocol", async () => {
          for (const token of [ann.key, server.token("ann")]) {
            const socket = await open(ann, { authToken: token, params: {} });
            const joined = await join_topic(socket, `user_rooms:${ann.id}`);
            assert.equal(joined.status, "ok");
          }
        });
      }

      test("heartbeats are answered, and keep the socket", async () => {
        const socket = await open(ann, { heartbeatIntervalMs: 50 });
        let answered = 0;
        socket.onMessage(({ topic, event }) => {
          if (topic === "phoenix" && event === "phx_reply") answered += 1;
        });
        await until("five heartbeats are answered", () => answered >= 5);
        assert.deepEqual([socket.opened, socket.codes], [1, []]);
      });

      for (const signal of ["SIGKILL", "SIGTERM"]) {
        test(`it comes back by itself after ${signal}, and hears what is said then`, async () => {
          const socket = await open(echo);
          const joined = await join_topic(socket, `chat_room:${room}`);
          assert.equal(joined.status, "ok");
          await server.end(signal);
          await until("the client sees the end", () => socket.codes.length > 0);
          assert.equal(socket.codes[0], signal === "SIGTERM" ? 1012 : 1006);
          await server.run();
          await until("it is connected again", () => socket.opened > 1 && socket.isConnected());
          await until("its topic is joined again", () => joined.channel.state === "joined");
          await ann.say(room, `after ${signal}`, echo);
          const heard = () => joined.pushed.find((event) => words(event) === `after ${signal}`);
          await until("the message comes", heard);
          socket.disconnect();
        });
      }

      test("the older of two sockets is told that it is superseded", async () => {
        const older = await open(echo, { reconnectAfterMs: () => 3_600_000 });
        const control = await join_topic(older, `agent_control:${echo.id}`);
        assert.equal(control.status, "ok");
        const newer = await open(echo);
        await until("the older is closed", () => older.codes.length > 0);
        assert.equal(older.codes[0], 1001);
        assert.deepEqual(control.pushed.map(({ event }) => event), ["supersede"]);
        const joined = await join_topic(newer, `chat_room:${room}`);
        await ann.say(room, "to the newer", echo);
        await until("the newer hears", () => joined.pushed[0]);
      });
    });
  }
}

/// What a message says, without the mention that the server puts before it.
function words({ payload }) {
  return payload.content.replace(/^@\[\[[^\]]*\]\] /, "");
}

/// Version 1 has objects where version 2 has arrays; the client leaves them to whoever wants them.
function serializer(vsn) {
  if (vsn === "2.0.0") return {};
  return {
    encode: (message, callback) => callback(JSON.stringify(message)),
    decode: (text, callback) => callback(JSON.parse(text)),
  };
}
