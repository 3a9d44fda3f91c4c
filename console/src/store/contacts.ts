// Contacts of the caller, requests to become one, and the agents in the directory.

import type { Id } from "../pure/message.ts";
import type { ContactRequestView, ContactView, ListedAgentView, ResolvedView } from "../wire/api.ts";
import { call } from "../wire/call.ts";
import { listen } from "../wire/link.ts";
import { onLeave } from "../wire/session.ts";
import { PAGE_SIZE, pageAfter, Paged } from "./paged.ts";

export type Contact = ContactView;
export type Request = ContactRequestView;
export type Listed = ListedAgentView;

const at = (shown: number) => ({ page: pageAfter(shown), page_size: PAGE_SIZE });
export const contacts = new Paged<Contact>(one => one.id, (_, shown) => call("listContacts", { query: at(shown) }));
/** Requests that wait for the caller, also those to own agents. */
export const received = new Paged<Request>(one => one.id, (_, shown) => call("listReceivedContactRequests", { query: at(shown) }));
export const sent = new Paged<Request>(one => one.id, (_, shown) => call("listSentContactRequests", { query: { ...at(shown), status: "all" } }));
export const directory = new Paged<Listed>(one => one.handle, (_, shown) => call("listDirectory", { query: at(shown) }));
const all = [contacts, received, sent, directory];

/** Reads everything that the screen shows. Requests to own agents are not pushed, so each visit reads them again. */
export function load(): void {
  for (const one of all) void one.load();
}

/** Starts to listen. The requests are counted in the sidebar, so they are read now; the rest is read for its screen. */
export function start(me: Id): void {
  listen(`user_contacts:${me}`, {
    contact_request_received: (request: Request) => { if (!received.isLoaded.value) void received.load(); else received.put(request); },
    contact_request_updated: ({ id, status }: { id: Id; status: string }) => settle(id, status),
    contact_added: ({ handle }: { handle: string }) => {
      if (contacts.isLoaded.value) void contacts.load(true);
      directory.patch(handle, { is_contact: true });
    },
    contact_removed: ({ id }: { id: Id }) => forget(id),
  }, () => {
    void received.load();
    for (const one of [contacts, sent]) if (one.isLoaded.value) void one.load();
  });
}

function settle(id: Id, status: string): void {
  if (status !== "pending") received.drop(id);
  sent.patch(id, { status });
}

function forget(id: Id): void {
  const gone = contacts.rows.value.find(one => one.id === id);
  contacts.drop(id);
  if (gone) directory.patch(gone.user.handle, { is_contact: false });
}

/** The person or agent with a handle. */
export const resolve = async (handle: string): Promise<ResolvedView> => (await call("resolveHandle", { body: { handle } })).data;

export async function send(handle: string, message: string): Promise<Request> {
  const { data } = await call("sendContactRequest", { body: { contact_request: { recipient_handle: handle, ...(message ? { message } : {}) } } });
  sent.put(data);
  // The other side had asked already, so both are contacts now.
  if (data.status !== "pending") { void contacts.load(true); void received.load(); }
  return data;
}

const STEPS = { approve: "approveContactRequest", reject: "rejectContactRequest", cancel: "cancelContactRequest" } as const;
export type Answer = keyof typeof STEPS;

/** Returns the state that the request has then. */
export async function answer(id: Id, step: Answer): Promise<string> {
  try {
    const { data } = await call(STEPS[step], { path: { request_id: id } });
    settle(id, data.status);
    if (step === "approve") void contacts.load(true);
    return data.status;
  } catch (cause) {
    // It may have been answered elsewhere.
    void received.load();
    void sent.load();
    throw cause;
  }
}

export async function remove(id: Id): Promise<void> {
  await call("removeContact", { path: { contact_id: id } });
  forget(id);
}

onLeave(() => { for (const one of all) one.clear(); });
