// The files of a room: what is chosen is uploaded at once, and the next text takes it along.

import { ApiError, explain, inform, onLeave } from "../shared.ts";
import { fileName, isHarmless } from "../pure/files.ts";
import type { Id } from "../pure/message.ts";
import { Sha256 } from "../pure/sha256.ts";
import type { Chosen, Outbox } from "../store/outbox.ts";
import type { AttachmentView } from "../wire/api.ts";
import { Gate, transfer } from "./transfer.ts";
import { files as words } from "./words.ts";

/** The maximum number that a text shows. */
const MOST = 10;
/** Of a file that is being read, this much is in memory. */
const PIECE = 1024 * 1024;

// The server takes four uploads and sixteen downloads of one user, who may have several tabs.
const uploads = new Gate(2);
const previews = new Gate(4);

const urlOf = (room: Id, file = ""): string => `/api/v1/me/chats/${encodeURIComponent(room)}/files${file && `/${encodeURIComponent(file)}`}`;

/** Takes what was chosen, dropped, or pasted: null for a folder. */
export function attach(outbox: Outbox, list: (File | null)[]): void {
  const files = list.filter(one => one !== null);
  const free = MOST - outbox.files.value.length;
  if (files.length < list.length) inform(words.folder);
  if (files.length > free) inform(words.tooMany(MOST));
  const added = files.slice(0, Math.max(0, free)).map((file): Chosen => ({ key: Symbol(), file, state: "uploading", share: 0, fault: "", stop: new AbortController() }));
  outbox.files.value = [...outbox.files.value, ...added];
  for (const one of added) void upload(outbox, one);
}

export function retry(outbox: Outbox, one: Chosen): void {
  change(outbox, one, { state: "uploading", share: 0, fault: "" });
  void upload(outbox, one);
}

export function remove(outbox: Outbox, one: Chosen): void {
  one.stop.abort();
  outbox.files.value = outbox.files.value.filter(other => other.key !== one.key);
}

function change(outbox: Outbox, { key }: Chosen, changes: Partial<Chosen>): void {
  outbox.files.value = outbox.files.value.map(one => (one.key === key ? { ...one, ...changes } : one));
}

async function upload(outbox: Outbox, one: Chosen): Promise<void> {
  const { file, stop: { signal } } = one;
  const onShare = (share: number): void => change(outbox, one, { share });
  try {
    await uploads.run(async () => {
      const digest = await digestOf(file, signal);
      // Headers are bytes to a browser; the server reads UTF-8.
      const name = String.fromCharCode(...new TextEncoder().encode(fileName(file.name)));
      const answer = await transfer({ url: urlOf(outbox.room), body: file, signal, onShare, headers: { "x-file-name": name, "x-file-sha256": digest, "content-type": "application/octet-stream" } });
      const { data } = JSON.parse(await answer.text()) as { data: AttachmentView };
      change(outbox, one, { state: "ready", share: 1, stored: data });
    });
  } catch (cause) {
    if (!signal.aborted) change(outbox, one, { state: "failed", fault: uploadFault(cause) });
  }
}

/** A server that refuses a large body may cut the connection before a browser has read why. */
function uploadFault(cause: unknown): string {
  const { status } = cause as ApiError;
  return status === 404 ? words.notHere : status === 0 ? words.interrupted : saying(cause);
}

async function digestOf(file: File, signal: AbortSignal): Promise<string> {
  const sha = new Sha256();
  // Also without bytes, so that a folder fails here.
  for (let at = 0; at === 0 || at < file.size; at += PIECE) {
    signal.throwIfAborted();
    const piece = await file.slice(at, at + PIECE).arrayBuffer().catch(() => { throw new Said(words.unreadable); });
    sha.update(new Uint8Array(piece));
  }
  return sha.digest();
}

/** A failure whose message is shown as it is. */
export class Said extends Error {}

export const saying = (cause: unknown): string => cause instanceof Said ? cause.message : explain(cause);

async function fetched(room: Id, file: AttachmentView, signal: AbortSignal, onShare?: (share: number) => void): Promise<Blob> {
  try {
    return await transfer({ url: urlOf(room, file.id), signal, onShare });
  } catch (cause) {
    throw cause instanceof ApiError && cause.status === 404 ? new Said(words.gone) : cause;
  }
}

const downloads = new Set<AbortController>();
onLeave(() => { for (const one of downloads) one.abort(); });

/** Saves a file under its name. The browser gets it as bytes, which it never shows. */
export async function download(room: Id, file: AttachmentView, stop: AbortController, onShare: (share: number) => void): Promise<void> {
  downloads.add(stop);
  save(await fetched(room, file, stop.signal, onShare).finally(() => downloads.delete(stop)), file.name);
}

/** Saves the room as a page for people. */
export async function transcript(room: Id): Promise<void> {
  const stop = new AbortController();
  downloads.add(stop);
  const url = `/api/v1/me/chats/${encodeURIComponent(room)}/transcript?format=html`;
  save(await transfer({ url, signal: stop.signal }).finally(() => downloads.delete(stop)), `transcript-${room}.html`);
}

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob.slice(0, blob.size, "application/octet-stream"));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The bytes of a picture. Their type is one of four, of which none can run anything. */
export async function picture(room: Id, file: AttachmentView, signal: AbortSignal): Promise<Blob> {
  const blob = await previews.run(() => fetched(room, file, signal));
  if (!isHarmless(new Uint8Array(await blob.arrayBuffer()))) throw new Said(words.noPreview);
  return blob.slice(0, blob.size, file.content_type);
}
