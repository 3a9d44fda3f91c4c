//! The chats of a user or agent, with the requested parts.
//!
//! By creation, a list runs along an index of memberships, which carry the chats' creation time,
//! and stops at its limit. By change, it reads all of the viewer's chats: updating every membership
//! with its chat would make each message more expensive for each participant.

use std::collections::HashMap;
use std::future::Future;

use diesel::sql_types::{Array, BigInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::{ChatListing, ChatParts, ChatSort, ListedChat, Participant};
use domain::id::{ChatId, ParticipantId, RecordId, UserId};
use domain::page::{Order, PAGE_BYTES, Page, PageRequest, Position, fitting};
use domain::time::Timestamp;
use futures_util::future::{try_join, try_join5};
use uuid::Uuid;

use super::details::{details_on, heads_on, standings_on, uuids};
use super::load::{CHAT_COLUMNS, SqlChat};
use super::mark_read::unread_on;
use super::newest::{Newest, newest_on, newest_weights_on};
use super::row::ChatRow;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::statement::{Statement, statement};

/// The approximate size of a chat, of a participant, and of an agent in an answer, without content.
const CHAT_BYTES: usize = 600;
const PARTICIPANT_BYTES: usize = 400;
const AGENT_BYTES: usize = 200;

pub(super) async fn list_on(
    db: &Db,
    viewer: ParticipantId,
    listing: ChatListing,
    page: &PageRequest,
) -> Result<Page<ListedChat>, Fault> {
    let chosen = Chosen::of(viewer, listing);
    let (total, mut rows) = try_join(chosen.count_on(db, page.count), chosen.page_on(db, page)).await?;
    let limit = page.slice.limit() as usize;
    let mut more = rows.len() > limit;
    rows.truncate(limit);
    more |= fill_on(db, viewer, listing.parts, page.max_bytes(), &mut rows).await?;
    Ok(Page::part(rows, more, total, |listed| listing.sort.position(&listed.chat)))
}

pub(super) async fn list_some_on(
    mut db: &Db,
    viewer: UserId,
    chats: &[ChatId],
    parts: ChatParts,
) -> Result<Page<ListedChat>, Fault> {
    let found = statement::<SqlChat>(format!(
        "SELECT found.* FROM unnest(?) AS wanted (id) CROSS JOIN LATERAL (\
             SELECT {CHAT_COLUMNS} FROM participants JOIN chats ON chats.id = participants.chat_id \
             WHERE participants.chat_id = wanted.id AND account_id = ? AND left_at IS NULL \
             AND chats.deleted_at IS NULL LIMIT 1) AS found ORDER BY id"
    ));
    let found = found
        .bind::<Array<SqlUuid>, _>(uuids(chats))
        .bind::<SqlUuid, _>(viewer.uuid())
        .load::<ChatRow>(&mut db)
        .await?;
    let mut rows =
        found.into_iter().map(|chat| Ok(chat.into_chat()?.into())).collect::<Result<Vec<_>, Fault>>()?;
    let more = fill_on(db, ParticipantId::User(viewer), parts, PAGE_BYTES, &mut rows).await?;
    Ok(Page::part(rows, more, None, |listed: &ListedChat| ChatSort::Created.position(&listed.chat)))
}

/// The memberships to read, and the conditions on their chats.
struct Chosen {
    viewer: Uuid,
    listing: ChatListing,
    /// Set if the chats of a human's agents are included, in which case there may be several
    /// memberships per chat.
    through_agents: bool,
}

impl Chosen {
    fn of(viewer: ParticipantId, listing: ChatListing) -> Self {
        let through_agents = listing.agent_rooms && viewer.user().is_some();
        Self { viewer: viewer.uuid(), listing, through_agents }
    }

    /// FROM and WHERE; [`Self::bound`] binds the values.
    fn body(&self) -> String {
        let column = if self.through_agents { "account_id" } else { "participant_id" };
        let status = if self.listing.status.is_some() { "AND chats.status = ? " } else { "" };
        let kind = if self.listing.kind.is_some() { "AND chats.kind = ? " } else { "" };
        format!(
            "FROM participants JOIN chats ON chats.id = participants.chat_id \
             WHERE participants.{column} = ? AND participants.left_at IS NULL \
             AND chats.deleted_at IS NULL {status}{kind}"
        )
    }

    fn bound<'v, Row>(&self, statement: Statement<'v, Row>) -> Statement<'v, Row> {
        let mut statement = statement.bind::<SqlUuid, _>(self.viewer);
        if let Some(status) = self.listing.status {
            statement = statement.bind::<Text, _>(status.as_str());
        }
        if let Some(kind) = self.listing.kind {
            statement = statement.bind::<Text, _>(kind.as_str());
        }
        statement
    }

    async fn count_on(&self, mut db: &Db, wanted: bool) -> Result<Option<u64>, Fault> {
        if !wanted {
            return Ok(None);
        }
        let counted = if self.through_agents { "DISTINCT participants.chat_id" } else { "*" };
        let counted = statement::<BigInt>(format!("SELECT count({counted}) {}", self.body()));
        let total: i64 = self.bound(counted).get_result(&mut db).await?;
        Ok(Some(total.cast_unsigned()))
    }

    /// The chats of a page and one more.
    async fn page_on(&self, mut db: &Db, page: &PageRequest) -> Result<Vec<ListedChat>, Fault> {
        let (key, id) = match self.listing.sort {
            ChatSort::Created => ("participants.chat_created_at", "participants.chat_id"),
            ChatSort::Updated => ("chats.updated_at", "participants.chat_id"),
        };
        let (beyond, direction, start) = match self.listing.order {
            Order::Ascending => (">", "ASC", Position::at(i64::MIN, RecordId::NIL)),
            Order::Descending => ("<", "DESC", Position::at(i64::MAX, RecordId::MAX)),
        };
        let once = if self.through_agents { format!("DISTINCT ON ({key}, {id}) ") } else { String::new() };
        let after = page.slice.after().unwrap_or(start);
        let chats = statement::<SqlChat>(format!(
            "SELECT {once}{CHAT_COLUMNS} {}AND ({key}, {id}) {beyond} (?, ?) \
             ORDER BY {key} {direction}, {id} {direction} LIMIT ? OFFSET ?",
            self.body()
        ));
        let chats = self
            .bound(chats)
            .bind::<Timestamptz, _>(At(Timestamp::from_micros(after.key)))
            .bind::<SqlUuid, _>(after.id.uuid())
            .bind::<BigInt, _>(i64::from(page.slice.limit()) + 1)
            .bind::<BigInt, _>(page.slice.offset())
            .load::<ChatRow>(&mut db)
            .await?;
        chats.into_iter().map(|chat| Ok(chat.into_chat()?.into())).collect()
    }
}

/// A part, or nothing if it was not requested.
async fn if_wanted<T: Default>(
    wanted: bool,
    part: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    if wanted { part.await } else { Ok(T::default()) }
}

/// Adds the requested parts. Rows at the end that would make the page too large are left out;
/// returns whether there were any.
async fn fill_on(
    db: &Db,
    viewer: ParticipantId,
    parts: ChatParts,
    budget: usize,
    rows: &mut Vec<ListedChat>,
) -> Result<bool, Fault> {
    let chats = rows.iter().map(|listed| listed.chat.id).collect::<Vec<_>>();
    if chats.is_empty() {
        return Ok(false);
    }
    let human = viewer.user();
    let (wants_standing, wants_unread) =
        (human.is_some() && parts.membership, human.is_some() && parts.unread);
    let human = human.unwrap_or(UserId::NIL);
    let (mut details, mut heads, newest, mut standings, mut unread) = try_join5(
        if_wanted(parts.details, details_on(db, &chats)),
        if_wanted(parts.participants, heads_on(db, &chats, false)),
        if_wanted(parts.last_message, newest_weights_on(db, &chats)),
        if_wanted(wants_standing, standings_on(db, human, &chats)),
        if_wanted(wants_unread, unread_on(db, human, &chats)),
    )
    .await?;
    for listed in rows.iter_mut() {
        let chat = &listed.chat.id;
        listed.details = parts.details.then(|| details.remove(chat).unwrap_or_default());
        listed.roster = parts.participants.then(|| heads.remove(chat).unwrap_or_default());
        listed.standing = wants_standing.then(|| standings.remove(chat).unwrap_or_default());
        listed.unread = unread.remove(chat);
    }
    let kept = fitting(budget, rows.iter().map(|listed| weight(listed, &newest)));
    let cut = kept < rows.len();
    rows.truncate(kept);
    let shown = rows.iter().filter_map(|listed| newest.get(&listed.chat.id).copied()).collect::<Vec<_>>();
    if !shown.is_empty() {
        let mut newest = newest_on(db, shown).await?;
        for listed in rows.iter_mut() {
            listed.last_message = newest.remove(&listed.chat.id);
        }
    }
    Ok(cut)
}

/// The approximate size of a chat in an answer.
fn weight(listed: &ListedChat, newest: &HashMap<ChatId, Newest>) -> usize {
    let agents = listed.details.as_ref().map_or(0, |details| details.agents.len() * AGENT_BYTES);
    let participants = listed.roster.as_ref().map_or(0, |head| {
        let described = |participant: &Participant| {
            PARTICIPANT_BYTES
                + participant.name.len()
                + participant.description.as_ref().map_or(0, String::len)
        };
        head.participants.iter().map(described).sum()
    });
    let newest = newest.get(&listed.chat.id).map_or(0, |newest| newest.weight);
    (CHAT_BYTES + agents + participants).saturating_add(newest)
}
