//! Requests and contacts as rows, with both sides.

use std::collections::HashMap;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use domain::account::PersonName;
use domain::contact::request::Sides;
use domain::contact::{Contact, ContactOf, ContactRequest, Handle, Party, Profile, RequestStatus};
use domain::id::{AgentId, ContactId, ContactRequestId, ParticipantId, UserId};
use domain::time::Timestamp;
use futures_util::future::try_join;
use uuid::Uuid;

use crate::error::Fault;
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::{agents, contact_requests, contacts, users};

/// Selects pending requests with the exact condition of the partial indexes.
pub(super) fn is_pending() -> diesel::expression::SqlLiteral<Bool> {
    sql::<Bool>("contact_requests.status = 'pending'")
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = contact_requests)]
pub(super) struct RequestRow {
    pub(super) id: Uuid,
    pub(super) requester_id: Uuid,
    pub(super) requester_kind: String,
    pub(super) requester_user_id: Uuid,
    pub(super) recipient_id: Uuid,
    pub(super) recipient_kind: String,
    pub(super) recipient_user_id: Uuid,
    pub(super) message: Option<String>,
    pub(super) status: String,
    pub(super) created_at: At,
    pub(super) responded_at: Option<At>,
}

impl RequestRow {
    pub(super) fn stored_status(&self) -> Result<RequestStatus, Fault> {
        row::word(&self.status, RequestStatus::parse)
    }

    pub(super) fn is_over_age(&self, expired_until: Timestamp) -> bool {
        self.created_at.0 <= expired_until
    }

    pub(super) fn sides(&self) -> Result<Sides, Fault> {
        Ok(Sides {
            requester: row::participant_id(&self.requester_kind, self.requester_id)?,
            requester_user: UserId::new(self.requester_user_id),
            recipient: row::participant_id(&self.recipient_kind, self.recipient_id)?,
            recipient_user: UserId::new(self.recipient_user_id),
        })
    }

    /// The request, with those sent until `expired_until` counted as expired.
    pub(super) fn to_request(
        &self,
        people: &People,
        expired_until: Timestamp,
    ) -> Result<ContactRequest, Fault> {
        let created_at = self.created_at.0;
        Ok(ContactRequest {
            id: ContactRequestId::new(self.id),
            requester: people.party(self.requester_id)?,
            recipient: people.party(self.recipient_id)?,
            message: self.message.clone(),
            status: self.stored_status()?.at(created_at, expired_until),
            created_at,
            responded_at: self.responded_at.map(|at| at.0),
        })
    }
}

/// The pending requests between two accounts in either direction, expired or not. The rows are
/// locked, since requests expire without a lock on the accounts.
pub(super) async fn pending_between_on(
    mut db: &Db,
    one: ParticipantId,
    other: ParticipantId,
) -> Result<Vec<RequestRow>, Fault> {
    let directed = |from: ParticipantId, to: ParticipantId| {
        contact_requests::requester_id.eq(from.uuid()).and(contact_requests::recipient_id.eq(to.uuid()))
    };
    let found = contact_requests::table
        .filter(is_pending())
        .filter(directed(one, other).or(directed(other, one)))
        .order(contact_requests::id)
        .select(RequestRow::as_select())
        .for_no_key_update()
        .load(&mut db)
        .await?;
    Ok(found)
}

/// Stores a new status; returns the row after the update.
pub(super) async fn settle_on(
    mut db: &Db,
    request: RequestRow,
    status: RequestStatus,
    responded_at: Option<Timestamp>,
) -> Result<RequestRow, Fault> {
    let status = status.as_str().to_owned();
    let responded_at = responded_at.map(At);
    diesel::update(contact_requests::table.find(request.id))
        .set((contact_requests::status.eq(&status), contact_requests::responded_at.eq(responded_at)))
        .execute(&mut db)
        .await?;
    Ok(RequestRow { status, responded_at, ..request })
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = users)]
struct UserColumns {
    id: Uuid,
    handle: String,
    email: String,
    first_name: String,
    last_name: String,
    deleted_at: Option<At>,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = agents)]
struct AgentColumns {
    id: Uuid,
    owner_id: Uuid,
    name: String,
    handle: String,
    description: String,
    kind: String,
    tags: String,
    listed_in_directory: bool,
    deleted_at: Option<At>,
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
    fn into_person(self) -> Person {
        let user = UserId::new(self.id);
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
        Person { profile, user, present: self.deleted_at.is_none() }
    }
}

impl AgentColumns {
    fn into_person(self) -> Result<Person, Fault> {
        let profile = Profile {
            id: ParticipantId::Agent(AgentId::new(self.id)),
            handle: self.handle,
            name: self.name,
            email: None,
            description: Some(self.description),
            is_external: Some(self.kind == "external"),
            listed_in_directory: Some(self.listed_in_directory),
            tags: row::json(&self.tags)?,
        };
        Ok(Person { profile, user: UserId::new(self.owner_id), present: self.deleted_at.is_none() })
    }
}

/// The user or agent that has the handle now.
pub(super) async fn person_with_on(mut db: &Db, handle: &Handle) -> Result<Option<Person>, Fault> {
    if handle.is_agents() {
        let found = agents::table
            .filter(agents::handle.eq(handle.as_str()))
            .filter(agents::deleted_at.is_null())
            .select(AgentColumns::as_select())
            .first(&mut db)
            .await
            .optional()?;
        return found.map(AgentColumns::into_person).transpose();
    }
    let found = users::table
        .filter(users::handle.eq(handle.as_str()))
        .filter(users::deleted_at.is_null())
        .select(UserColumns::as_select())
        .first(&mut db)
        .await
        .optional()?;
    Ok(found.map(UserColumns::into_person))
}

/// The users and agents that some rows refer to.
pub(super) struct People(HashMap<Uuid, Person>);

impl People {
    pub(super) fn person(&self, id: Uuid) -> Result<&Person, Fault> {
        self.0.get(&id).ok_or_else(|| Fault::Row("a contact without an account".to_owned()))
    }

    fn party(&self, id: Uuid) -> Result<Party, Fault> {
        let Profile { id, handle, name, .. } = &self.person(id)?.profile;
        Ok(Party { id: *id, handle: handle.clone(), name: name.clone() })
    }
}

/// Looks up all users and agents of a page at once, deleted agents included.
pub(super) async fn people_on(mut db: &Db, ids: impl IntoIterator<Item = Uuid>) -> Result<People, Fault> {
    let mut ids = ids.into_iter().collect::<Vec<_>>();
    if ids.is_empty() {
        return Ok(People(HashMap::new()));
    }
    ids.sort_unstable();
    ids.dedup();
    let mut also = db;
    let named_users = users::table.filter(users::id.eq_any(&ids)).select(UserColumns::as_select());
    let named_agents = agents::table.filter(agents::id.eq_any(&ids)).select(AgentColumns::as_select());
    let (found_users, found_agents) =
        try_join(named_users.load(&mut db), named_agents.load(&mut also)).await?;
    let mut people = HashMap::with_capacity(ids.len());
    people.extend(found_users.into_iter().map(|user| (user.id, user.into_person())));
    for agent in found_agents {
        people.insert(agent.id, agent.into_person()?);
    }
    Ok(People(people))
}

/// Both sides of some requests.
pub(super) async fn people_of_on(db: &Db, requests: &[RequestRow]) -> Result<People, Fault> {
    people_on(db, requests.iter().flat_map(|request| [request.requester_id, request.recipient_id])).await
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = contacts)]
pub(super) struct ContactRow {
    pub(super) id: Uuid,
    pub(super) owner_id: Uuid,
    pub(super) owner_kind: String,
    pub(super) contact_id: Uuid,
    pub(super) contact_kind: String,
    pub(super) request_id: Option<Uuid>,
    pub(super) created_at: At,
}

impl ContactRow {
    pub(super) fn to_contact(&self, people: &People) -> Result<Contact, Fault> {
        Ok(Contact {
            id: ContactId::new(self.id),
            with: people.person(self.contact_id)?.profile.clone(),
            request: self.request_id.map(ContactRequestId::new),
            created_at: self.created_at.0,
        })
    }
}

/// Makes the two sides of `request` contacts; `people` contains both.
pub(super) async fn connect_on(
    mut db: &Db,
    ids: [ContactId; 2],
    request: &RequestRow,
    people: &People,
    now: Timestamp,
) -> Result<Vec<ContactOf>, Fault> {
    let Sides { requester, recipient, .. } = request.sides()?;
    let record = |id: ContactId, owner: ParticipantId, other: ParticipantId| ContactRow {
        id: id.uuid(),
        owner_id: owner.uuid(),
        owner_kind: owner.kind().as_str().to_owned(),
        contact_id: other.uuid(),
        contact_kind: other.kind().as_str().to_owned(),
        request_id: Some(request.id),
        created_at: At(now),
    };
    let rows = [record(ids[0], requester, recipient), record(ids[1], recipient, requester)];
    diesel::insert_into(contacts::table).values(&rows).execute(&mut db).await?;
    let [of_requester, of_recipient] = rows;
    Ok(vec![
        ContactOf { owner: requester, contact: of_requester.to_contact(people)? },
        ContactOf { owner: recipient, contact: of_recipient.to_contact(people)? },
    ])
}
