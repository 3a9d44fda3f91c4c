//! `GET /chats/{chat_id}/messages/{message_id}/tree`: what follows from one message.

use actix_web::{HttpResponse, web};
use domain::message::{Message, MessageService};
use domain::usage::UsageService;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{List, ok_off_thread};
use http_wire::error::ApiError;
use http_wire::page::CursorQuery;
use http_wire::path::MessagePath;
use http_wire::query::StrictQuery;
use http_wire::view::{MessageView, TokensView, TreeMessageView, TreeMetadata};

pub(crate) async fn tree(
    UserAuth(caller): UserAuth,
    path: MessagePath,
    StrictQuery(query): StrictQuery<CursorQuery>,
    messages: web::Data<MessageService>,
    usage: web::Data<UsageService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("me/tree").of(path.message.uuid()).of(caller.user.uuid());
    let window = query.window(scope)?;
    let page = messages.tree(caller, path.chat, path.message, window.request.clone()).await?;
    let usage = match page.rows.first() {
        Some(part) => {
            let sum = usage.of_tree(path.chat, part.place().root).await?;
            Some(TokensView::new(&[sum]))
        }
        None => None,
    };
    let metadata = TreeMetadata::new(window.metadata(&page), usage);
    let encode = move |rows: &[Message]| List::new(rows.iter().map(TreeMessageView::new), metadata).encode();
    ok_off_thread(MessageView::bytes(&page.rows), move || encode(&page.rows)).await
}
