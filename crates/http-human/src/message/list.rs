//! `GET /chats/{chat_id}/messages`: texts and events of everybody, newest first.

use actix_web::{HttpResponse, web};
use domain::message::{HistoryFilter, MessageKind, MessageService};
use domain::time::Timestamp;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::page::PageQuery;
use http_wire::path::ChatPath;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Told;
use http_wire::view::MessageView;

use crate::DEFAULT_ROWS;

pub(crate) struct ListMessagesQuery {
    page: PageQuery,
    filter: HistoryFilter,
}

impl FromQuery for ListMessagesQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Told> {
        let page = PageQuery::read(query);
        let kind = query.parsed("message_type", "Invalid value for enum", MessageKind::parse);
        let since = query.parsed("since", "must be an ISO 8601 instant", instant);
        Ok(Self { page: page?, filter: HistoryFilter { kind: kind?, since: since? } })
    }
}

/// An instant as clients write it: some forget to escape the plus of the zone, which then
/// arrives as a blank, some leave the zone away and mean UTC.
fn instant(text: &str) -> Option<Timestamp> {
    let plus = || text.rsplit_once(' ').map(|(time, zone)| format!("{time}+{zone}"));
    Timestamp::parse(text)
        .or_else(|| Timestamp::parse(&plus()?))
        .or_else(|| Timestamp::parse(&format!("{text}Z")))
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    path: ChatPath,
    StrictQuery(query): StrictQuery<ListMessagesQuery>,
    messages: web::Data<MessageService>,
) -> Result<HttpResponse, ApiError> {
    let HistoryFilter { kind, since } = query.filter;
    let scope = CursorScope::list("me/messages")
        .of(path.chat.uuid())
        .of(caller.user.uuid())
        .filtered("message_type", kind.map_or("", MessageKind::as_str))
        .filtered("since", &since.map(|since| since.to_string()).unwrap_or_default());
    let window = query.page.window(scope, DEFAULT_ROWS)?;
    let page = messages.history(caller, path.chat, query.filter, window.request).await?;
    Ok(List::ok(page.rows.iter().map(MessageView::for_user), window.metadata(&page)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_as_clients_write_them() {
        let noon = Timestamp::parse("2026-07-01T12:00:00.5Z");
        for text in [
            "2026-07-01T12:00:00.500000Z",
            "2026-07-01T14:00:00.5+02:00",
            "2026-07-01T14:00:00.5 02:00",
            "2026-07-01T12:00:00.5",
            "2026-07-01 12:00:00.5",
        ] {
            assert_eq!(instant(text), noon, "{text}");
        }
        for text in ["", "yesterday", "2026-07-01", "1751371200", "2026-13-01T00:00:00Z"] {
            assert_eq!(instant(text), None, "{text}");
        }
    }
}
