//! `PATCH /chats/{chat_id}`: changes the title, or the default deadline.

use actix_web::{HttpResponse, web};
use domain::activity::ActivityService;
use domain::chat::ChatService;
use http_wire::auth::UserAuth;
use http_wire::body::RenameChatBody;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ChatPath;
use http_wire::strict_json::StrictJson;
use http_wire::view::ChatDetailsView;

pub(crate) async fn rename(
    UserAuth(caller): UserAuth,
    path: ChatPath,
    StrictJson { body, .. }: StrictJson<RenameChatBody>,
    chats: web::Data<ChatService>,
    activity: web::Data<ActivityService>,
) -> Result<HttpResponse, ApiError> {
    let renamed = chats.rename(caller, path.chat, body.0).await?;
    let work = activity.work_status(path.chat, &renamed.details);
    Ok(Data::ok(ChatDetailsView::new(&renamed.chat, &renamed.details, work)))
}
