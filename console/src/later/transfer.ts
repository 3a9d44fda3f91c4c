// Uploads and downloads. Unlike `fetch`, this tells how far they are.

import { accessToken, parsed, patiently, unreachable } from "../shared.ts";

interface Transfer {
  url: string;
  /** Uploaded, if it is there. */
  body?: Blob;
  headers?: { [name: string]: string };
  signal: AbortSignal;
  /** Told how much of the whole has been transferred, from 0 to 1. */
  onShare?: (share: number) => void;
}

/** Limits how many run at the same time; the others wait for their turn. */
export class Gate {
  readonly #waiting: (() => void)[] = [];
  constructor(private free: number) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free--;
    else await new Promise<void>(resolve => this.#waiting.push(resolve));
    try { return await work(); } finally {
      const next = this.#waiting.shift();
      if (next) next(); else this.free++;
    }
  }
}

/** The answer's body. The same bytes in a room are one file, so an upload may be repeated like a download. */
export function transfer(what: Transfer): Promise<Blob> {
  return patiently(() => send(what), bodyOf, () => {
    if (what.signal.aborted) return false;
    what.onShare?.(0);
    return true;
  });
}

async function bodyOf(request: XMLHttpRequest): Promise<Blob> {
  const body = request.response as Blob;
  if (request.status < 300) return body;
  const after = request.getResponseHeader("retry-after");
  // Throws the error that the body describes.
  return await parsed(new Response(body, { status: request.status, headers: after ? { "retry-after": after } : {} })) as never;
}

function send({ url, body, headers, signal, onShare }: Transfer): Promise<XMLHttpRequest> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) throw signal.reason;
    const request = new XMLHttpRequest();
    const stop = (): void => request.abort();
    const share = (event: ProgressEvent): void => { if (event.total > 0) onShare?.(event.loaded / event.total); };
    request.open(body ? "PUT" : "GET", url);
    request.responseType = "blob";
    for (const [name, value] of Object.entries({ ...headers, authorization: `Bearer ${accessToken()}` })) request.setRequestHeader(name, value);
    (body ? request.upload : request).onprogress = share;
    request.onload = () => resolve(request);
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(signal.reason as Error);
    request.onloadend = () => signal.removeEventListener("abort", stop);
    signal.addEventListener("abort", stop);
    request.send(body ?? null);
  });
}
