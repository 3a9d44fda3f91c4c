//! The filters of the memory lists of both interfaces, and their paging.

use domain::memory::{
    MemoryFilter, MemoryKind, MemoryQuery, MemorySegment, MemoryStatus, MemorySystem, StatusFilter,
};

use crate::cursor::CursorScope;
use crate::openapi::schema::some_text;
use crate::page::PageQuery;
use crate::query::{FromQuery, QueryReader};
use crate::strict_json::Rejected;

const STATUSES: [(&str, StatusFilter); 4] = [
    ("active", StatusFilter::Only(MemoryStatus::Active)),
    ("superseded", StatusFilter::Only(MemoryStatus::Superseded)),
    ("archived", StatusFilter::Only(MemoryStatus::Archived)),
    ("all", StatusFilter::All),
];

/// The common parameters.
#[derive(Clone, Debug)]
pub struct MemoryListQuery {
    /// The requested page.
    pub page: PageQuery,
    /// The filters.
    pub filter: MemoryFilter,
}

impl FromQuery for MemoryListQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = PageQuery::from_query(query);
        let system = query.word("system", MemorySystem::WORDS, "Only this system.", MemorySystem::parse);
        let kind = query.word("type", MemoryKind::WORDS, "Only this type.", MemoryKind::parse);
        let segment = query.word("segment", MemorySegment::WORDS, "Only this segment.", MemorySegment::parse);
        let text = query.parsed(
            "content_query",
            some_text(MemoryQuery::MAX_CHARS),
            "Text that the content contains, ignoring case.",
            "should be 1 to 200 character(s)",
            |text| MemoryQuery::new(text).ok(),
        );
        let status = query.named("status", &STATUSES, "Only this status; active by default.");
        let filter = MemoryFilter {
            system: system?,
            kind: kind?,
            segment: segment?,
            query: text?,
            status: status?.map(|(_, status)| status).unwrap_or_default(),
        };
        Ok(Self { page: page?, filter })
    }
}

impl MemoryListQuery {
    /// The cursor scope of the list.
    pub fn scope(&self, scope: CursorScope) -> CursorScope {
        let MemoryFilter { system, kind, segment, query, status } = &self.filter;
        scope
            .filtered("system", system.map_or("", MemorySystem::as_str))
            .filtered("type", kind.map_or("", MemoryKind::as_str))
            .filtered("segment", segment.map_or("", MemorySegment::as_str))
            .filtered("content_query", query.as_ref().map_or("", MemoryQuery::as_str))
            .filtered(
                "status",
                match status {
                    StatusFilter::All => "all",
                    StatusFilter::Only(status) => status.as_str(),
                },
            )
    }
}
