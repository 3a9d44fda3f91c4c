//! Searching messages.

use actix_web::{HttpResponse, web};
use domain::caller::Caller;
use domain::search::{SearchQuery, SearchService};

use crate::auth::CallerExtractor;
use crate::cursor::CursorScope;
use crate::envelope::List;
use crate::error::ApiError;
use crate::openapi::schema::text;
use crate::openapi::{Endpoint, get};
use crate::page::{CursorQuery, PageMetadata};
use crate::query::{FromQuery, QueryReader, StrictQuery};
use crate::strict_json::Rejected;
use crate::view::SearchHitView;

/// What is searched for, and the page.
#[derive(Clone, Debug)]
pub struct SearchMessagesQuery {
    /// Required.
    wanted: Option<SearchQuery>,
    page: CursorQuery,
}

impl FromQuery for SearchMessagesQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = CursorQuery::from_query(query);
        let about = "Required. Words that the message has, \"phrases\", and filters: from:handle, in:room (its id or its \
                     title), kind:text or another kind of message, before:date, and after:date (a date or a time, UTC).";
        let text = query.text("q", text().max(SearchQuery::MAX_CHARS), about)?;
        let wanted = text.map(|text| SearchQuery::parse(&text)).transpose();
        let wanted = wanted.map_err(|fault| query.fault("q", fault));
        Ok(Self { wanted: wanted?, page: page? })
    }
}

/// The operation of an interface.
pub fn endpoints<C: CallerExtractor + 'static>() -> Vec<Endpoint> {
    vec![
        get("/search", search::<C>)
            .named(
                "searchMessages",
                "Find messages by their words, newest first, in all rooms that the caller may read",
            )
            .query::<SearchMessagesQuery>()
            .lists::<SearchHitView<'_>, PageMetadata>(),
    ]
}

/// `GET /search`.
pub async fn search<C: CallerExtractor>(
    caller: C,
    StrictQuery(SearchMessagesQuery { wanted, page }): StrictQuery<SearchMessagesQuery>,
    service: web::Data<SearchService>,
) -> Result<HttpResponse, ApiError> {
    let wanted = wanted.ok_or_else(|| ApiError::validation().with_detail("/q", "is required"))?;
    let caller: Caller = caller.into();
    let scope = CursorScope::list("search").of(caller.participant().uuid()).filtered("q", wanted.as_str());
    let window = page.window(scope)?;
    let page = service.search(caller, wanted, &window.request).await?;
    Ok(List::ok(page.rows.iter().map(SearchHitView::new), window.metadata(&page)))
}
