//! `GET /chats/{chat_id}/participants`: the whole roster, without metadata.

use actix_web::{HttpResponse, web};
use domain::chat::ChatService;
use http_wire::auth::AgentAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ChatPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::view::ParticipantView;

pub(crate) async fn list(
    AgentAuth(caller): AgentAuth,
    path: ChatPath,
    _: StrictQuery<NoQuery>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let roster = chats.roster(caller, path.chat).await?;
    let rows =
        roster.participants.iter().map(|one| ParticipantView::with_presence(one, chats.is_online(one)));
    Ok(Data::ok(rows.collect::<Vec<_>>()))
}
