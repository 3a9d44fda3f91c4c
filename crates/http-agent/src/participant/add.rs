//! `POST /chats/{chat_id}/participants`.

use actix_web::{HttpResponse, web};
use domain::chat::ChatService;
use http_wire::auth::AgentAuth;
use http_wire::body::AddParticipantBody;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ChatPath;
use http_wire::strict_json::StrictJson;
use http_wire::view::ParticipantView;

pub(crate) async fn add(
    AgentAuth(caller): AgentAuth,
    path: ChatPath,
    StrictJson { body, .. }: StrictJson<AddParticipantBody>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let participant = chats.add_participant(caller, path.chat, body.into_command()?).await?;
    let online = chats.is_online(&participant);
    Ok(Data::created(ParticipantView::with_presence(&participant, online)))
}
