// Incremental SHA-256. `crypto.subtle` needs HTTPS and all bytes at once.

const PRIMES = (() => {
  const found: number[] = [];
  for (let one = 2; found.length < 64; one++) if (found.every(prime => one % prime)) found.push(one);
  return found;
})();
/** The first 32 bits of the fraction of a root. */
const fraction = (root: number): number => (root % 1) * 2 ** 32 | 0;
const START = PRIMES.slice(0, 8).map(prime => fraction(Math.sqrt(prime)));
const ROUNDS = Int32Array.from(PRIMES, prime => fraction(Math.cbrt(prime)));
const BLOCK = 64;

export class Sha256 {
  readonly #state = Int32Array.from(START);
  readonly #words = new Int32Array(64);
  readonly #rest = new Uint8Array(BLOCK);
  #filled = 0;
  #bytes = 0;

  update(piece: Uint8Array): void {
    this.#bytes += piece.length;
    let at = 0;
    if (this.#filled > 0) {
      at = Math.min(BLOCK - this.#filled, piece.length);
      this.#rest.set(piece.subarray(0, at), this.#filled);
      this.#filled += at;
      if (this.#filled < BLOCK) return;
      this.#block(this.#rest, 0);
    }
    for (; at + BLOCK <= piece.length; at += BLOCK) this.#block(piece, at);
    this.#rest.set(piece.subarray(at));
    this.#filled = piece.length - at;
  }

  /** The digest in hexadecimal digits. Nothing can be added afterwards. */
  digest(): string {
    const bits = this.#bytes * 8;
    const end = new Uint8Array((this.#filled < 56 ? 64 : 128) - this.#filled);
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(end.length - 4, bits >>> 0);
    this.update(end);
    return [...this.#state].map(word => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  #block(bytes: Uint8Array, from: number): void {
    const words = this.#words;
    for (let i = 0, at = from; i < 16; i++, at += 4) words[i] = bytes[at]! << 24 | bytes[at + 1]! << 16 | bytes[at + 2]! << 8 | bytes[at + 3]!;
    for (let i = 16; i < 64; i++) {
      const x = words[i - 15]!;
      const y = words[i - 2]!;
      words[i] = words[i - 16]! + words[i - 7]! + ((x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3) + ((y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10);
    }
    const state = this.#state;
    // Reading them one by one is much faster than taking the array apart.
    let a = state[0]!, b = state[1]!, c = state[2]!, d = state[3]!, e = state[4]!, f = state[5]!, g = state[6]!, h = state[7]!;
    for (let i = 0; i < 64; i++) {
      const one = h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + (e & f ^ ~e & g) + ROUNDS[i]! + words[i]! | 0;
      const two = ((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + (a & b ^ a & c ^ b & c) | 0;
      h = g; g = f; f = e; e = d + one | 0; d = c; c = b; b = a; a = one + two | 0;
    }
    state[0]! += a; state[1]! += b; state[2]! += c; state[3]! += d; state[4]! += e; state[5]! += f; state[6]! += g; state[7]! += h;
  }
}
