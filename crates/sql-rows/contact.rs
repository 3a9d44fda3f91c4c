//! Requests and contacts as rows, with both sides. Compiled into each store, whose tables it names.

use std::collections::HashMap;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use domain::account::PersonName;
use domain::contact::request::{Sending, Sides};
use domain::contact::{
    Contact, ContactOf, ContactRequest, NewRequest, Party, Profile, RequestMessage, RequestStatus,
};
use domain::id::{AgentId, ContactId, ContactRequestId, ParticipantId, UserId};
use domain::page::{Page, PageRequest, Position};
use domain::text::NamePart;
use domain::time::Timestamp;
use uuid::Uuid;

use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::{agents, contact_requests, contacts, users};

/// A page of contacts, of which `name` chooses some. Without a name, the rows are those of the page and one more.
pub(super) fn page_of_contacts(
    mut rows: Vec<Contact>,
    name: Option<&NamePart>,
    page: &PageRequest,
    total: Option<u64>,
) -> Page<Contact> {
    let position = |contact: &Contact| Position::at(contact.created_at.micros(), contact.id);
    let Some(name) = name else { return Page::from_overfetch(rows, page, total, position) };
    rows.retain(|contact| {
        let with = &contact.with;
        name.is_in([with.name.as_str(), with.handle.as_str()])
    });
    Page::of_all(rows, page, position)
}

/// Selects pending requests with the exact condition of the partial indexes.
pub(super) fn is_pending() -> diesel::expression::SqlLiteral<Bool> {
    sql::<Bool>("contact_requests.status = 'pending'")
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = contact_requests)]
pub(super) struct RequestRow {
    pub(super) id: Id,
    pub(super) requester_id: Id,
    pub(super) requester_kind: String,
    pub(super) requester_user_id: Id,
    pub(super) recipient_id: Id,
    pub(super) recipient_kind: String,
    pub(super) recipient_user_id: Id,
    pub(super) message: Option<String>,
    pub(super) status: String,
    pub(super) created_at: At,
    pub(super) responded_at: Option<At>,
}

impl RequestRow {
    /// The record of a new request, as it was decided.
    pub(super) fn of(new: &NewRequest, other: &Person, decided: Sending) -> Self {
        let (status, responded_at) = match decided {
            Sending::Ask => (RequestStatus::Pending, None),
            Sending::Approve => (RequestStatus::Approved, Some(At(new.now))),
        };
        let (own, theirs) = (new.by.participant(), other.profile.id);
        Self {
            id: Id(new.id.uuid()),
            requester_id: Id(own.uuid()),
            requester_kind: own.kind().as_str().to_owned(),
            requester_user_id: Id(new.by.accountable_user().uuid()),
            recipient_id: Id(theirs.uuid()),
            recipient_kind: theirs.kind().as_str().to_owned(),
            recipient_user_id: Id(other.user.uuid()),
            message: new.message.as_ref().map(RequestMessage::as_str).map(str::to_owned),
            status: status.as_str().to_owned(),
            created_at: At(new.now),
            responded_at,
        }
    }

    pub(super) fn stored_status(&self) -> Result<RequestStatus, Fault> {
        row::word(&self.status, RequestStatus::parse)
    }

    pub(super) fn is_over_age(&self, expired_until: Timestamp) -> bool {
        self.created_at.0 <= expired_until
    }

    pub(super) fn sides(&self) -> Result<Sides, Fault> {
        Ok(Sides {
            requester: row::participant_id(&self.requester_kind, self.requester_id.0)?,
            requester_user: UserId::new(self.requester_user_id.0),
            recipient: row::participant_id(&self.recipient_kind, self.recipient_id.0)?,
            recipient_user: UserId::new(self.recipient_user_id.0),
        })
    }

    /// The ids of both sides.
    pub(super) fn ids(&self) -> [Uuid; 2] {
        [self.requester_id.0, self.recipient_id.0]
    }

    /// The request, with those sent until `expired_until` counted as expired.
    pub(super) fn to_request(
        &self,
        people: &People,
        expired_until: Timestamp,
    ) -> Result<ContactRequest, Fault> {
        let created_at = self.created_at.0;
        Ok(ContactRequest {
            id: ContactRequestId::new(self.id.0),
            requester: people.party(self.requester_id.0)?,
            recipient: people.party(self.recipient_id.0)?,
            message: self.message.clone(),
            status: self.stored_status()?.at(created_at, expired_until),
            created_at,
            responded_at: self.responded_at.map(|at| at.0),
        })
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = users)]
pub(super) struct UserColumns {
    id: Id,
    handle: String,
    email: String,
    first_name: String,
    last_name: String,
    deleted_at: Option<At>,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = agents)]
pub(super) struct AgentColumns {
    id: Id,
    owner_id: Id,
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
    pub(super) fn into_person(self) -> Person {
        let user = UserId::new(self.id.0);
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
    pub(super) fn into_person(self) -> Result<Person, Fault> {
        let profile = Profile {
            id: ParticipantId::Agent(AgentId::new(self.id.0)),
            handle: self.handle,
            name: self.name,
            email: None,
            description: Some(self.description),
            is_external: Some(self.kind == "external"),
            listed_in_directory: Some(self.listed_in_directory),
            tags: row::json(&self.tags)?,
        };
        Ok(Person { profile, user: UserId::new(self.owner_id.0), present: self.deleted_at.is_none() })
    }
}

/// The users and agents that some rows refer to.
pub(super) struct People(HashMap<Uuid, Person>);

impl People {
    pub(super) fn of(users: Vec<UserColumns>, agents: Vec<AgentColumns>) -> Result<Self, Fault> {
        let mut people = HashMap::with_capacity(users.len() + agents.len());
        people.extend(users.into_iter().map(|user| (user.id.0, user.into_person())));
        for agent in agents {
            people.insert(agent.id.0, agent.into_person()?);
        }
        Ok(Self(people))
    }

    pub(super) fn person(&self, id: Uuid) -> Result<&Person, Fault> {
        self.0.get(&id).ok_or_else(|| Fault::Row("a contact without an account".to_owned()))
    }

    fn party(&self, id: Uuid) -> Result<Party, Fault> {
        let Profile { id, handle, name, .. } = &self.person(id)?.profile;
        Ok(Party { id: *id, handle: handle.clone(), name: name.clone() })
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = contacts)]
pub(super) struct ContactRow {
    pub(super) id: Id,
    pub(super) owner_id: Id,
    pub(super) owner_kind: String,
    pub(super) contact_id: Id,
    pub(super) contact_kind: String,
    pub(super) request_id: Option<Id>,
    pub(super) created_at: At,
}

impl ContactRow {
    pub(super) fn to_contact(&self, people: &People) -> Result<Contact, Fault> {
        Ok(Contact {
            id: ContactId::new(self.id.0),
            with: people.person(self.contact_id.0)?.profile.clone(),
            request: self.request_id.map(|id| ContactRequestId::new(id.0)),
            created_at: self.created_at.0,
        })
    }
}

/// The records of both sides of a request that is approved, the requester's first.
pub(super) fn records_of(
    ids: [ContactId; 2],
    request: &RequestRow,
    now: Timestamp,
) -> Result<[ContactRow; 2], Fault> {
    let Sides { requester, recipient, .. } = request.sides()?;
    let record = |id: ContactId, owner: ParticipantId, other: ParticipantId| ContactRow {
        id: Id(id.uuid()),
        owner_id: Id(owner.uuid()),
        owner_kind: owner.kind().as_str().to_owned(),
        contact_id: Id(other.uuid()),
        contact_kind: other.kind().as_str().to_owned(),
        request_id: Some(request.id),
        created_at: At(now),
    };
    Ok([record(ids[0], requester, recipient), record(ids[1], recipient, requester)])
}

/// The contacts that these records make; `people` contains both.
pub(super) fn contacts_of(
    request: &RequestRow,
    records: &[ContactRow; 2],
    people: &People,
) -> Result<Vec<ContactOf>, Fault> {
    let Sides { requester, recipient, .. } = request.sides()?;
    let [of_requester, of_recipient] = records;
    Ok(vec![
        ContactOf { owner: requester, contact: of_requester.to_contact(people)? },
        ContactOf { owner: recipient, contact: of_recipient.to_contact(people)? },
    ])
}
