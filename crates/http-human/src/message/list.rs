//! `GET /chats/{chat_id}/messages`: all texts and events, newest first; or those before, after or
//! around a message, or around a time.

use actix_web::{HttpResponse, web};
use domain::id::{MessageId, Sequence};
use domain::message::{Anchor, HistoryFilter, Kinds, Message, MessageKind, MessageService};
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{List, ok_off_thread};
use http_wire::error::{ApiError, ErrorCode};
use http_wire::page::{PageMetadata, PageQuery};
use http_wire::path::ChatPath;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::MessageView;
use serde::Serialize;
use utoipa::ToSchema;

use crate::instant;

/// Kinds that clients may name, but that no message has.
const UNUSED_KINDS: [(&str, Option<MessageKind>); 2] = [("system", None), ("participant", None)];

pub(crate) struct ListMessagesQuery {
    page: PageQuery,
    filter: HistoryFilter,
    /// The given ones of `after`, `before`, `around`, `at`, and `from_sequence`.
    anchors: Vec<Anchor>,
}

impl FromQuery for ListMessagesQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = PageQuery::from_query(query);
        let kinds = MessageKind::ALL.map(|kind| (kind.as_str(), Some(kind)));
        let kinds = [&kinds[..], &UNUSED_KINDS].concat();
        let kind = query.named("message_type", &kinds, "Only this kind.");
        let some = query.items("message_types", &kinds, "Only these kinds.");
        let but = query.items("exclude_message_types", &kinds, "None of these kinds.");
        let since = instant::since(query, "Only messages after this time.");
        let root = query.id("root", "Only the tree that this message began.", MessageId::parse);
        let mut anchor = |name, description, anchor: fn(MessageId) -> Anchor| {
            query.id(name, description, MessageId::parse).map(|id| id.map(anchor))
        };
        let anchors = [
            anchor("after", "Messages after this message, oldest first.", Anchor::After),
            anchor("before", "Messages before this message.", Anchor::Before),
            anchor("around", "Messages around this message.", Anchor::Around),
        ];
        let at = instant::named(query, "at", "Messages around the first one at this time or later.");
        let from = query
            .positive("from_sequence", "Messages around the first one with this sequence or a later one.");
        let (page, since, mut some) = (page?, since?, some?);
        some.extend(kind?.map(|(_, kind)| kind));
        if since.is_some() && page.continues() {
            return Err(
                query.fault("since", "cannot be used together with cursor, which already contains it")
            );
        }
        let kinds = if some.is_empty() { Kinds::ALL } else { all_of(&some) };
        let kinds = kinds.without(all_of(&but?));
        let filter = HistoryFilter { kinds, since, root: root?, oldest_first: false };
        let mut anchors = anchors.into_iter().filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?;
        anchors.extend(at?.map(Anchor::At));
        anchors.extend(from?.map(|sequence| Anchor::From(Sequence::new(sequence.into()))));
        Ok(Self { page, filter, anchors })
    }
}

/// The stored kinds among those named.
fn all_of(named: &[Option<MessageKind>]) -> Kinds {
    Kinds::of(&named.iter().copied().flatten().collect::<Vec<_>>())
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    path: ChatPath,
    StrictQuery(query): StrictQuery<ListMessagesQuery>,
    messages: web::Data<MessageService>,
) -> Result<HttpResponse, ApiError> {
    let HistoryFilter { kinds, root, .. } = query.filter;
    if !query.anchors.is_empty() {
        let (anchor, limit) = query.anchor()?;
        let found = messages.surroundings(caller, path.chat, anchor, kinds, limit).await?;
        let (has_older, has_newer) = (Some(found.has_older), Some(found.has_newer));
        let metadata = HistoryMetadata { page: PageMetadata::anchored(limit), has_older, has_newer };
        return ok(found.rows, metadata).await;
    }
    // The position of a cursor contains the time, so `since` is not part of the scope.
    let words = kinds.iter().map(MessageKind::as_str).collect::<Vec<_>>().join(",");
    let scope = CursorScope::list("me/messages")
        .of(path.chat.uuid())
        .of(caller.user.uuid())
        .filtered("message_types", &words);
    let scope = root.map_or(scope, |root| scope.filtered("root", &root.to_string()));
    let window = query.page.window(scope)?;
    let page = messages.history(caller, path.chat, query.filter, window.request.clone()).await?;
    window.whole(&page)?;
    let metadata = HistoryMetadata { page: window.metadata(&page), has_older: None, has_newer: None };
    Ok(window.mark(ok(page.rows, metadata).await?))
}

async fn ok(rows: Vec<Message>, metadata: HistoryMetadata) -> Result<HttpResponse, ApiError> {
    let encode = move |rows: &[Message]| List::new(rows.iter().map(MessageView::for_user), metadata).encode();
    ok_off_thread(MessageView::bytes(&rows), move || encode(&rows)).await
}

/// Page metadata. `has_older` and `has_newer` are present if the request has `after`, `before`, `around`,
/// `at`, or `from_sequence`.
#[derive(Serialize, ToSchema)]
pub(crate) struct HistoryMetadata {
    #[serde(flatten)]
    page: PageMetadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_older: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_newer: Option<bool>,
}

impl ListMessagesQuery {
    /// The only anchor, and the number of messages. Refuses two anchors, or one with a cursor or a page.
    fn anchor(&self) -> Result<(Anchor, u32), ApiError> {
        let limit = self.page.limit_only();
        let is_filtered = self.filter.since.is_some() || self.filter.root.is_some();
        if let ([anchor], Some(limit), false) = (self.anchors.as_slice(), limit, is_filtered) {
            return Ok((*anchor, limit));
        }
        let message = "Use only one of after, before, around, at, and from_sequence, and none of them with cursor, since, root, or page.";
        let pointer = match self.anchors.last() {
            Some(Anchor::After(_)) => "/after",
            Some(Anchor::Before(_)) => "/before",
            Some(Anchor::At(_)) => "/at",
            Some(Anchor::From(_)) => "/from_sequence",
            Some(Anchor::Around(_)) | None => "/around",
        };
        Err(ApiError::new(ErrorCode::InvalidParams, message).with_detail(pointer, "cannot be combined"))
    }
}
