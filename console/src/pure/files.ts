// Names, sizes, and pictures of files.

const UNITS = ["bytes", "kB", "MB", "GB"];

/** A size as people read it: `12 kB`, `3.4 MB`. */
export function sizeOf(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (Math.round(size * 10) >= 10_000 && unit < UNITS.length - 1) {
    size /= 1000;
    unit++;
  }
  const digits = unit > 0 && size < 10 ? 1 : 0;
  return `${size.toLocaleString("en", { maximumFractionDigits: digits })} ${bytes === 1 ? "byte" : UNITS[unit]}`;
}

const MOST_NAME_BYTES = 255;
const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** The name as the server takes it: without control characters (among them those that turn the direction of text), and cut before its ending if it is too long. */
export function fileName(name: string): string {
  const clean = name.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, "_").trim() || "file";
  if (bytesOf(clean) <= MOST_NAME_BYTES) return clean;
  const dot = clean.lastIndexOf(".");
  const ending = dot > 0 && bytesOf(clean.slice(dot)) <= 32 ? clean.slice(dot) : "";
  let stem = "";
  let left = MOST_NAME_BYTES - bytesOf(ending);
  for (const char of clean) {
    left -= bytesOf(char);
    if (left < 0) break;
    stem += char;
  }
  return stem.trim() + ending;
}

/** The types that are shown. The server finds them from the bytes. */
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** Larger ones are not fetched without being asked for. */
const MOST_BYTES = 8 * 1024 * 1024;
/** A small file can describe a picture that fills the memory. */
const MOST_PIXELS = 40_000_000;

export const isShown = (file: { content_type: string; bytes: number }): boolean => PICTURES.includes(file.content_type) && file.bytes <= MOST_BYTES;

/** Whether a browser can show these bytes without trouble. */
export function isHarmless(bytes: Uint8Array): boolean {
  const size = dimensions(bytes);
  const pixels = size ? size[0] * size[1] : 0;
  return pixels > 0 && pixels <= MOST_PIXELS;
}

/** Width and height of a picture, or null if they cannot be found. */
export function dimensions(bytes: Uint8Array): [width: number, height: number] | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = (at: number, length: number): string => String.fromCharCode(...bytes.subarray(at, at + length));
  try {
    if (text(1, 3) === "PNG") return [view.getUint32(16), view.getUint32(20)];
    if (text(0, 3) === "GIF") return [view.getUint16(6, true), view.getUint16(8, true)];
    if (text(0, 4) === "RIFF") {
      switch (text(12, 4)) {
        case "VP8 ": return [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff];
        case "VP8L": {
          const bits = view.getUint32(21, true);
          return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
        }
        case "VP8X": return [(view.getUint32(24, true) & 0xffffff) + 1, (view.getUint32(26, true) >>> 8) + 1];
        default: return null;
      }
    }
    // JPEG: the segments, up to the one that begins a frame.
    for (let at = 2; view.getUint16(0) === 0xffd8;) {
      const marker = view.getUint16(at);
      if (marker === 0xffff) at++;
      else if (marker < 0xffc0) return null;
      else if (marker < 0xffd0 && ![0xffc4, 0xffc8, 0xffcc].includes(marker)) return [view.getUint16(at + 7), view.getUint16(at + 5)];
      else at += 2 + view.getUint16(at + 2);
    }
  } catch { /* It ends too early. */ }
  return null;
}
