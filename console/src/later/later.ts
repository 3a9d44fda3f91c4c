// What is loaded later: boards, last calls, files, the inbox, memories, notifications, passkeys, reminders, the search, the second factor, trees, webhooks, bulk deletion, and the
// pages of operators. A script of their own, see shared.ts.

import { ROUTES } from "../shared.ts";
import { ROUTES as LATER_ROUTES } from "./routes.ts";

export { Board } from "./Board.tsx";
export { BulkDelete } from "./BulkDelete.tsx";
export { Doors } from "./Doors.tsx";
export { attach, transcript } from "./files.ts";
export { Attachments, Tray } from "./Files.tsx";
export { Inbox } from "./Inbox.tsx";
export { Memories } from "./Memories.tsx";
export { Notifications } from "./Notifications.tsx";
export { Operator } from "./Operator.tsx";
export { Passkeys } from "./Passkeys.tsx";
export { Reminders } from "./Reminders.tsx";
export { Search } from "./Search.tsx";
export { SecondFactor } from "./SecondFactor.tsx";
export { Tree } from "./Tree.tsx";
export { Webhook } from "./Webhook.tsx";

Object.assign(ROUTES, LATER_ROUTES);
