//! Reading one chat, and rosters.

use diesel::sql_types::{BigInt, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::{Chat, ChatParts, Entrance, FoundChat, Membership, Participant, Roster, Standing};
use domain::id::{ChatId, ParticipantId, Sequence, UserId};
use domain::message::{MessageKind, counts_by_kind};
use futures_util::future::try_join;

use super::list::list_some_on;
use super::load::{participants_on, viewed_chat_on};
use crate::error::Fault;
use crate::row;
use crate::run::Db;
use crate::statement::statement;

pub(super) async fn find_on(db: &Db, viewer: ParticipantId, chat: ChatId) -> Result<Option<Chat>, Fault> {
    let found = viewed_chat_on(db, viewer, chat).await?;
    let seen = found.seen.filter(|_| found.standing.may_read());
    seen.map(|(chat, _)| chat.into_chat()).transpose()
}

pub(super) async fn entrance_on(db: &Db, viewer: ParticipantId, chat: ChatId) -> Result<Entrance, Fault> {
    let found = viewed_chat_on(db, viewer, chat).await?;
    Ok(match found.seen {
        Some((_, last_sequence)) if found.standing.may_read() => {
            Entrance { standing: found.standing, last_sequence: Sequence::new(last_sequence) }
        }
        _ => Entrance::default(),
    })
}

pub(super) async fn find_with_details_on(
    db: &Db,
    viewer: UserId,
    id: ChatId,
    parts: ChatParts,
    count_messages: bool,
) -> Result<Option<FoundChat>, Fault> {
    let rooms = [id];
    let (mut found, message_counts) =
        try_join(list_some_on(db, viewer, &rooms, parts), counts_on(db, id, count_messages)).await?;
    Ok(found.rows.pop().map(|listed| FoundChat { listed, message_counts }))
}

/// Runs along the index of events, without reading messages: the chat stores the number of all.
const COUNTS: &str = "SELECT 'text', last_sequence - deleted_messages FROM chats WHERE id = ? UNION ALL \
     SELECT kind, count(*) FROM messages WHERE chat_id = ? AND kind <> 'text' GROUP BY kind";

async fn counts_on(
    mut db: &Db,
    chat: ChatId,
    wanted: bool,
) -> Result<Option<Vec<(MessageKind, u64)>>, Fault> {
    if !wanted {
        return Ok(None);
    }
    let counts = statement::<(Text, BigInt)>(COUNTS);
    let counts = counts.bind::<SqlUuid, _>(chat.uuid()).bind::<SqlUuid, _>(chat.uuid());
    let (mut all, mut events) = (0, Vec::new());
    for (kind, count) in counts.load::<(String, i64)>(&mut db).await? {
        match row::word(&kind, MessageKind::parse)? {
            MessageKind::Text => all = count.cast_unsigned(),
            event => events.push((event, count.cast_unsigned())),
        }
    }
    Ok(Some(counts_by_kind(all, events)))
}

/// One statement; the roster itself shows whether the viewer may read it. A deleted chat has no
/// participants.
pub(super) async fn roster_on(db: &Db, viewer: ParticipantId, chat: ChatId) -> Result<Option<Roster>, Fault> {
    let participants = participants_on(db, chat, None).await?;
    let may_read = standing_among(viewer, &participants).may_read();
    Ok(may_read.then_some(Roster { chat, participants }))
}

pub(super) async fn roster_unchecked_on(db: &Db, chat: ChatId) -> Result<Option<Roster>, Fault> {
    let participants = participants_on(db, chat, None).await?;
    // Every chat has a participant.
    Ok((!participants.is_empty()).then_some(Roster { chat, participants }))
}

/// The standing of a viewer in a chat with these participants.
fn standing_among(viewer: ParticipantId, participants: &[Participant]) -> Standing {
    let own = participants.iter().find(|participant| participant.id == viewer);
    let own = own.map(|Participant { role, status, .. }| Membership { role: *role, status: *status });
    let of_viewer = |participant: &&Participant| {
        participant.owner.is_some_and(|user| viewer == ParticipantId::User(user))
    };
    let agents = participants.iter().filter(of_viewer);
    let agents = agents.filter_map(|participant| Some((participant.id.agent()?, participant.role)));
    Standing { own, agents: agents.collect() }
}
