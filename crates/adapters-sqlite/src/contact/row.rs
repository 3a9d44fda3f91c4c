//! Requests and contacts as rows, with both sides.

use std::collections::HashMap;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel::sqlite::SqliteConnection;
use domain::account::PersonName;
use domain::contact::request::Sides;
use domain::contact::{Contact, ContactOf, ContactRequest, Handle, Party, Profile, RequestStatus};
use domain::id::{AgentId, ContactId, ContactRequestId, ParticipantId, UserId};
use domain::time::Timestamp;

use crate::error::Fault;
use crate::row;
use crate::schema::{agents, contact_requests, contacts, users};

/// Selects pending requests with the exact condition of the partial indexes.
pub(super) fn is_pending() -> diesel::expression::SqlLiteral<Bool> {
    sql::<Bool>("contact_requests.status = 'pending'")
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = contact_requests)]
pub(super) struct RequestRow {
    pub(super) id: Vec<u8>,
    pub(super) requester_id: Vec<u8>,
    pub(super) requester_kind: String,
    pub(super) requester_user_id: Vec<u8>,
    pub(super) recipient_id: Vec<u8>,
    pub(super) recipient_kind: String,
    pub(super) recipient_user_id: Vec<u8>,
    pub(super) message: Option<String>,
    pub(super) status: String,
    pub(super) created_at: i64,
    pub(super) responded_at: Option<i64>,
}

impl RequestRow {
    pub(super) fn id(&self) -> Result<ContactRequestId, Fault> {
        row::uuid(&self.id).map(ContactRequestId::new)
    }

    pub(super) fn stored_status(&self) -> Result<RequestStatus, Fault> {
        row::word(&self.status, RequestStatus::parse)
    }

    pub(super) fn is_over_age(&self, expired_until: Timestamp) -> bool {
        self.created_at <= expired_until.micros()
    }

    pub(super) fn sides(&self) -> Result<Sides, Fault> {
        Ok(Sides {
            requester: row::participant_id(&self.requester_kind, &self.requester_id)?,
            requester_user: row::user_id(&self.requester_user_id)?,
            recipient: row::participant_id(&self.recipient_kind, &self.recipient_id)?,
            recipient_user: row::user_id(&self.recipient_user_id)?,
        })
    }

    /// The request, with those sent until `expired_until` counted as expired.
    pub(super) fn to_request(
        &self,
        people: &People,
        expired_until: Timestamp,
    ) -> Result<ContactRequest, Fault> {
        let created_at = row::time(self.created_at);
        Ok(ContactRequest {
            id: self.id()?,
            requester: people.party(&self.requester_id)?,
            recipient: people.party(&self.recipient_id)?,
            message: self.message.clone(),
            status: self.stored_status()?.at(created_at, expired_until),
            created_at,
            responded_at: self.responded_at.map(row::time),
        })
    }
}

/// The pending request from one to the other, expired or not.
pub(super) fn pending_on(
    connection: &mut SqliteConnection,
    requester: ParticipantId,
    recipient: ParticipantId,
) -> Result<Option<RequestRow>, Fault> {
    let found = contact_requests::table
        .filter(contact_requests::requester_id.eq(row::bytes(requester.uuid())))
        .filter(contact_requests::recipient_id.eq(row::bytes(recipient.uuid())))
        .filter(is_pending())
        .select(RequestRow::as_select())
        .get_result(connection)
        .optional()?;
    Ok(found)
}

/// Stores a new status; returns the row after the update.
pub(super) fn settle_on(
    connection: &mut SqliteConnection,
    request: RequestRow,
    status: RequestStatus,
    responded_at: Option<Timestamp>,
) -> Result<RequestRow, Fault> {
    let status = status.as_str().to_owned();
    let responded_at = responded_at.map(Timestamp::micros);
    diesel::update(contact_requests::table.find(&request.id))
        .set((contact_requests::status.eq(&status), contact_requests::responded_at.eq(responded_at)))
        .execute(connection)?;
    Ok(RequestRow { status, responded_at, ..request })
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = users)]
struct UserColumns {
    id: Vec<u8>,
    handle: String,
    email: String,
    first_name: String,
    last_name: String,
    deleted_at: Option<i64>,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = agents)]
struct AgentColumns {
    id: Vec<u8>,
    owner_id: Vec<u8>,
    name: String,
    handle: String,
    description: String,
    kind: String,
    tags: String,
    listed_in_directory: bool,
    deleted_at: Option<i64>,
}

/// A user or agent as stored.
pub(super) struct Person {
    pub(super) profile: Profile,
    /// The user itself, or the agent's owner.
    pub(super) user: UserId,
    /// False for a deleted account, which remains in the history only.
    pub(super) present: bool,
}

impl UserColumns {
    fn into_person(self) -> Result<Person, Fault> {
        let user = row::user_id(&self.id)?;
        let profile = Profile {
            id: ParticipantId::User(user),
            handle: self.handle,
            name: PersonName { first: self.first_name, last: self.last_name }.full(),
            email: self.deleted_at.is_none().then_some(self.email),
            description: None,
            is_external: None,
            listed_in_directory: None,
            tags: Vec::new(),
        };
        Ok(Person { profile, user, present: self.deleted_at.is_none() })
    }
}

impl AgentColumns {
    fn into_person(self) -> Result<Person, Fault> {
        let profile = Profile {
            id: ParticipantId::Agent(AgentId::new(row::uuid(&self.id)?)),
            handle: self.handle,
            name: self.name,
            email: None,
            description: Some(self.description),
            is_external: Some(self.kind == "external"),
            listed_in_directory: Some(self.listed_in_directory),
            tags: row::json(&self.tags)?,
        };
        Ok(Person { profile, user: row::user_id(&self.owner_id)?, present: self.deleted_at.is_none() })
    }
}

/// The user or agent that has the handle now.
pub(super) fn person_with_on(
    connection: &mut SqliteConnection,
    handle: &Handle,
) -> Result<Option<Person>, Fault> {
    if handle.is_agents() {
        let found = agents::table
            .filter(agents::handle.eq(handle.as_str()))
            .filter(agents::deleted_at.is_null())
            .select(AgentColumns::as_select())
            .get_result(connection)
            .optional()?;
        return found.map(AgentColumns::into_person).transpose();
    }
    let found = users::table
        .filter(users::handle.eq(handle.as_str()))
        .filter(users::deleted_at.is_null())
        .select(UserColumns::as_select())
        .get_result(connection)
        .optional()?;
    found.map(UserColumns::into_person).transpose()
}

/// The users and agents that some rows refer to.
pub(super) struct People(HashMap<Vec<u8>, Person>);

impl People {
    pub(super) fn person(&self, id: &[u8]) -> Result<&Person, Fault> {
        self.0.get(id).ok_or_else(|| Fault::Row("a contact without an account".to_owned()))
    }

    fn party(&self, id: &[u8]) -> Result<Party, Fault> {
        let Profile { id, handle, name, .. } = &self.person(id)?.profile;
        Ok(Party { id: *id, handle: handle.clone(), name: name.clone() })
    }
}

/// The maximum number of ids per query; SQLite has a limit of its own.
const MAX_IDS: usize = 1_000;

/// Looks up all users and agents of a page at once, deleted agents included.
pub(super) fn people_on<'a>(
    connection: &mut SqliteConnection,
    ids: impl IntoIterator<Item = &'a Vec<u8>>,
) -> Result<People, Fault> {
    let mut ids = ids.into_iter().collect::<Vec<_>>();
    ids.sort_unstable();
    ids.dedup();
    let mut people = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(MAX_IDS) {
        let found = users::table.filter(users::id.eq_any(ids)).select(UserColumns::as_select());
        for user in found.load(connection)? {
            people.insert(user.id.clone(), user.into_person()?);
        }
        let found = agents::table.filter(agents::id.eq_any(ids)).select(AgentColumns::as_select());
        for agent in found.load(connection)? {
            people.insert(agent.id.clone(), agent.into_person()?);
        }
    }
    Ok(People(people))
}

/// Both sides of some requests.
pub(super) fn people_of_on(
    connection: &mut SqliteConnection,
    requests: &[RequestRow],
) -> Result<People, Fault> {
    people_on(connection, requests.iter().flat_map(|request| [&request.requester_id, &request.recipient_id]))
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = contacts)]
pub(super) struct ContactRow {
    pub(super) id: Vec<u8>,
    pub(super) owner_id: Vec<u8>,
    pub(super) owner_kind: String,
    pub(super) contact_id: Vec<u8>,
    pub(super) contact_kind: String,
    pub(super) request_id: Option<Vec<u8>>,
    pub(super) created_at: i64,
}

impl ContactRow {
    pub(super) fn to_contact(&self, people: &People) -> Result<Contact, Fault> {
        Ok(Contact {
            id: ContactId::new(row::uuid(&self.id)?),
            with: people.person(&self.contact_id)?.profile.clone(),
            request: self.request_id.as_deref().map(row::uuid).transpose()?.map(ContactRequestId::new),
            created_at: row::time(self.created_at),
        })
    }
}

/// Makes the two sides of `request` contacts; `people` contains both.
pub(super) fn connect_on(
    connection: &mut SqliteConnection,
    ids: [ContactId; 2],
    request: &RequestRow,
    people: &People,
    now: Timestamp,
) -> Result<Vec<ContactOf>, Fault> {
    let Sides { requester, recipient, .. } = request.sides()?;
    let record = |id: ContactId, owner: ParticipantId, other: ParticipantId| ContactRow {
        id: row::bytes(id.uuid()),
        owner_id: row::bytes(owner.uuid()),
        owner_kind: owner.kind().as_str().to_owned(),
        contact_id: row::bytes(other.uuid()),
        contact_kind: other.kind().as_str().to_owned(),
        request_id: Some(request.id.clone()),
        created_at: now.micros(),
    };
    let rows = [record(ids[0], requester, recipient), record(ids[1], recipient, requester)];
    for row in &rows {
        diesel::insert_into(contacts::table).values(row).execute(connection)?;
    }
    let [of_requester, of_recipient] = rows;
    Ok(vec![
        ContactOf { owner: requester, contact: of_requester.to_contact(people)? },
        ContactOf { owner: recipient, contact: of_recipient.to_contact(people)? },
    ])
}
