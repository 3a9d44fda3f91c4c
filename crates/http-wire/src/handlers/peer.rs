//! Listing peers and the directory.

use actix_web::{HttpResponse, web};
use domain::caller::Caller;
use domain::id::{ChatId, ParticipantKind};
use domain::peer::{ListPeers, PeerService};
use domain::text::NamePart;

use crate::auth::CallerExtractor;
use crate::cursor::CursorScope;
use crate::envelope::List;
use crate::error::ApiError;
use crate::page::PageQuery;
use crate::query::{FromQuery, QueryReader, StrictQuery};
use crate::strict_json::Rejected;
use crate::view::{ListedAgentView, PeerView};

/// The page and the filters of a list of peers.
#[derive(Clone, Debug)]
pub struct ListPeersQuery {
    wanted: ListPeers,
    page: PageQuery,
}

impl FromQuery for ListPeersQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = PageQuery::from_query(query);
        let not_in_chat = query.id("not_in_chat", "Leave out the participants of this chat.", ChatId::parse);
        let kind =
            query.word("type", ParticipantKind::WORDS, "Only users, or only agents.", ParticipantKind::parse);
        let name = query.name_part();
        let wanted = ListPeers { not_in_chat: not_in_chat?, kind: kind?, name: name? };
        Ok(Self { wanted, page: page? })
    }
}

/// The page and the filter of the directory.
#[derive(Clone, Debug)]
pub struct DirectoryQuery {
    name: Option<NamePart>,
    page: PageQuery,
}

impl FromQuery for DirectoryQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let (page, name) = (PageQuery::from_query(query), query.name_part());
        Ok(Self { name: name?, page: page? })
    }
}

/// `GET /peers`.
pub async fn list<C: CallerExtractor>(
    caller: C,
    StrictQuery(ListPeersQuery { wanted, page }): StrictQuery<ListPeersQuery>,
    service: web::Data<PeerService>,
) -> Result<HttpResponse, ApiError> {
    let caller: Caller = caller.into();
    let scope = CursorScope::list("peers")
        .of(caller.participant().uuid())
        .filtered("not_in_chat", &wanted.not_in_chat.map(|chat| chat.to_string()).unwrap_or_default())
        .filtered("type", wanted.kind.map_or("", ParticipantKind::as_str))
        .filtered("q", wanted.name.as_ref().map_or("", NamePart::as_str));
    let window = page.window(scope)?;
    let page = service.list(caller, wanted, window.request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(PeerView::new), window.metadata(&page)))
}

/// `GET /directory`.
pub async fn directory<C: CallerExtractor>(
    caller: C,
    StrictQuery(DirectoryQuery { name, page }): StrictQuery<DirectoryQuery>,
    service: web::Data<PeerService>,
) -> Result<HttpResponse, ApiError> {
    let caller: Caller = caller.into();
    let scope = CursorScope::list("directory")
        .of(caller.participant().uuid())
        .filtered("q", name.as_ref().map_or("", NamePart::as_str));
    let window = page.window(scope)?;
    let page = service.directory(caller, name, window.request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(ListedAgentView::new), window.metadata(&page)))
}
