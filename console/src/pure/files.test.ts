import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { dimensions, fileName, isHarmless, isShown, sizeOf } from "./files.ts";
import { Sha256 } from "./sha256.ts";

test("the digest is that of Node.js, however the bytes are cut", () => {
  const digest = (bytes: Uint8Array, step: number): string => {
    const sha = new Sha256();
    for (let at = 0; at < bytes.length; at += step) sha.update(bytes.subarray(at, at + step));
    return sha.digest();
  };
  for (let length = 0; length <= 200; length++) {
    const bytes = randomBytes(length);
    const expected = createHash("sha256").update(bytes).digest("hex");
    for (const step of [1, 7, 55, 56, 64, 65, 200]) assert.equal(digest(bytes, step), expected, `${length} bytes, ${step} at a time`);
  }
  const large = randomBytes(3_000_001);
  assert.equal(digest(large, 1 << 20), createHash("sha256").update(large).digest("hex"));
});

test("sizes are short", () => {
  for (const [bytes, text] of [[0, "0 bytes"], [1, "1 byte"], [999, "999 bytes"], [1000, "1 kB"], [1234, "1.2 kB"], [12_345, "12 kB"], [999_960, "1 MB"], [104_857_600, "105 MB"], [2_500_000_000, "2.5 GB"]] as const) assert.equal(sizeOf(bytes), text);
});

test("names are those that the server takes", () => {
  for (const [name, taken] of [
    ["notes.txt", "notes.txt"], [" a\tb\nc\u0085.txt ", "a_b_c_.txt"], ["", "file"], [" ", "file"], ["<b>ü</b>.png", "<b>ü</b>.png"],
    [`${"x".repeat(300)}.tar`, `${"x".repeat(251)}.tar`], [`${"😀".repeat(100)}.png`, `${"😀".repeat(62)}.png`], ["y".repeat(256), "y".repeat(255)],
    [`a.${"z".repeat(300)}`, `a.${"z".repeat(253)}`],
  ] as const) assert.equal(fileName(name), taken);
});

const bytes = (...parts: (string | number[])[]): Uint8Array => Uint8Array.from(parts.flatMap(part => (typeof part === "string" ? [...part].map(char => char.charCodeAt(0)) : part)));

test("pictures tell their size, and those that would fill the memory are not shown", () => {
  const png = (width: number[], height: number[]): Uint8Array => bytes([0x89], "PNG\r\n\x1a\n", [0, 0, 0, 13], "IHDR", width, height);
  for (const [picture, size] of [
    [png([0, 0, 1, 2], [0, 0, 0, 3]), [258, 3]],
    [bytes("GIF89a", [2, 1, 3, 0]), [258, 3]],
    [bytes([0xff, 0xd8, 0xff, 0xe0, 0, 4, 9, 9, 0xff, 0xff, 0xc2, 0, 17, 8, 0, 3, 1, 2]), [258, 3]],
    [bytes("RIFF....WEBPVP8 ....", [0, 0, 0, 0x9d, 1, 0x2a, 2, 1, 3, 0]), [258, 3]],
    [bytes("RIFF....WEBPVP8L....", [0x2f, 0x01, 0x81, 0x00, 0x00]), [258, 3]],
    [bytes("RIFF....WEBPVP8X....", [0, 0, 0, 0, 1, 1, 0, 2, 0, 0]), [258, 3]],
    [bytes("RIFF....WEBPWHAT"), null], [bytes("GIF"), null], [bytes([0x89], "PNG"), null], [bytes("<svg>"), null], [bytes(), null],
    [bytes([0xff, 0xd8, 0xff, 0xe0, 0, 4, 9, 9, 1, 2, 3, 4]), null], [bytes([0xff, 0xd8, 0xff, 0xff, 0xff, 0xff]), null],
  ] as const) assert.deepEqual(dimensions(picture), size);
  assert.equal(isHarmless(png([0, 0, 0x10, 0], [0, 0, 0x10, 0])), true);
  assert.equal(isHarmless(png([0, 0, 0xff, 0], [0, 0, 0xff, 0])), false);
  assert.equal(isHarmless(png([0, 0, 0, 0], [0, 0, 0, 0])), false);
  assert.equal(isHarmless(bytes("GIF")), false);
});

test("only pictures of four types, and not too large ones, are shown", () => {
  for (const content_type of ["image/png", "image/jpeg", "image/gif", "image/webp"]) assert.equal(isShown({ content_type, bytes: 1 }), true);
  for (const content_type of ["image/svg+xml", "text/plain", "text/html", "application/pdf", "video/mp4"]) assert.equal(isShown({ content_type, bytes: 1 }), false);
  assert.equal(isShown({ content_type: "image/png", bytes: 8 * 1024 * 1024 + 1 }), false);
});
