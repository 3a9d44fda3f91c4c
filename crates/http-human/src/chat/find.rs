//! `GET /chats/{chat_id}` with the requested parts; `include=message_counts` counts its messages by kind.

use actix_web::{HttpResponse, web};
use domain::activity::ActivityService;
use domain::chat::{ChatParts, ChatService};
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ChatPath;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;

use super::include::{Include, OF_CHAT, parts, shown};

pub(crate) struct FindChatQuery {
    parts: ChatParts,
    count_messages: bool,
}

impl FromQuery for FindChatQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let included = query.items("include", &OF_CHAT, "What to include in the room.")?;
        Ok(Self { parts: parts(&included), count_messages: included.contains(&Include::MessageCounts) })
    }
}

pub(crate) async fn find(
    UserAuth(caller): UserAuth,
    path: ChatPath,
    StrictQuery(FindChatQuery { parts, count_messages }): StrictQuery<FindChatQuery>,
    chats: web::Data<ChatService>,
    activity: web::Data<ActivityService>,
) -> Result<HttpResponse, ApiError> {
    let found = chats.find_with_details(caller, path.chat, parts, count_messages).await?;
    let view = shown(&found.listed, parts, &chats, &activity);
    Ok(Data::ok(view.with_counts(found.message_counts.as_deref())))
}
