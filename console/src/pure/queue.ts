// Events of a room that wait to be taken: in their order, and never more than fit.

import type { Id, Message } from "./message.ts";

export type Happening =
  | { kind: "created" | "updated"; message: Message }
  | { kind: "deleted"; id: Id };

export const MOST_WAITING = 1000;
const MOST_CHARACTERS = 4_000_000;

export class Queue {
  #waiting: Happening[] = [];
  #characters = 0;
  /** More came than fits: all that waited is dropped, and the room has to be read again. */
  isLost = false;

  get isEmpty(): boolean { return this.#waiting.length === 0 && !this.isLost; }

  put(one: Happening): void {
    if (this.isLost) return;
    this.#waiting.push(one);
    if (one.kind !== "deleted") this.#characters += one.message.content.length;
    if (this.#waiting.length <= MOST_WAITING && this.#characters <= MOST_CHARACTERS) return;
    this.#clear();
    this.isLost = true;
  }

  /** All that waits, in order. */
  take(): Happening[] {
    const all = this.#waiting;
    this.#clear();
    return all;
  }

  #clear(): void {
    this.#waiting = [];
    this.#characters = 0;
  }
}
