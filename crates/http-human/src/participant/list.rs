//! `GET /chats/{chat_id}/participants`, in the order of joining.

use actix_web::{HttpResponse, web};
use domain::chat::{ChatService, Participant};
use domain::id::ParticipantKind;
use domain::page::{Page, PageRequest, Position};
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::page::PageQuery;
use http_wire::path::ChatPath;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::ParticipantView;

pub(crate) struct ListParticipantsQuery {
    page: PageQuery,
    kind: Option<ParticipantKind>,
}

impl FromQuery for ListParticipantsQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = PageQuery::from_query(query);
        let kind = query.word(
            "participant_type",
            ParticipantKind::WORDS,
            "Only users, or only agents.",
            ParticipantKind::parse,
        );
        Ok(Self { page: page?, kind: kind? })
    }
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    path: ChatPath,
    StrictQuery(query): StrictQuery<ListParticipantsQuery>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("me/participants")
        .of(path.chat.uuid())
        .of(caller.user.uuid())
        .filtered("participant_type", query.kind.map_or("", ParticipantKind::as_str));
    let window = query.page.window(scope)?;
    let mut participants = chats.roster(caller, path.chat).await?.participants;
    participants.retain(|participant| query.kind.is_none_or(|kind| kind == participant.id.kind()));
    let page = part(participants, &window.request);
    let rows = page.rows.iter().map(|one| ParticipantView::with_presence(one, chats.is_online(one)));
    Ok(window.mark(List::ok(rows, window.metadata(&page))))
}

/// Cuts the requested page from a roster, which is always read as a whole.
fn part(participants: Vec<Participant>, request: &PageRequest) -> Page<Participant> {
    let total = participants.len();
    let offset = usize::try_from(request.slice.offset()).unwrap_or(usize::MAX);
    let last = request.slice.after().map(|last| (last.key, last.id));
    let seen = |participant: &Participant| {
        let position = position(participant);
        last.is_some_and(|last| (position.key, position.id) <= last)
    };
    let overfetch = request.slice.limit() as usize + 1;
    let rows = participants.into_iter().skip_while(seen).skip(offset).take(overfetch).collect();
    Page::from_overfetch(rows, request, u64::try_from(total).ok(), position)
}

fn position(participant: &Participant) -> Position {
    Position::at(participant.joined_at.micros(), participant.id)
}
