//! Listing peers and the directory.

use actix_web::{HttpResponse, web};
use domain::id::{ChatId, ParticipantKind};
use domain::peer::{ListPeers, PeerService};

use crate::auth::CallerExtractor;
use crate::envelope::List;
use crate::error::ApiError;
use crate::page::{NumberedMetadata, NumberedQuery};
use crate::query::{FromQuery, QueryReader, StrictQuery};
use crate::strict_json::Rejected;
use crate::view::{ListedAgentView, PeerView};

/// The filters.
#[derive(Clone, Copy, Debug)]
pub struct ListPeersQuery {
    wanted: ListPeers,
    page: NumberedQuery,
}

impl FromQuery for ListPeersQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = NumberedQuery::from_query(query);
        let not_in_chat = query.id("not_in_chat", "Leave out the participants of this chat.", ChatId::parse);
        let kind =
            query.word("type", ParticipantKind::WORDS, "Only users, or only agents.", ParticipantKind::parse);
        Ok(Self { wanted: ListPeers { not_in_chat: not_in_chat?, kind: kind? }, page: page? })
    }
}

/// `GET /peers`.
pub async fn list<C: CallerExtractor>(
    caller: C,
    StrictQuery(query): StrictQuery<ListPeersQuery>,
    service: web::Data<PeerService>,
) -> Result<HttpResponse, ApiError> {
    let request = query.page.request();
    let page = service.list(caller, query.wanted, request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(PeerView::new), NumberedMetadata::of(&request, page.total)))
}

/// `GET /directory`.
pub async fn directory<C: CallerExtractor>(
    caller: C,
    StrictQuery(query): StrictQuery<NumberedQuery>,
    service: web::Data<PeerService>,
) -> Result<HttpResponse, ApiError> {
    let request = query.request();
    let page = service.directory(caller, request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(ListedAgentView::new), NumberedMetadata::of(&request, page.total)))
}
