//! `GET /chats/{chat_id}/context`: the messages from and to the agent, oldest first.

use actix_web::{HttpResponse, web};
use domain::message::MessageService;
use http_wire::auth::AgentAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{List, ok_off_thread};
use http_wire::error::ApiError;
use http_wire::page::PageQuery;
use http_wire::path::ChatPath;
use http_wire::query::StrictQuery;
use http_wire::view::MessageView;

/// The default number of rows.
const DEFAULT_ROWS: u32 = 50;

pub(crate) async fn context(
    AgentAuth(caller): AgentAuth,
    path: ChatPath,
    StrictQuery(query): StrictQuery<PageQuery>,
    messages: web::Data<MessageService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("agent/context").of(path.chat.uuid()).of(caller.agent.uuid());
    let window = query.window_or(scope, DEFAULT_ROWS)?;
    let page = messages.context(caller, path.chat, window.request.clone()).await?;
    window.whole(&page)?;
    let metadata = window.metadata(&page);
    let context = ok_off_thread(MessageView::bytes(&page.rows), move || {
        let rows = page.rows.iter().map(|message| MessageView::for_agent(message, caller.agent));
        List::with_meta(rows, metadata).encode()
    });
    Ok(window.mark(context.await?))
}
