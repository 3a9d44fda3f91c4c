//! The filters of the memory lists of both interfaces, and their paging.

use domain::memory::{
    MemoryFilter, MemoryKind, MemoryQuery, MemorySegment, MemoryStatus, MemorySystem, StatusFilter,
};
use serde_json::json;

use crate::cursor::CursorScope;
use crate::openapi::schema::{Parameter, parameter, word};
use crate::page::PageQuery;
use crate::query::{FromQuery, QueryReader};
use crate::strict_json::Told;

const UNKNOWN: &str = "Invalid value for enum";

/// The common parameters.
#[derive(Clone, Debug)]
pub struct MemoryListQuery {
    /// The requested page.
    pub page: PageQuery,
    /// The filters.
    pub filter: MemoryFilter,
}

impl FromQuery for MemoryListQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Told> {
        let page = PageQuery::from_query(query);
        let system = query.parsed("system", UNKNOWN, MemorySystem::parse);
        let kind = query.parsed("type", UNKNOWN, MemoryKind::parse);
        let segment = query.parsed("segment", UNKNOWN, MemorySegment::parse);
        let text = query
            .parsed("content_query", "should be 1 to 200 character(s)", |text| MemoryQuery::new(text).ok());
        let status = query.parsed("status", UNKNOWN, |text| match text {
            "all" => Some(StatusFilter::All),
            text => MemoryStatus::parse(text).map(StatusFilter::Only),
        });
        let filter = MemoryFilter {
            system: system?,
            kind: kind?,
            segment: segment?,
            query: text?,
            status: status?.unwrap_or_default(),
        };
        Ok(Self { page: page?, filter })
    }

    fn parameters() -> Vec<Parameter> {
        let mut all = PageQuery::parameters();
        let text =
            json!({"type": "string", "minLength": 1, "maxLength": MemoryQuery::MAX_CHARS, "pattern": "\\S"});
        all.push(parameter("system", word(MemorySystem::WORDS), "Only this system."));
        all.push(parameter("type", word(MemoryKind::WORDS), "Only this type."));
        all.push(parameter("segment", word(MemorySegment::WORDS), "Only this segment."));
        all.push(parameter("content_query", text, "Text that the content contains, ignoring case."));
        let states = ["active", "superseded", "archived", "all"];
        all.push(parameter("status", word(&states), "Only this status; active by default."));
        all
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
