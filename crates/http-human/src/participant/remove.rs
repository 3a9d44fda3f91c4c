//! `DELETE /chats/{chat_id}/participants/{participant_id}`; oneself to leave.

use actix_web::{HttpResponse, web};
use domain::chat::ChatService;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ParticipantPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::view::ParticipantView;

pub(crate) async fn remove(
    UserAuth(caller): UserAuth,
    path: ParticipantPath,
    _: StrictQuery<NoQuery>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let participant = chats.remove_participant(caller, path.chat, path.participant).await?;
    let online = chats.is_online(&participant);
    Ok(Data::ok(ParticipantView::with_presence(&participant, online)))
}
