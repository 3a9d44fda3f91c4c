//! Adding participants to a chat, and removing them.

use actix_web::{HttpResponse, web};
use domain::chat::ChatService;

use crate::auth::CallerExtractor;
use crate::body::AddParticipantBody;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::path::{ChatPath, ParticipantPath};
use crate::query::{NoQuery, StrictQuery};
use crate::strict_json::StrictJson;
use crate::view::ParticipantView;

/// `POST /chats/{chat_id}/participants`.
pub async fn add<C: CallerExtractor>(
    caller: C,
    path: ChatPath,
    StrictJson { body, .. }: StrictJson<AddParticipantBody>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let participant = chats.add_participant(caller, path.chat, body.into_command()).await?;
    let online = chats.is_online(&participant);
    Ok(Data::created(ParticipantView::with_presence(&participant, online)))
}

/// `DELETE /chats/{chat_id}/participants/{participant_id}`. Callers leave a chat by removing themselves.
pub async fn remove<C: CallerExtractor>(
    caller: C,
    path: ParticipantPath,
    _: StrictQuery<NoQuery>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let participant = chats.remove_participant(caller, path.chat, path.participant).await?;
    let online = chats.is_online(&participant);
    Ok(Data::ok(ParticipantView::with_presence(&participant, online)))
}
