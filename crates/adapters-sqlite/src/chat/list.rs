//! The chats of a user or agent, with the requested parts.
//!
//! By creation, a list runs along an index of memberships, which carry the chats' creation time,
//! and stops at its limit. By change, it reads all of the viewer's chats: updating every membership
//! with its chat would make each message more expensive for each participant.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Text};
use diesel::sqlite::SqliteConnection;
use domain::chat::{ChatListing, ChatParts, ChatSort, ListedChat};
use domain::id::{ChatId, ParticipantId, RecordId, UserId};
use domain::page::{Order, PAGE_BYTES, Page, PageRequest, Position, fitting};

use super::details::{details_on, heads_on, in_list, newest_on, newest_weights_on, standings_on};
use super::mark_read::unread_on;
use super::row::ChatRow;
use crate::error::Fault;
use crate::row;
use crate::schema::chats;

/// The approximate size of a chat, of a participant, and of an agent in an answer, without content.
const CHAT_BYTES: usize = 600;
const PARTICIPANT_BYTES: usize = 400;
const AGENT_BYTES: usize = 200;

pub(super) fn list_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    listing: ChatListing,
    page: PageRequest,
) -> Result<Page<ListedChat>, Fault> {
    let chosen = Chosen::of(viewer, listing);
    let total = if page.count { Some(chosen.count_on(connection)?) } else { None };
    let mut chats = chosen.page_on(connection, &page)?;
    let limit = page.slice.limit() as usize;
    let mut more = chats.len() > limit;
    chats.truncate(limit);
    let mut rows = records_on(connection, &chats)?;
    more |= fill_on(connection, viewer, listing.parts, page.max_bytes(), &mut rows)?;
    Ok(Page::part(rows, more, total, |listed| listing.sort.position(&listed.chat)))
}

pub(super) fn list_some_on(
    connection: &mut SqliteConnection,
    viewer: UserId,
    chats: &[ChatId],
    parts: ChatParts,
) -> Result<Page<ListedChat>, Fault> {
    // The index is named because SQLite would read all participants of the chats. A deleted chat has none.
    let found = diesel::sql_query(format!(
        "SELECT DISTINCT chat_id AS id FROM participants INDEXED BY participants_of_account \
         WHERE chat_id IN ({}) AND account_id = ?1 AND left_at IS NULL ORDER BY chat_id",
        in_list(chats)
    ));
    let found = found.bind::<Binary, _>(row::bytes(viewer.uuid())).load::<ListedId>(connection)?;
    let found = found.iter().map(|listed| row::chat_id(&listed.id)).collect::<Result<Vec<_>, _>>()?;
    let mut rows = records_on(connection, &found)?;
    let more = fill_on(connection, ParticipantId::User(viewer), parts, PAGE_BYTES, &mut rows)?;
    Ok(Page::part(rows, more, None, |listed| ChatSort::Created.position(&listed.chat)))
}

/// The memberships to read, and the conditions on their chats.
struct Chosen {
    viewer: Vec<u8>,
    listing: ChatListing,
    /// The column of the viewer in the membership table, and its index.
    column: &'static str,
    index: &'static str,
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

#[derive(QueryableByName)]
struct ListedId {
    #[diesel(sql_type = Binary)]
    id: Vec<u8>,
}

impl Chosen {
    fn of(viewer: ParticipantId, listing: ChatListing) -> Self {
        let through_agents = listing.agent_rooms && viewer.user().is_some();
        let (column, index) = if through_agents {
            ("account_id", "participants_rooms_of_account")
        } else {
            ("participant_id", "participants_rooms")
        };
        Self { viewer: row::bytes(viewer.uuid()), listing, column, index }
    }

    /// FROM and WHERE; 1 is the viewer, 2 the status, 3 the kind, blank for any.
    fn body(&self) -> String {
        format!(
            "FROM participants INDEXED BY {} CROSS JOIN chats ON chats.id = participants.chat_id \
             WHERE participants.{} = ?1 AND participants.left_at IS NULL AND chats.deleted_at IS NULL \
             AND ?2 IN ('', chats.status) AND ?3 IN ('', chats.kind)",
            self.index, self.column
        )
    }

    fn words(&self) -> [&'static str; 2] {
        let ChatListing { status, kind, .. } = self.listing;
        [status.map_or("", |status| status.as_str()), kind.map_or("", |kind| kind.as_str())]
    }

    fn count_on(&self, connection: &mut SqliteConnection) -> Result<u64, Fault> {
        let [status, kind] = self.words();
        let counted = diesel::sql_query(format!("SELECT count(DISTINCT chats.id) AS number {}", self.body()))
            .bind::<Binary, _>(&self.viewer)
            .bind::<Text, _>(status)
            .bind::<Text, _>(kind)
            .get_result::<Number>(connection)?;
        Ok(counted.number.cast_unsigned())
    }

    /// The chats of a page and one more.
    fn page_on(&self, connection: &mut SqliteConnection, page: &PageRequest) -> Result<Vec<ChatId>, Fault> {
        let [key, id] = match self.listing.sort {
            ChatSort::Created => ["participants.chat_created_at", "participants.chat_id"],
            ChatSort::Updated => ["chats.updated_at", "chats.id"],
        };
        // The first condition on the position is redundant; it lets the index scan start there.
        let (beyond, direction, start) = match self.listing.order {
            Order::Ascending => (">", "ASC", Position::at(i64::MIN, RecordId::NIL)),
            Order::Descending => ("<", "DESC", Position::at(i64::MAX, RecordId::MAX)),
        };
        let after = page.slice.after().unwrap_or(start);
        let [status, kind] = self.words();
        let ids = diesel::sql_query(format!(
            "SELECT DISTINCT {key} AS key, {id} AS id {} \
             AND {key} {beyond}= ?4 AND ({key} {beyond} ?4 OR {id} {beyond} ?5) \
             ORDER BY {key} {direction}, {id} {direction} LIMIT ?6 OFFSET ?7",
            self.body()
        ));
        let ids = ids
            .bind::<Binary, _>(&self.viewer)
            .bind::<Text, _>(status)
            .bind::<Text, _>(kind)
            .bind::<BigInt, _>(after.key)
            .bind::<Binary, _>(row::bytes(after.id.uuid()))
            .bind::<BigInt, _>(i64::from(page.slice.limit()) + 1)
            .bind::<BigInt, _>(page.slice.offset())
            .load::<ListedId>(connection)?;
        ids.iter().map(|listed| row::chat_id(&listed.id)).collect()
    }
}

/// The records of the chats, in the order of `ids`.
fn records_on(connection: &mut SqliteConnection, ids: &[ChatId]) -> Result<Vec<ListedChat>, Fault> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = chats::table
        .filter(chats::id.eq_any(ids.iter().map(|chat| row::bytes(chat.uuid()))))
        .select(ChatRow::as_select())
        .load(connection)?;
    let chats = rows.into_iter().map(ChatRow::into_chat).collect::<Result<Vec<_>, _>>()?;
    let mut chats = chats.into_iter().map(|chat| (chat.id, chat)).collect::<HashMap<_, _>>();
    Ok(ids.iter().filter_map(|id| chats.remove(id)).map(ListedChat::from).collect())
}

/// Adds the requested parts. Rows at the end that would make the page too large are left out;
/// returns whether there were any.
fn fill_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    parts: ChatParts,
    budget: usize,
    rows: &mut Vec<ListedChat>,
) -> Result<bool, Fault> {
    let mut chats = rows.iter().map(|listed| listed.chat.id).collect::<Vec<_>>();
    if chats.is_empty() {
        return Ok(false);
    }
    if parts.details {
        let mut details = details_on(connection, &chats)?;
        let of = |listed: &mut ListedChat| {
            listed.details = Some(details.remove(&listed.chat.id).unwrap_or_default());
        };
        rows.iter_mut().for_each(of);
    }
    if parts.participants {
        let mut heads = heads_on(connection, &chats, false)?;
        let of = |listed: &mut ListedChat| {
            listed.roster = Some(heads.remove(&listed.chat.id).unwrap_or_default());
        };
        rows.iter_mut().for_each(of);
    }
    let mut newest = if parts.last_message { newest_weights_on(connection, &chats)? } else { HashMap::new() };
    let weigh = |listed: &ListedChat| {
        weight(listed).saturating_add(newest.get(&listed.chat.id).map_or(0, |newest| newest.weight))
    };
    let kept = fitting(budget, rows.iter().map(weigh));
    let cut = kept < rows.len();
    rows.truncate(kept);
    chats.truncate(kept);
    if parts.last_message {
        let shown = chats.iter().filter_map(|chat| newest.remove(chat)).collect::<Vec<_>>();
        let mut newest = newest_on(connection, shown)?;
        for listed in rows.iter_mut() {
            listed.last_message = newest.remove(&listed.chat.id);
        }
    }
    if let (true, Some(user)) = (parts.membership, viewer.user()) {
        let mut standings = standings_on(connection, user, &chats)?;
        let of = |listed: &mut ListedChat| {
            listed.standing = Some(standings.remove(&listed.chat.id).unwrap_or_default());
        };
        rows.iter_mut().for_each(of);
    }
    if let (true, Some(user)) = (parts.unread, viewer.user()) {
        let mut unread = unread_on(connection, user, &chats)?;
        for listed in rows.iter_mut() {
            listed.unread = unread.remove(&listed.chat.id);
        }
    }
    Ok(cut)
}

/// The approximate size of a chat in an answer, without its newest message.
fn weight(listed: &ListedChat) -> usize {
    let agents = listed.details.as_ref().map_or(0, |details| details.agents.len() * AGENT_BYTES);
    let participants = listed.roster.as_ref().map_or(0, |head| {
        let described = |participant: &domain::chat::Participant| {
            PARTICIPANT_BYTES
                + participant.name.len()
                + participant.description.as_ref().map_or(0, String::len)
        };
        head.participants.iter().map(described).sum()
    });
    CHAT_BYTES + agents + participants
}
