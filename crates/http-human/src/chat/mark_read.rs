//! `PUT /chats/{chat_id}/read`: marks a chat as read, or messages of it as unread.

use actix_web::{HttpResponse, web};
use domain::chat::{ChatService, ReadMark};
use domain::id::MessageId;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::openapi::schema::{flag, uuid};
use http_wire::path::ChatPath;
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson, id};
use http_wire::view::MarkedReadView;

/// `PUT /chats/{chat_id}/read`, where the body is optional.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkReadBody(ReadMark);

impl FromBody for MarkReadBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let schema = uuid().about("The last message that was read. If omitted, the whole room was read.");
        let message = body.optional_text("message_id", schema, id(MessageId::parse));
        let schema = flag().about("If true, the message and all later ones become unread.");
        let unread = body.optional_flag("unread", schema);
        match (message?, unread?.unwrap_or(false)) {
            (Some(message), true) => Ok(Self(ReadMark::Before(message))),
            (Some(message), false) => Ok(Self(ReadMark::At(message))),
            (None, true) => Err(body.fault("message_id", "can't be blank")),
            (None, false) => Ok(Self(ReadMark::Newest)),
        }
    }
}

pub(crate) async fn mark_read(
    UserAuth(caller): UserAuth,
    path: ChatPath,
    StrictJson { body, .. }: StrictJson<MarkReadBody>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let unread = chats.mark_read(caller, path.chat, body.0).await?;
    Ok(Data::ok(MarkedReadView::new(path.chat, &unread)))
}
