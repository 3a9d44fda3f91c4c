// Files for tests and pictures.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import zlib from "node:zlib";

function crc32(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return ~sum >>> 0;
}

/** A PNG. `rows` are those that are really in it. */
export function png(width, height, colorAt = () => [200, 60, 40], rows = height) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const pixels = Buffer.alloc(rows * (1 + width * 3));
  for (let y = 0; y < rows; y++) for (let x = 0; x < width; x++) pixels.set(colorAt(x, y), y * (1 + width * 3) + 1 + x * 3);
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head), chunk("IDAT", zlib.deflateSync(pixels)), chunk("IEND", Buffer.alloc(0))]);
}

/** Uploads a file with the API, as an agent with its key, or as the first user. */
export async function upload(server, room, name, content, key) {
  const body = Buffer.from(content);
  const answer = await fetch(`${server.url}/api/v1/${key ? "agent" : "me"}/chats/${room}/files`, {
    method: "PUT", body,
    headers: { "x-api-key": key ?? server.key, "x-file-name": Buffer.from(name).toString("latin1"), "x-file-sha256": createHash("sha256").update(body).digest("hex") },
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${answer.status} ${text}`);
  return JSON.parse(text).data;
}
