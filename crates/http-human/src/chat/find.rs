//! `GET /chats/{chat_id}`; `include=message_counts` counts its messages by kind.

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
}

impl FromQuery for FindChatQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let included = query.items("include", &[("message_counts", ())], "What to include in the room.")?;
        Ok(Self { count_messages: !included.is_empty() })
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
    Ok(Data::ok(ChatDetailsView::found(&found, work)))
}
