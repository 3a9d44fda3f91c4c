//! `PUT /chats/{chat_id}/read`: marks a chat as read, or messages of it as unread, or mutes it; and `POST /chats/read`,
//! which marks all chats as read.

use actix_web::{HttpResponse, web};
use domain::chat::{ChatService, ReadMark, ReadingChange};
use domain::id::MessageId;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::openapi::schema::{flag, uuid};
use http_wire::path::ChatPath;
use http_wire::strict_json::{FromBody, NoBody, ObjectReader, Rejected, StrictJson, id};
use http_wire::view::{MarkedReadView, MarkedRoomsView};

/// `PUT /chats/{chat_id}/read`, where the body is optional.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkReadBody(ReadingChange);

impl FromBody for MarkReadBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let schema = uuid().about(
            "The last message that was read. If omitted, the whole room is marked as read, unless `muted` is given.",
        );
        let message = body.optional_text("message_id", schema, id(MessageId::parse));
        let schema = flag().about("If true, the message and all later ones become unread.");
        let unread = body.optional_flag("unread", schema);
        let schema = flag().about("Mutes the room if true, unmutes it if false.");
        let muted = body.optional_flag("muted", schema);
        let (message, unread, muted) = (message?, unread?, muted?);
        let mark = match (message, unread.unwrap_or(false)) {
            (Some(message), true) => Some(ReadMark::Before(message)),
            (Some(message), false) => Some(ReadMark::At(message)),
            (None, true) => return Err(body.fault("message_id", "can't be blank")),
            (None, false) if muted.is_some() => None,
            (None, false) => Some(ReadMark::Newest),
        };
        Ok(Self(ReadingChange { mark, muted }))
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

pub(crate) async fn mark_all_read(
    UserAuth(caller): UserAuth,
    _: StrictJson<NoBody>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(MarkedRoomsView::new(&chats.mark_all_read(caller).await?)))
}
