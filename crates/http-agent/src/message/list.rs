//! `GET /chats/{chat_id}/messages`: the messages to the agent, by status.

use actix_web::{HttpResponse, web};
use domain::delivery::{DeliveryFilter, DeliveryService, Order};
use http_wire::auth::AgentAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{List, ok_off_thread};
use http_wire::error::ApiError;
use http_wire::page::{PageMetadata, PageQuery};
use http_wire::path::ChatPath;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::MessageView;
use serde::Serialize;
use utoipa::ToSchema;

/// The values of `status`; without it, everything not yet processed is listed.
const STATUSES: [(&str, DeliveryFilter); 5] = [
    ("pending", DeliveryFilter::Pending),
    ("processing", DeliveryFilter::Processing),
    ("processed", DeliveryFilter::Processed),
    ("failed", DeliveryFilter::Failed),
    ("all", DeliveryFilter::All),
];

/// The values of `sort_order`.
const ORDERS: [(&str, Order); 2] = [("asc", Order::Ascending), ("desc", Order::Descending)];

pub(crate) struct ListMessagesQuery {
    page: PageQuery,
    status: Option<(&'static str, DeliveryFilter)>,
    order: (&'static str, Order),
}

impl FromQuery for ListMessagesQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = PageQuery::from_query(query);
        let description = "Only this status; everything not yet processed by default.";
        let status = query.named("status", &STATUSES, description);
        let order = query.named("sort_order", &ORDERS, "Sort direction; oldest first by default.");
        Ok(Self { page: page?, status: status?, order: order?.unwrap_or(ORDERS[0]) })
    }
}

#[derive(Serialize, ToSchema)]
pub(crate) struct ListMessagesMetadata {
    #[serde(flatten)]
    page: PageMetadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_filter: Option<&'static str>,
}

pub(crate) async fn list(
    AgentAuth(caller): AgentAuth,
    path: ChatPath,
    StrictQuery(query): StrictQuery<ListMessagesQuery>,
    deliveries: web::Data<DeliveryService>,
) -> Result<HttpResponse, ApiError> {
    let (status_filter, filter) = query.status.unzip();
    let (direction, order) = query.order;
    let scope = CursorScope::list("agent/messages")
        .of(path.chat.uuid())
        .of(caller.agent.uuid())
        .filtered("status", status_filter.unwrap_or_default())
        .filtered("sort_order", direction);
    let window = query.page.window(scope)?;
    let filter = filter.unwrap_or_default();
    let page = deliveries.list(caller, path.chat, filter, order, window.request.clone()).await?;
    window.whole(&page)?;
    let metadata = ListMessagesMetadata { page: window.metadata(&page), status_filter };
    let list = ok_off_thread(MessageView::bytes(&page.rows), move || {
        let rows = page.rows.iter().map(|message| MessageView::for_agent(message, caller.agent));
        List::new(rows, metadata).encode()
    });
    Ok(window.mark(list.await?))
}
