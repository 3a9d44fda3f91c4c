//! `PATCH /chats/{chat_id}/participants/{participant_id}`: gives a participant another role.

use actix_web::{HttpResponse, web};
use domain::chat::{ChatService, Role};
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::openapi::schema::word;
use http_wire::path::ParticipantPath;
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson, known};
use http_wire::view::ParticipantView;

pub(crate) struct SetParticipantRoleBody(Role);

impl FromBody for SetParticipantRoleBody {
    const WRAPPER: Option<&'static str> = Some("participant");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        body.text("role", word(Role::WORDS), known(Role::parse)).map(Self)
    }
}

pub(crate) async fn set_role(
    UserAuth(caller): UserAuth,
    path: ParticipantPath,
    StrictJson { body, .. }: StrictJson<SetParticipantRoleBody>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let participant = chats.set_participant_role(caller, path.chat, path.participant, body.0).await?;
    let online = chats.is_online(&participant);
    Ok(Data::ok(ParticipantView::with_presence(&participant, online)))
}
