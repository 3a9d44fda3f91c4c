//! Requested pages of lists, and their metadata.
//!
//! Most lists have two styles: a cursor, exact while others write, and page numbers. Page members
//! are in the metadata only for readers of the second style, because the list must be counted for
//! them, and are left out, never null, for the first.

use actix_web::HttpResponse;
use actix_web::http::header::{HeaderName, HeaderValue};
use domain::page::{Page, PageRequest, Slice};
use serde::Serialize;

use crate::cursor::{CursorScope, CursorSeal};
use crate::error::ApiError;
use crate::openapi::schema::text;
use crate::query::{FromQuery, QueryReader};
use crate::strict_json::Rejected;

/// The default number of rows.
const DEFAULT_ROWS: u32 = 20;

/// The maximum number of rows per response; larger values are cut to it.
const MAX_ROWS: u32 = 100;

/// The paging parameters of a list of both styles.
#[derive(Clone, Debug)]
pub struct PageQuery {
    seal: CursorSeal,
    cursor: Option<String>,
    limit: Option<u32>,
    page: Option<u32>,
    page_size: Option<u32>,
}

impl FromQuery for PageQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let (cursor, limit) = Self::cursor_and_limit(query);
        let numbers = NumberedQuery::from_query(query);
        let seal = query.seal().clone();
        let (cursor, limit, NumberedQuery { page, page_size }) = (cursor?, limit?, numbers?);
        let wanted = Self { seal, cursor, limit, page, page_size };
        if wanted.cursor.is_some() && wanted.numbered() {
            return Err(query.fault("cursor", "cannot be used together with page and page_size"));
        }
        Ok(wanted)
    }
}

impl PageQuery {
    /// The requested part of the list `scope`.
    pub fn window(self, scope: CursorScope) -> Result<Window, ApiError> {
        self.window_or(scope, DEFAULT_ROWS)
    }

    /// The requested part of the list `scope`, with `default_rows` rows by default.
    pub fn window_or(self, scope: CursorScope, default_rows: u32) -> Result<Window, ApiError> {
        let rows = |wanted: Option<u32>| wanted.unwrap_or(default_rows).min(MAX_ROWS);
        if self.numbered() {
            let size = rows(self.page_size.or(self.limit));
            let slice = Slice::Numbered { number: self.page.unwrap_or(1), size };
            let request = PageRequest { slice, count: true };
            return Ok(Window { request, scope, seal: self.seal, numbers: true });
        }
        // Without parameters the reader may be of either style, and gets both a cursor and the page
        // members.
        let count = self.cursor.is_none() && self.limit.is_none();
        let after = self.cursor.map(|cursor| scope.decode(&self.seal, &cursor)).transpose()?;
        let slice = Slice::After { after, limit: rows(self.limit) };
        let request = PageRequest { slice, count };
        Ok(Window { request, scope, seal: self.seal, numbers: count })
    }

    /// The number of rows for a reader that specifies the position in the list by other means; `None`
    /// if a cursor or a page is given as well.
    pub fn limit_only(&self) -> Option<u32> {
        let alone = self.cursor.is_none() && !self.numbered();
        alone.then(|| self.limit.unwrap_or(DEFAULT_ROWS).min(MAX_ROWS))
    }

    fn cursor_and_limit(
        query: &mut QueryReader,
    ) -> (Result<Option<String>, Rejected>, Result<Option<u32>, Rejected>) {
        let cursor = query.text("cursor", text(), "`next_cursor` of the previous response.");
        (cursor, query.positive("limit", "Number of rows; values over 100 mean 100."))
    }

    /// Returns whether the reader continues from a cursor.
    pub const fn continues(&self) -> bool {
        self.cursor.is_some()
    }

    const fn numbered(&self) -> bool {
        self.page.is_some() || self.page_size.is_some()
    }
}

/// The paging parameters of a list with cursors only, which is never counted.
#[derive(Clone, Debug)]
pub struct CursorQuery(PageQuery);

impl FromQuery for CursorQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let (cursor, limit) = PageQuery::cursor_and_limit(query);
        let seal = query.seal().clone();
        Ok(Self(PageQuery { seal, cursor: cursor?, limit: limit?, page: None, page_size: None }))
    }
}

impl CursorQuery {
    /// The requested part of the list `scope`.
    pub fn window(self, scope: CursorScope) -> Result<Window, ApiError> {
        self.window_or(scope, DEFAULT_ROWS)
    }

    /// The requested part of the list `scope`, with `default_rows` rows by default.
    pub fn window_or(self, scope: CursorScope, default_rows: u32) -> Result<Window, ApiError> {
        let mut window = self.0.window_or(scope, default_rows)?;
        (window.request.count, window.numbers) = (false, false);
        Ok(window)
    }
}

/// The paging parameters of a list with page numbers only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NumberedQuery {
    page: Option<u32>,
    page_size: Option<u32>,
}

impl FromQuery for NumberedQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = query.positive("page", "Page number, starting at 1.");
        let page_size = query.positive("page_size", "Rows per page; values over 100 mean 100.");
        Ok(Self { page: page?, page_size: page_size? })
    }
}

impl NumberedQuery {
    /// The page number, from 1.
    pub fn number(self) -> u32 {
        self.page.unwrap_or(1)
    }

    /// The requested part.
    pub fn request(self) -> PageRequest {
        let size = self.page_size.unwrap_or(DEFAULT_ROWS).min(MAX_ROWS);
        PageRequest { slice: Slice::Numbered { number: self.page.unwrap_or(1), size }, count: true }
    }
}

/// A part of a list that is about to be read.
#[derive(Clone, Debug)]
pub struct Window {
    /// The request to the store.
    pub request: PageRequest,
    scope: CursorScope,
    seal: CursorSeal,
    /// Set if the reader uses page numbers.
    numbers: bool,
}

impl Window {
    /// The same part, with the number of all rows if it is the first.
    pub fn with_total(mut self) -> Self {
        self.request.count |= self.request.slice.after().is_none();
        self
    }

    /// The metadata of the page.
    ///
    /// A page that ended early has no number: the next one by number would begin too late.
    pub fn metadata<T>(&self, page: &Page<T>) -> PageMetadata {
        let next_cursor = page.next.as_ref().map(|position| self.scope.encode(&self.seal, position));
        let numbered = self.numbers && !page.is_cut(&self.request);
        PageMetadata {
            has_more: next_cursor.is_some(),
            limit: self.request.slice.limit(),
            next_cursor,
            numbers: if numbered { NumberedMetadata::of(&self.request, page.total) } else { None },
            total_count: page.total.filter(|_| self.request.count && !numbered),
        }
    }

    /// Refuses a page by number that does not hold all its rows, because they are too large for one
    /// response: a reader by number would never see the missing ones.
    pub fn whole<T>(&self, page: &Page<T>) -> Result<(), ApiError> {
        let numbered = matches!(self.request.slice, Slice::Numbered { .. });
        if numbered && page.is_cut(&self.request) { Err(too_heavy()) } else { Ok(()) }
    }

    /// Marks a response to a reader of page numbers, which are deprecated.
    pub fn mark(&self, mut response: HttpResponse) -> HttpResponse {
        if matches!(self.request.slice, Slice::Numbered { .. }) {
            let headers = response.headers_mut();
            headers.insert(HeaderName::from_static("deprecation"), HeaderValue::from_static("true"));
            headers.insert(HeaderName::from_static("sunset"), HeaderValue::from_static(SUNSET));
        }
        response
    }
}

/// The date from which page numbers may be removed from lists with cursors.
const SUNSET: &str = "Fri, 01 Oct 2027 00:00:00 GMT";

/// The refusal of a page by number that does not fit into one response.
pub fn too_heavy() -> ApiError {
    let fault = "the page is larger than 8 MiB; ask for fewer rows, or use a cursor";
    ApiError::validation().with_detail("/page_size", fault)
}

/// Metadata of a list with page numbers, cursors, or both.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct PageMetadata {
    has_more: bool,
    limit: u32,
    /// Null exactly when `has_more` is false.
    next_cursor: Option<String>,
    #[serde(flatten)]
    numbers: Option<NumberedMetadata>,
    /// Total number of rows. Present only if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<u64>,
}

impl PageMetadata {
    /// Of rows that were found next to an anchor: a reader goes on with another anchor.
    pub const fn anchored(limit: u32) -> Self {
        Self { has_more: false, limit, next_cursor: None, numbers: None, total_count: None }
    }
}

/// Metadata of a list with page numbers.
#[derive(Clone, Copy, Debug, Serialize, utoipa::ToSchema)]
pub struct NumberedMetadata {
    page: u32,
    page_size: u32,
    total_count: u64,
    total_pages: u64,
}

impl NumberedMetadata {
    /// `None` when nothing was counted.
    pub fn of(request: &PageRequest, total: Option<u64>) -> Option<Self> {
        let page = match &request.slice {
            Slice::Numbered { number, .. } => *number,
            Slice::After { .. } => 1,
        };
        let page_size = request.slice.limit();
        let total_count = total.filter(|_| request.count)?;
        Some(Self { page, page_size, total_count, total_pages: total_count.div_ceil(u64::from(page_size)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query;

    fn seal() -> CursorSeal {
        CursorSeal::new(domain::secret::Secret([7; 32]))
    }

    const SCOPE: fn() -> CursorScope = || CursorScope::list("rows");

    fn request(text: &str) -> Result<PageRequest, ApiError> {
        query::parse::<PageQuery>(text, &seal())?.window(SCOPE()).map(|window| window.request)
    }

    fn after(limit: u32, count: bool) -> PageRequest {
        PageRequest { slice: Slice::After { after: None, limit }, count }
    }

    fn numbered(number: u32, size: u32) -> PageRequest {
        PageRequest { slice: Slice::Numbered { number, size }, count: true }
    }

    #[test]
    fn styles_are_told_apart_by_what_is_given() {
        assert_eq!(request("").unwrap(), after(20, true));
        assert_eq!(request("limit=5").unwrap(), after(5, false));
        assert_eq!(request("limit=5000").unwrap(), after(100, false));
        assert_eq!(request("page=3").unwrap(), numbered(3, 20));
        assert_eq!(request("page_size=100").unwrap(), numbered(1, 100));
        assert_eq!(request("page=2&page_size=99999999999999").unwrap(), numbered(2, 100));
        assert_eq!(request("page=2&limit=7").unwrap(), numbered(2, 7));
        assert_eq!(request("page=99999999999999").unwrap(), numbered(u32::MAX, 20));
    }

    #[test]
    fn wrong_numbers_are_refused_with_their_pointer() {
        for parameter in ["limit", "page", "page_size"] {
            for value in ["0", "-1", "x", "1.5", "", "%2B1", "0x10", "١"] {
                let error = request(&format!("{parameter}={value}")).unwrap_err();
                assert!(error.details().contains_key(&format!("/{parameter}")), "{parameter}={value}");
            }
        }
    }

    #[test]
    fn every_fault_of_a_query_is_told() {
        let error = request("limit=0&page=0&page=1&color=red").unwrap_err();
        let pointers = error.details().keys().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(pointers, ["/color", "/limit", "/page"]);
        assert_eq!(error.details()["/color"][0], "Unexpected field: color");
    }

    #[test]
    fn a_cursor_goes_with_limit_only() {
        let position = domain::page::Position::at(4, domain::id::RecordId::NIL);
        let cursor = SCOPE().encode(&seal(), &position);
        let slice = Slice::After { after: Some(position), limit: 9 };
        assert_eq!(
            request(&format!("cursor={cursor}&limit=9")).unwrap(),
            PageRequest { slice, count: false }
        );
        for other in ["page=1", "page_size=5"] {
            let error = request(&format!("cursor={cursor}&{other}")).unwrap_err();
            assert!(error.details().contains_key("/cursor"), "{other}");
        }
    }

    #[test]
    fn empty_lists_have_no_pages() {
        let window = window("");
        let page = Page::<()> { rows: Vec::new(), next: None, total: Some(0) };
        let metadata = serde_json::to_value(window.metadata(&page)).unwrap();
        let expected = serde_json::json!({
            "has_more": false, "limit": 20, "next_cursor": null,
            "page": 1, "page_size": 20, "total_count": 0, "total_pages": 0,
        });
        assert_eq!(metadata, expected);
    }

    /// Two rows of a page, with more to follow.
    fn cut_page() -> Page<()> {
        let next = Some(domain::page::Position::at(4, domain::id::RecordId::NIL));
        Page { rows: vec![(), ()], next, total: Some(9) }
    }

    fn window(text: &str) -> Window {
        query::parse::<PageQuery>(text, &seal()).unwrap().window(SCOPE()).unwrap()
    }

    #[test]
    fn a_page_that_ended_early_has_no_number() {
        for text in ["", "limit=5"] {
            let window = window(text);
            assert!(window.whole(&cut_page()).is_ok(), "{text}");
            let metadata = serde_json::to_value(window.metadata(&cut_page())).unwrap();
            assert_eq!((&metadata["has_more"], metadata.get("page")), (&true.into(), None), "{text}");
            assert!(metadata["next_cursor"].is_string(), "{text}");
        }
        let refused = window("page_size=5").whole(&cut_page()).unwrap_err();
        assert!(refused.details().contains_key("/page_size"));
        assert!(window("page_size=2").whole(&cut_page()).is_ok(), "a full page is whole");
    }

    #[test]
    fn a_total_comes_with_the_first_page_by_cursor() {
        let metadata = |window: &Window| serde_json::to_value(window.metadata(&cut_page())).unwrap();
        let counted = window("limit=2").with_total();
        assert!(counted.request.count);
        assert_eq!(metadata(&counted)["total_count"], 9);
        assert_eq!(metadata(&counted).get("page"), None);
        assert_eq!(metadata(&window("limit=2")).get("total_count"), None);
        let position = domain::page::Position::at(4, domain::id::RecordId::NIL);
        let cursor = SCOPE().encode(&seal(), &position);
        assert!(!window(&format!("cursor={cursor}")).with_total().request.count);
    }

    #[test]
    fn page_numbers_are_marked() {
        for (text, marked) in [("", false), ("limit=5", false), ("page=1", true), ("page_size=1", true)] {
            let answer = window(text).mark(HttpResponse::Ok().finish());
            for header in ["deprecation", "sunset"] {
                assert_eq!(answer.headers().contains_key(header), marked, "{text}");
            }
        }
    }

    #[test]
    fn an_anchor_goes_with_limit_only() {
        let limit = |text: &str| query::parse::<PageQuery>(text, &seal()).unwrap().limit_only();
        assert_eq!(limit(""), Some(20));
        assert_eq!(limit("limit=7"), Some(7));
        assert_eq!(limit("limit=700"), Some(100));
        for other in ["page=1", "page_size=5", "cursor=x", "cursor=x&limit=7"] {
            assert_eq!(limit(other), None, "{other}");
        }
    }
}
