//! `GET /chats/{chat_id}`; `include=message_counts` counts its messages by kind, and `include=unread` what is unread.

use actix_web::{HttpResponse, web};
use domain::activity::ActivityService;
use domain::chat::ChatService;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ChatPath;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::ChatDetailsView;

pub(crate) struct FindChatQuery {
    count_messages: bool,
    unread: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Include {
    MessageCounts,
    Unread,
}

const INCLUDES: [(&str, Include); 2] =
    [("message_counts", Include::MessageCounts), ("unread", Include::Unread)];

impl FromQuery for FindChatQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let included = query.items("include", &INCLUDES, "What to include in the room.")?;
        let wants = |item| included.contains(&item);
        Ok(Self { count_messages: wants(Include::MessageCounts), unread: wants(Include::Unread) })
    }
}

pub(crate) async fn find(
    UserAuth(caller): UserAuth,
    path: ChatPath,
    StrictQuery(query): StrictQuery<FindChatQuery>,
    chats: web::Data<ChatService>,
    activity: web::Data<ActivityService>,
) -> Result<HttpResponse, ApiError> {
    let found = chats.find_with_details(caller, path.chat, query.count_messages).await?;
    let work = activity.work_status(path.chat, &found.details);
    let view = ChatDetailsView::found(&found, work);
    if query.unread {
        let unread = chats.unread(caller, path.chat).await?;
        return Ok(Data::ok(view.with_unread(unread.as_ref())));
    }
    Ok(Data::ok(view))
}
