//! Listing peers: one statement over all reasons for being a peer.
//!
//! The network of a caller is small compared to the store: every arm of the union runs along an index of
//! just that part, so the cost of a list is proportional to the network.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::account::PersonName;
use domain::caller::Caller;
use domain::id::{ChatId, ParticipantKind};
use domain::page::{Page, PageRequest, Position};
use domain::peer::{ListPeers, Peer, PeerSource, SEARCHED_PEERS};
use domain::text::NamePart;
use uuid::Uuid;

use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::row::{self, Id};

/// The registry of an agent: its owner, its siblings, agents that colleagues of its owner share,
/// and the global agents. `?1` is the caller, `?2` the accountable user, `?3` their organization.
const REGISTRY_OF_AGENT: &str = "\
    SELECT id, 'User' AS kind, 0 AS rank FROM users WHERE id = ?2 \
    UNION ALL \
    SELECT id, 'Agent', 0 FROM agents INDEXED BY agents_by_owner \
    WHERE owner_id = ?2 AND deleted_at IS NULL \
    AND (SELECT registry_access FROM agents WHERE id = ?1)";

/// The registry of a human: own agents, colleagues, agents that they share, and the global agents.
const REGISTRY_OF_USER: &str = "\
    SELECT id, 'User' AS kind, 0 AS rank FROM users WHERE organization_id = ?3 \
    UNION ALL \
    SELECT id, 'Agent', 0 FROM agents INDEXED BY agents_by_owner \
    WHERE owner_id = ?2 AND deleted_at IS NULL";

/// The part that both have in common, and the contacts.
const EVERYBODYS: &str = "\
    SELECT agents.id, 'Agent', 0 FROM users CROSS JOIN agents INDEXED BY agents_shared \
    ON agents.owner_id = users.id AND agents.shared_with_organization = 1 AND agents.deleted_at IS NULL \
    WHERE users.organization_id = ?3 AND agents.owner_id <> ?2 \
    UNION ALL \
    SELECT id, 'Agent', 0 FROM agents INDEXED BY agents_global \
    WHERE is_global = 1 AND deleted_at IS NULL \
    UNION ALL \
    SELECT contact_id, contact_kind, 1 FROM contacts WHERE owner_id = ?1";

/// Columns and order of a listed peer; `found` has id, kind, and rank.
const COLUMNS: &str = "found.id, found.kind, found.rank, \
    agent.name, coalesce(agent.handle, user.handle) AS handle, user.first_name, user.last_name, \
    agent.description, agent.kind AS runs, agent.listed_in_directory AS listed, agent.is_global, agent.tags, \
    EXISTS (SELECT 1 FROM contacts WHERE owner_id = ?1 AND contact_id = found.id) AS is_contact, \
    coalesce(agent.created_at, user.created_at) AS created_at";

const ACCOUNTS: &str = "\
    LEFT JOIN agents AS agent ON agent.id = found.id AND agent.deleted_at IS NULL \
    LEFT JOIN users AS user ON user.id = found.id \
    LEFT JOIN users AS owner ON owner.id = agent.owner_id";

/// A disabled user or agent is no peer.
const ENABLED: &str = "agent.disabled_at IS NULL AND user.disabled_at IS NULL AND owner.disabled_at IS NULL";

/// Those behind a position.
const BEHIND: &str = "AND (found.rank, coalesce(agent.created_at, user.created_at), found.id) > (?7, ?8, ?9)";

const ORDER: &str = "ORDER BY found.rank, coalesce(agent.created_at, user.created_at), found.id";

#[derive(QueryableByName)]
struct PeerRow {
    #[diesel(sql_type = Binary)]
    id: Id,
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(sql_type = BigInt)]
    rank: i64,
    #[diesel(sql_type = Nullable<Text>)]
    name: Option<String>,
    #[diesel(sql_type = Text)]
    handle: String,
    #[diesel(sql_type = Nullable<Text>)]
    first_name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    last_name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    description: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    runs: Option<String>,
    #[diesel(sql_type = Nullable<Bool>)]
    listed: Option<bool>,
    #[diesel(sql_type = Nullable<Bool>)]
    is_global: Option<bool>,
    #[diesel(sql_type = Nullable<Text>)]
    tags: Option<String>,
    #[diesel(sql_type = Bool)]
    is_contact: bool,
    #[diesel(sql_type = BigInt)]
    created_at: i64,
}

impl PeerRow {
    fn into_peer(self) -> Result<(Peer, Position), Fault> {
        let id = row::participant_id(&self.kind, self.id.0)?;
        let position = Position { key: self.created_at, text: self.rank.to_string(), id: id.into() };
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

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

pub(super) fn peers_on(
    connection: &mut SqliteConnection,
    caller: Caller,
    wanted: &ListPeers,
    page: &PageRequest,
) -> Result<Option<Page<Peer>>, Fault> {
    if let Some(chat) = wanted.not_in_chat
        && membership_on(connection, caller.participant(), chat)?.is_none()
    {
        return Ok(None);
    }
    let registry = match caller {
        Caller::Agent(_) => REGISTRY_OF_AGENT,
        Caller::User(_) => REGISTRY_OF_USER,
    };
    let absent = match wanted.not_in_chat {
        None => "?4 IS NULL",
        Some(_) => {
            "NOT EXISTS (SELECT 1 FROM participants \
             WHERE chat_id = ?4 AND participant_id = found.id AND left_at IS NULL)"
        }
    };
    let kind = match wanted.kind {
        None => "",
        Some(ParticipantKind::User) => "AND found.kind = 'User'",
        Some(ParticipantKind::Agent) => "AND found.kind = 'Agent'",
    };
    let found = format!(
        "FROM (SELECT id, kind, min(rank) AS rank FROM ({registry} UNION ALL {EVERYBODYS}) \
         WHERE id <> ?1 GROUP BY id, kind) AS found {ACCOUNTS} \
         WHERE coalesce(agent.id, user.id) IS NOT NULL AND {ENABLED} AND {absent} {kind}"
    );
    let (chat, name) = (wanted.not_in_chat.map(ChatId::uuid), wanted.name.as_ref());
    page_on(connection, &found, caller, chat, name, page).map(Some)
}

pub(super) fn directory_on(
    connection: &mut SqliteConnection,
    caller: Caller,
    name: Option<&NamePart>,
    page: &PageRequest,
) -> Result<Page<Peer>, Fault> {
    let found = format!(
        "FROM (SELECT id, 'Agent' AS kind, 0 AS rank FROM agents INDEXED BY agents_listed \
         WHERE listed_in_directory = 1 AND deleted_at IS NULL) AS found {ACCOUNTS} \
         WHERE {ENABLED} AND ?4 IS NULL"
    );
    page_on(connection, &found, caller, None, name, page)
}

/// One page of `found`, counted if requested. No index supports the search for a part of a name; the rows
/// of `found`, which are read in any case to be sorted, are then examined one by one.
fn page_on(
    connection: &mut SqliteConnection,
    found: &str,
    caller: Caller,
    chat: Option<Uuid>,
    name: Option<&NamePart>,
    page: &PageRequest,
) -> Result<Page<Peer>, Fault> {
    let caller_id = Id(caller.participant().uuid());
    let accountable = Id(caller.accountable_user().uuid());
    let organization = Id(caller.organization().uuid());
    let chat = chat.map(Id);
    let total = if page.count && name.is_none() {
        let counted = diesel::sql_query(format!("SELECT count(*) AS number {found}"))
            .bind::<Binary, _>(caller_id)
            .bind::<Binary, _>(accountable)
            .bind::<Binary, _>(organization)
            .bind::<Nullable<Binary>, _>(chat)
            .get_result::<Counted>(connection)?;
        Some(counted.number.cast_unsigned())
    } else {
        None
    };
    let after = page.slice.after();
    let behind = if after.is_some() { BEHIND } else { "" };
    let (limit, offset) = if name.is_some() {
        (i64::from(SEARCHED_PEERS), 0)
    } else {
        (i64::from(page.slice.limit()) + 1, page.slice.offset())
    };
    let mut rows = diesel::sql_query(format!("SELECT {COLUMNS} {found} {behind} {ORDER} LIMIT ?5 OFFSET ?6"))
        .into_boxed()
        .bind::<Binary, _>(caller_id)
        .bind::<Binary, _>(accountable)
        .bind::<Binary, _>(organization)
        .bind::<Nullable<Binary>, _>(chat)
        .bind::<BigInt, _>(limit)
        .bind::<BigInt, _>(offset);
    if let Some(Position { key, text, id }) = after {
        rows = rows
            .bind::<BigInt, _>(text.parse::<i64>().unwrap_or_default())
            .bind::<BigInt, _>(key)
            .bind::<Binary, _>(Id(id.uuid()));
    }
    let rows = rows.load::<PeerRow>(connection)?;
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
