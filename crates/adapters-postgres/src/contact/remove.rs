//! Removing both records of a contact.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::contact::{NoSuchContact, RemoveContact, RemovedContact, WhichContact};
use domain::id::{AgentId, ContactId, ParticipantId, UserId};
use uuid::Uuid;

use super::load::person_with_on;
use crate::error::Fault;
use crate::lock;
use crate::row;
use crate::run::Db;
use crate::schema::contacts;

pub(super) async fn remove_on(
    mut db: &Db,
    command: &RemoveContact,
) -> Result<Result<RemovedContact, NoSuchContact>, Fault> {
    let own = command.by.uuid();
    let other = match &command.which {
        WhichContact::With(handle) => {
            person_with_on(db, handle).await?.map(|person| person.profile.id.uuid())
        }
        WhichContact::Id(id) => Some(contact_named_on(db, own, id.uuid()).await?),
    };
    let Some(other) = other else { return Ok(Err(NoSuchContact)) };
    // A given id may be that of a user or an agent.
    let both = [ParticipantId::User(UserId::new(other)), ParticipantId::Agent(AgentId::new(other))];
    lock::parties_on(db, &[command.by, both[0], both[1]]).await?;
    let of_own = contacts::owner_id.eq(own).and(contacts::contact_id.eq(other));
    let of_other = contacts::owner_id.eq(other).and(contacts::contact_id.eq(own));
    let mut removed = diesel::delete(contacts::table.filter(of_own.or(of_other)))
        .returning((contacts::owner_kind, contacts::owner_id, contacts::id))
        .get_results::<(String, Uuid, Uuid)>(&mut db)
        .await?;
    if removed.is_empty() {
        return Ok(Err(NoSuchContact));
    }
    removed.sort_by_key(|(_, owner, _)| *owner != own);
    let side = |(kind, owner, id): (String, Uuid, Uuid)| {
        Ok((row::participant_id(&kind, owner)?, ContactId::new(id)))
    };
    let sides = removed.into_iter().map(side).collect::<Result<_, Fault>>()?;
    Ok(Ok(RemovedContact { sides }))
}

/// The other side of the caller's record `id`; else the id itself, as that of a user or an agent.
async fn contact_named_on(mut db: &Db, own: Uuid, id: Uuid) -> Result<Uuid, Fault> {
    let other = contacts::table
        .find(id)
        .filter(contacts::owner_id.eq(own))
        .select(contacts::contact_id)
        .first::<Uuid>(&mut db)
        .await
        .optional()?;
    Ok(other.unwrap_or(id))
}
