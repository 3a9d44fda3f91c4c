//! `GET /chats`: the caller's chats, filtered and sorted, with the requested parts.

use std::slice;

use actix_web::{HttpResponse, web};
use domain::activity::ActivityService;
use domain::chat::{ChatKind, ChatListing, ChatService, ChatSort, ChatStatus};
use domain::page::Order;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{List, ok_off_thread};
use http_wire::error::ApiError;
use http_wire::page::PageQuery;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::MessageView;

use super::include::{Include, OF_LIST, parts, shown};

/// The sort keys.
const SORTS: [(&str, ChatSort); 2] = [("inserted_at", ChatSort::Created), ("updated_at", ChatSort::Updated)];

pub(crate) struct ListChatsQuery {
    page: PageQuery,
    listing: ChatListing,
    sort_by: &'static str,
    total_count: bool,
}

impl FromQuery for ListChatsQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = PageQuery::from_query(query);
        let status = query.word("status", ChatStatus::WORDS, "Only this status.", ChatStatus::parse);
        let kind = query.word("type", ChatKind::WORDS, "Only this kind.", ChatKind::parse);
        let sort = query.named("sort_by", &SORTS, "Sort key.");
        let order = query.word("order", Order::WORDS, "Sort direction; descending by default.", Order::parse);
        let include = query.items("include", &OF_LIST, "What to include in the list and in each room.");
        let (include, (sort_by, sort)) = (include?, sort?.unwrap_or(SORTS[0]));
        let wants = |item| include.contains(&item);
        let listing = ChatListing {
            agent_rooms: wants(Include::AgentRooms),
            status: status?,
            kind: kind?,
            sort,
            order: order?.unwrap_or(Order::Descending),
            parts: parts(&include),
        };
        Ok(Self { page: page?, listing, sort_by, total_count: wants(Include::TotalCount) })
    }
}

impl ListChatsQuery {
    /// A cursor is only valid for the same sort order and filters.
    fn scope(&self) -> CursorScope {
        let ChatListing { agent_rooms, status, kind, order, .. } = self.listing;
        CursorScope::list("me/chats")
            .filtered("agent_rooms", if agent_rooms { "true" } else { "" })
            .filtered("status", status.map_or("", ChatStatus::as_str))
            .filtered("type", kind.map_or("", ChatKind::as_str))
            .filtered("sort_by", self.sort_by)
            .filtered("order", order.as_str())
    }
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListChatsQuery>,
    chats: web::Data<ChatService>,
    activity: web::Data<ActivityService>,
) -> Result<HttpResponse, ApiError> {
    let (scope, listing) = (query.scope().of(caller.user.uuid()), query.listing);
    let window = query.page.window(scope)?;
    let window = if query.total_count { window.with_total() } else { window };
    let page = chats.list_chats(caller, listing, window.request.clone()).await?;
    window.whole(&page)?;
    let metadata = window.metadata(&page);
    let last_messages = page.rows.iter().filter_map(|listed| listed.last_message.as_ref());
    let bytes = last_messages.map(|message| MessageView::bytes(slice::from_ref(message))).sum();
    let list = ok_off_thread(bytes, move || {
        let rows = page.rows.iter().map(|listed| shown(listed, listing.parts, &chats, &activity));
        List::new(rows, metadata).encode()
    });
    Ok(window.mark(list.await?))
}
