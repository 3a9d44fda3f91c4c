//! The routes of chats, participants, and messages.

use http_wire::auth::UserAuth;
use http_wire::body::{AddParticipantBody, CreateChatBody, EditMessageBody, RenameChatBody, SendMessageBody};
use http_wire::handlers;
use http_wire::openapi::{Endpoint, delete, get, patch, post, put};
use http_wire::page::{CursorQuery, PageMetadata};
use http_wire::view::{
    BulkDeletionView, ChatDetailsView, ChatView, ListedChatView, MarkedReadView, MarkedRoomsView,
    MessageView, ParticipantView, ReceiptView, ReminderView, SentMessageView, TreeMessageView, TreeMetadata,
};

use crate::{bulk_deletion, chat, message, participant};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/chats", chat::list)
            .named("listChats", "List the caller's chats")
            .query::<chat::ListChatsQuery>()
            .lists::<ListedChatView<'_>, PageMetadata>(),
        post("/chats", chat::create)
            .named("createChat", "Create a chat that the caller owns")
            .body::<CreateChatBody>()
            .idempotent()
            .answers::<ChatDetailsView<'_>>(201),
        post("/chats/read", chat::mark_all_read)
            .named("markAllChatsRead", "Mark all chats of the caller as read")
            .answers::<MarkedRoomsView>(200),
        post("/chats/bulk-delete", bulk_deletion::delete_chats)
            .named(
                "deleteChats",
                "Delete up to 100 chats for all participants, in the background (owners only)",
            )
            .body::<bulk_deletion::DeleteChatsBody>()
            .answers::<BulkDeletionView<'_>>(202),
        get("/chats/{chat_id}", chat::find)
            .named("findChat", "Show a chat that the caller or one of their agents participates in")
            .query::<chat::FindChatQuery>()
            .answers::<ListedChatView<'_>>(200),
        patch("/chats/{chat_id}", chat::rename)
            .named("renameChat", "Rename a chat, or set its default deadline (owners only)")
            .body::<RenameChatBody>()
            .answers::<ChatDetailsView<'_>>(200),
        delete("/chats/{chat_id}", chat::remove)
            .named("deleteChat", "Delete a chat for all participants (owners only)")
            .answers::<ChatView<'_>>(200)
            .refuses(&[409]),
        put("/chats/{chat_id}/read", chat::mark_read)
            .named(
                "markChatRead",
                "Mark a chat as read up to a message, mark messages as unread, or mute the chat",
            )
            .body::<chat::MarkReadBody>()
            .answers::<MarkedReadView>(200)
            .refuses(&[403]),
        get("/chats/{chat_id}/participants", participant::list)
            .named("listParticipants", "List the participants of a chat, oldest first")
            .query::<participant::ListParticipantsQuery>()
            .lists::<ParticipantView<'_>, PageMetadata>(),
        post("/chats/{chat_id}/participants", handlers::participant::add::<UserAuth>)
            .named("addParticipant", "Add a peer to a chat")
            .body::<AddParticipantBody>()
            .answers::<ParticipantView<'_>>(201)
            .refuses(&[409]),
        patch("/chats/{chat_id}/participants/{participant_id}", participant::set_role)
            .named("setParticipantRole", "Change the role of a participant (owners and admins only)")
            .body::<participant::SetParticipantRoleBody>()
            .answers::<ParticipantView<'_>>(200)
            .refuses(&[409]),
        delete("/chats/{chat_id}/participants/{participant_id}", handlers::participant::remove::<UserAuth>)
            .named("removeParticipant", "Remove a participant from a chat, or leave it")
            .answers::<ParticipantView<'_>>(200),
        get("/chats/{chat_id}/transcript", chat::transcript)
            .named("exportChat", "Download a chat as one document, with a manifest of digests")
            .query::<chat::TranscriptQuery>()
            .answers_bytes_of(200, chat::MEDIA_TYPES),
        get("/chats/{chat_id}/messages", message::list)
            .named("listMessages", "List the messages of a chat, newest first, or around one message")
            .query::<message::ListMessagesQuery>()
            .lists::<MessageView<'_>, message::HistoryMetadata>(),
        post("/chats/{chat_id}/messages", handlers::message::send::<UserAuth>)
            .named("sendMessage", "Send a message; mentioned participants receive it")
            .body::<SendMessageBody>()
            .idempotent()
            .answers::<SentMessageView<'_>>(201)
            .answers::<ReminderView<'_>>(202),
        get("/chats/{chat_id}/messages/{message_id}/receipts", handlers::message::receipts::<UserAuth>)
            .named("listReceipts", "Show what became of a message at each agent that it is addressed to")
            .lists_all::<ReceiptView<'_>>(),
        get("/chats/{chat_id}/messages/{message_id}/tree", message::tree)
            .named("listMessageTree", "List the tree of which a message is part, the root first")
            .query::<CursorQuery>()
            .lists::<TreeMessageView<'_>, TreeMetadata>(),
        patch("/chats/{chat_id}/messages/{message_id}", message::edit)
            .named("editMessage", "Edit one of the caller's messages")
            .body::<EditMessageBody>()
            .answers::<MessageView<'_>>(200)
            .refuses(&[409]),
        delete("/chats/{chat_id}/messages/{message_id}", message::remove)
            .named("deleteMessage", "Delete one of the caller's messages for all participants")
            .answers::<MessageView<'_>>(200)
            .refuses(&[409]),
    ]
}
