//! `GET /chats/{chat_id}/messages/next`: the oldest message that is not processed, or 204
//! if there is none or the agent is stopped.

use actix_web::{HttpResponse, web};
use domain::delivery::DeliveryService;
use http_wire::auth::AgentAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ChatPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::view::MessageView;

pub(crate) async fn next(
    AgentAuth(caller): AgentAuth,
    path: ChatPath,
    _: StrictQuery<NoQuery>,
    deliveries: web::Data<DeliveryService>,
) -> Result<HttpResponse, ApiError> {
    let next = deliveries.next(caller, path.chat).await?;
    Ok(next.map_or_else(
        || HttpResponse::NoContent().finish(),
        |message| Data::ok(MessageView::for_agent(&message, caller.agent)),
    ))
}
