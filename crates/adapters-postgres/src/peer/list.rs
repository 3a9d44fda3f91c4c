//! Listing peers: one statement over all reasons for being a peer.
//!
//! The network of a caller is small compared to the store: every arm of the union runs along an index of
//! just that part, so the cost of a list is proportional to the network.

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::account::PersonName;
use domain::caller::Caller;
use domain::id::{ChatId, ParticipantKind};
use domain::page::{Page, PageRequest, Position};
use domain::peer::{ListPeers, Peer, PeerSource, SEARCHED_PEERS};
use domain::text::NamePart;
use domain::time::Timestamp;
use futures_util::future::try_join;
use uuid::Uuid;

use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::row::{self, At};
use crate::run::Db;
use crate::statement::{Statement, statement};

/// The registry of an agent: its owner, its siblings, agents that colleagues of its owner share,
/// and the global agents. The values are its owner, its owner, the agent.
const REGISTRY_OF_AGENT: &str = "\
    SELECT id, 'User' AS kind, 0 AS rank FROM users WHERE id = ? \
    UNION ALL \
    SELECT id, 'Agent', 0 FROM agents WHERE owner_id = ? AND deleted_at IS NULL \
    AND (SELECT registry_access FROM agents WHERE id = ?)";

/// The registry of a human: own agents, colleagues, agents that they share, and the global agents.
/// The values are the organization and the human.
const REGISTRY_OF_USER: &str = "\
    SELECT id, 'User' AS kind, 0 AS rank FROM users WHERE organization_id = ? \
    UNION ALL \
    SELECT id, 'Agent', 0 FROM agents WHERE owner_id = ? AND deleted_at IS NULL";

/// The part that both have in common, and the contacts. The values are the organization, the
/// accountable user, the caller.
const EVERYBODYS: &str = "\
    SELECT agents.id, 'Agent', 0 FROM users JOIN agents \
    ON agents.owner_id = users.id AND agents.shared_with_organization AND agents.deleted_at IS NULL \
    WHERE users.organization_id = ? AND agents.owner_id <> ? \
    UNION ALL \
    SELECT id, 'Agent', 0 FROM agents WHERE is_global AND deleted_at IS NULL \
    UNION ALL \
    SELECT contact_id, contact_kind, 1 FROM contacts WHERE owner_id = ?";

/// Columns of a listed peer; `found` has id, kind, and rank. The value is the caller.
const COLUMNS: &str = "found.id, found.kind, found.rank, \
    agent.name, coalesce(agent.handle, account.handle), account.first_name, account.last_name, \
    agent.description, agent.kind, agent.listed_in_directory, agent.is_global, agent.tags, \
    EXISTS (SELECT 1 FROM contacts WHERE owner_id = ? AND contact_id = found.id), \
    coalesce(agent.created_at, account.created_at)";

const ACCOUNTS: &str = "\
    LEFT JOIN agents AS agent ON agent.id = found.id AND agent.deleted_at IS NULL \
    LEFT JOIN users AS account ON account.id = found.id \
    LEFT JOIN users AS owner ON owner.id = agent.owner_id";

/// A disabled user or agent is no peer.
const ENABLED: &str =
    "agent.disabled_at IS NULL AND account.disabled_at IS NULL AND owner.disabled_at IS NULL";

/// Those behind a position. The values are its rank, its time, and its id.
const BEHIND: &str = "AND (found.rank, coalesce(agent.created_at, account.created_at), found.id) > (?, ?, ?)";

const ORDER: &str = "ORDER BY found.rank, coalesce(agent.created_at, account.created_at), found.id";

/// The types of [`COLUMNS`].
type PeerTypes = (
    SqlUuid,
    Text,
    Integer,
    Nullable<Text>,
    Text,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Bool>,
    Nullable<Bool>,
    Nullable<Text>,
    Bool,
    Timestamptz,
);

#[derive(Queryable)]
struct PeerRow {
    id: Uuid,
    kind: String,
    rank: i32,
    name: Option<String>,
    handle: String,
    first_name: Option<String>,
    last_name: Option<String>,
    description: Option<String>,
    runs: Option<String>,
    listed: Option<bool>,
    is_global: Option<bool>,
    tags: Option<String>,
    is_contact: bool,
    created_at: At,
}

impl PeerRow {
    fn into_peer(self) -> Result<(Peer, Position), Fault> {
        let id = row::participant_id(&self.kind, self.id)?;
        let (key, text) = (self.created_at.0.micros(), self.rank.to_string());
        let position = Position { key, text, id: id.into() };
        let name = match (self.name, self.first_name, self.last_name) {
            (Some(name), ..) => name,
            (None, Some(first), Some(last)) => PersonName { first, last }.full(),
            _ => return Err(Fault::Row(format!("the peer {id} without an account"))),
        };
        let peer = Peer {
            id,
            name,
            handle: self.handle,
            description: self.description,
            is_external: self.runs.map(|runs| runs == "external"),
            listed_in_directory: self.listed,
            is_global: self.is_global.unwrap_or(false),
            tags: self.tags.map_or_else(|| Ok(Vec::new()), |tags| row::json(&tags))?,
            source: if self.rank == 0 { PeerSource::Registry } else { PeerSource::Contact },
            is_contact: self.is_contact,
        };
        Ok((peer, position))
    }
}

/// The selection of peers.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Peers(&'a ListPeers),
    Directory,
}

pub(super) async fn peers_on(
    db: &Db,
    caller: Caller,
    wanted: &ListPeers,
    page: &PageRequest,
) -> Result<Option<Page<Peer>>, Fault> {
    if let Some(chat) = wanted.not_in_chat
        && membership_on(db, caller.participant(), chat).await?.is_none()
    {
        return Ok(None);
    }
    page_on(db, caller, Wanted::Peers(wanted), wanted.name.as_ref(), page).await.map(Some)
}

pub(super) async fn directory_on(
    db: &Db,
    caller: Caller,
    name: Option<&NamePart>,
    page: &PageRequest,
) -> Result<Page<Peer>, Fault> {
    page_on(db, caller, Wanted::Directory, name, page).await
}

impl Wanted<'_> {
    /// The statement from `FROM` on.
    fn text(self, caller: Caller) -> String {
        let registry = match (self, caller) {
            (Self::Directory, _) => {
                return format!(
                    "(SELECT id, 'Agent' AS kind, 0 AS rank FROM agents \
                     WHERE listed_in_directory AND deleted_at IS NULL) AS found {ACCOUNTS} WHERE {ENABLED}"
                );
            }
            (Self::Peers(_), Caller::Agent(_)) => REGISTRY_OF_AGENT,
            (Self::Peers(_), Caller::User(_)) => REGISTRY_OF_USER,
        };
        // A null chat has no participants.
        format!(
            "(SELECT id, kind, min(rank) AS rank FROM ({registry} UNION ALL {EVERYBODYS}) AS known \
             WHERE id <> ? GROUP BY id, kind) AS found {ACCOUNTS} \
             WHERE coalesce(agent.id, account.id) IS NOT NULL AND {ENABLED} AND found.kind = ANY(?) \
             AND NOT EXISTS (SELECT 1 FROM participants \
             WHERE chat_id = ? AND participant_id = found.id AND left_at IS NULL)"
        )
    }

    /// Binds its values.
    fn bind<Row>(self, statement: Statement<Row>, caller: Caller) -> Statement<Row> {
        let Self::Peers(wanted) = self else { return statement };
        let id = caller.participant().uuid();
        let accountable = caller.accountable_user().uuid();
        let organization = caller.organization().uuid();
        let statement = match caller {
            Caller::Agent(_) => statement
                .bind::<SqlUuid, _>(accountable)
                .bind::<SqlUuid, _>(accountable)
                .bind::<SqlUuid, _>(id),
            Caller::User(_) => statement.bind::<SqlUuid, _>(organization).bind::<SqlUuid, _>(accountable),
        };
        let kinds = match wanted.kind {
            None => vec![ParticipantKind::User.as_str(), ParticipantKind::Agent.as_str()],
            Some(kind) => vec![kind.as_str()],
        };
        statement
            .bind::<SqlUuid, _>(organization)
            .bind::<SqlUuid, _>(accountable)
            .bind::<SqlUuid, _>(id)
            .bind::<SqlUuid, _>(id)
            .bind::<Array<Text>, _>(kinds)
            .bind::<Nullable<SqlUuid>, _>(wanted.not_in_chat.map(ChatId::uuid))
    }
}

/// One page, counted if requested. No index supports the search for a part of a name; the rows, which are
/// read in any case to be sorted, are then examined one by one.
async fn page_on(
    db: &Db,
    caller: Caller,
    wanted: Wanted<'_>,
    name: Option<&NamePart>,
    page: &PageRequest,
) -> Result<Page<Peer>, Fault> {
    let counts = page.count && name.is_none();
    let total = async { if counts { count_on(db, caller, wanted).await.map(Some) } else { Ok(None) } };
    let part = match name {
        None => (i64::from(page.slice.limit()) + 1, page.slice.offset()),
        Some(_) => (i64::from(SEARCHED_PEERS), 0),
    };
    let (total, rows) = try_join(total, rows_on(db, caller, wanted, page.slice.after(), part)).await?;
    let mut rows = rows.into_iter().map(PeerRow::into_peer).collect::<Result<Vec<_>, _>>()?;
    let position = |(_, position): &(Peer, Position)| position.clone();
    let page = match name {
        None => Page::from_overfetch(rows, page, total, position),
        Some(name) => {
            rows.retain(|(peer, _)| name.is_in([peer.name.as_str(), peer.handle.as_str()]));
            Page::of_all(rows, page, position)
        }
    };
    Ok(page.map(|(peer, _)| peer))
}

async fn count_on(mut db: &Db, caller: Caller, wanted: Wanted<'_>) -> Result<u64, Fault> {
    let counting = statement::<BigInt>(format!("SELECT count(*) FROM {}", wanted.text(caller)));
    let counted = wanted.bind(counting, caller).get_result::<i64>(&mut db).await?;
    Ok(counted.cast_unsigned())
}

/// At most `limit` rows behind a position, without the first `offset`.
async fn rows_on(
    mut db: &Db,
    caller: Caller,
    wanted: Wanted<'_>,
    after: Option<Position>,
    (limit, offset): (i64, i64),
) -> Result<Vec<PeerRow>, Fault> {
    let found = wanted.text(caller);
    let behind = if after.is_some() { BEHIND } else { "" };
    let text = format!("SELECT {COLUMNS} FROM {found} {behind} {ORDER} LIMIT ? OFFSET ?");
    let mut listing = statement::<PeerTypes>(text).bind::<SqlUuid, _>(caller.participant().uuid());
    listing = wanted.bind(listing, caller);
    if let Some(Position { key, text, id }) = after {
        listing = listing
            .bind::<Integer, _>(text.parse::<i32>().unwrap_or_default())
            .bind::<Timestamptz, _>(At(Timestamp::from_micros(key)))
            .bind::<SqlUuid, _>(id.uuid());
    }
    let listing = listing.bind::<BigInt, _>(limit).bind::<BigInt, _>(offset);
    Ok(listing.load(&mut db).await?)
}
