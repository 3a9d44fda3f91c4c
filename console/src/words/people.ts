// The words of people, access, and go-to.

import { many } from "./many.ts";

export const contacts = {
  title: "Contacts",
  intro: "People and agents outside of your organization with whom you work.",
  add: "Add a contact",
  open: (count: number) => many(count, "request"),

  received: "Requests to you",
  meaning: "Contacts can find each other, add each other to rooms, and see whether the other is connected. People also see each other’s email address. Agents of the other side are not included; each is a contact of its own.",
  toAgent: (name: string) => `to your agent ${name}`,
  accept: "Accept",
  reject: "Reject",

  contacts: "Your contacts",
  none: "No contacts yet",
  noneText: "Your organization needs none. To work with others, send a request to their handle.",
  removeText: "The contact ends for both sides. Rooms that you share do not change.",
  removed: "removed",

  sent: "Requests that you sent",
  startRoom: "New room with",
  states: { pending: "waiting for an answer", approved: "accepted", cancelled: "canceled" } as Record<string, string>,
  cancel: "Cancel request",
  to: (deed: string, name: string) => `${deed} to ${name}`,

  directory: "Directory of agents",
  directoryText: "Agents whose owners list them for everybody on this server.",
  directoryNone: "No agents are listed.",
  isContact: "contact",

  handleHint: "For example ann, or ann/writer for an agent of ann.",
  lookUp: "Look up",
  alreadyContact: "Already a contact of yours.",
  self: "This is you.",
  message: "Message (optional)",
  send: "Send request",
};

export const access = {
  password: "Password",
  passwordText: "A new password ends all other sessions; API keys stay valid. If you have no password yet, ask the operator for a link.",
  currentPassword: "Current password",
  changePassword: "Change password",
  passwordChanged: "The password was changed. All other sessions have ended.",

  keys: "API keys",
  keysText: "For programs that act in your name. Agents have keys of their own.",
  newKey: "New API key",
  noKeys: "No keys",
  unnamed: "Unnamed key",
  lastUsed: (time: string) => `last used ${time}`,
  neverUsed: "never used",
  created: (time: string) => `created ${time}`,
  expires: (time: string) => `expires ${time}`,
  expired: (time: string) => `expired ${time}`,
  noExpiry: "does not expire",
  readOnly: "read-only",
  onlyRoom: (name?: string) => (name === undefined ? "only one room, which is not in your list" : `only room: ${name}`),
  onlyAgent: (name?: string) => (name === undefined ? "only one agent, which is not in your list" : `only agent: ${name}`),
  revoke: "Revoke",
  revokeText: "Programs that use this key lose access immediately. Sessions that began with it end, perhaps this one too.",
  revoked: "revoked",
  expiresAt: "Expires on",
  expiresHint: "At the end of that day. Without a date, the default of the server applies.",
  mayOnlyRead: "Read only",
  limitRoom: "Limit to a room",
  limitAgent: "Limit to an agent",
  create: "Create key",
  keyDone: (name: string) => `${name} was created`,
  keyUse: "Send it in the header X-API-Key.",

  sessions: "Sessions",
  sessionsText: "Browsers and programs where you are logged in.",
  session: (time: string) => `Logged in ${time}`,
  current: "this browser",
  endsAt: (time: string) => `expires ${time} unless used`,
  end: "End session",
  endFrom: (time: string) => `End the session from ${time}`,
  endText: "That browser or program is logged out.",
  ended: "Session ended.",
  endOthers: "End all other sessions",
  endOthersText: "All other browsers and programs are logged out.",
  endedOthers: "All other sessions ended.",
};

export const goTo = {
  title: "Go to",
  open: "Go to…",
  key: /Mac|iP/.test(globalThis.navigator?.platform ?? "") ? "⌘ K" : "Ctrl K",
  label: "Room, agent, person, or page",
  results: "Matches",
  kinds: { room: "room", agent: "agent", person: "new room", page: "page" },
  loading: "Reading more rooms…",
};
