//! `POST /chats`.

use actix_web::{HttpResponse, web};
use domain::chat::{ChatDetails, ChatService, WorkStatus};
use http_wire::auth::UserAuth;
use http_wire::body::CreateChatBody;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::idempotent::IdempotentJson;
use http_wire::view::ChatDetailsView;

pub(crate) async fn create(
    UserAuth(caller): UserAuth,
    IdempotentJson { body, once, .. }: IdempotentJson<CreateChatBody>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let chat = chats.create_once(caller, body.0, once).await?;
    // Nobody but its creator is in a new room.
    Ok(Data::created(ChatDetailsView::new(&chat, &ChatDetails::default(), WorkStatus::Idle)))
}
