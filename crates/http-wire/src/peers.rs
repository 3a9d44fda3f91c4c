//! `GET …/peers` and `GET …/directory`, which both interfaces serve alike.

use actix_web::HttpResponse;
use domain::caller::Caller;
use domain::id::{ChatId, ParticipantKind};
use domain::peer::{ListPeers, PeerService};

use crate::envelope::List;
use crate::error::ApiError;
use crate::openapi::schema::{Parameter, parameter, uuid, word};
use crate::page::{NumberedMetadata, NumberedQuery};
use crate::query::{FromQuery, QueryReader};
use crate::strict_json::Told;
use crate::view::{ListedAgentView, PeerView};

/// The default number of rows.
const DEFAULT_ROWS: u32 = 20;

/// The filters.
#[derive(Clone, Copy, Debug)]
pub struct ListPeersQuery {
    wanted: ListPeers,
    page: NumberedQuery,
}

impl FromQuery for ListPeersQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Told> {
        let page = NumberedQuery::read(query);
        let not_in_chat = query.parsed("not_in_chat", "must be a UUID", ChatId::parse);
        let kind = query.parsed("type", "Invalid value for enum", ParticipantKind::parse);
        Ok(Self { wanted: ListPeers { not_in_chat: not_in_chat?, kind: kind? }, page: page? })
    }

    fn parameters() -> Vec<Parameter> {
        let mut all = NumberedQuery::parameters();
        all.push(parameter("not_in_chat", uuid(), "Leave out the participants of this chat."));
        all.push(parameter("type", word(&["User", "Agent"]), "Only users, or only agents."));
        all
    }
}

/// A page of the directory.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryQuery {
    page: NumberedQuery,
}

impl FromQuery for DirectoryQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Told> {
        Ok(Self { page: NumberedQuery::read(query)? })
    }

    fn parameters() -> Vec<Parameter> {
        NumberedQuery::parameters()
    }
}

/// Answers with the caller's peers.
pub async fn peers(
    service: &PeerService,
    caller: impl Into<Caller>,
    query: ListPeersQuery,
) -> Result<HttpResponse, ApiError> {
    let request = query.page.request(DEFAULT_ROWS);
    let page = service.list(caller, query.wanted, request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(PeerView::new), NumberedMetadata::of(&request, page.total)))
}

/// Answers with the agents in the directory.
pub async fn directory(
    service: &PeerService,
    caller: impl Into<Caller>,
    query: DirectoryQuery,
) -> Result<HttpResponse, ApiError> {
    let request = query.page.request(DEFAULT_ROWS);
    let page = service.directory(caller, request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(ListedAgentView::new), NumberedMetadata::of(&request, page.total)))
}
