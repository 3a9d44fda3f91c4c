//! Removing both records of a contact.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::contact::{NoSuchContact, RemoveContact, RemovedContact, WhichContact};
use domain::id::ContactId;

use super::load::person_with_on;
use crate::error::Fault;
use crate::row::{self, Id};
use crate::schema::contacts;

pub(super) fn remove_on(
    connection: &mut SqliteConnection,
    command: &RemoveContact,
) -> Result<Result<RemovedContact, NoSuchContact>, Fault> {
    let own = row::bytes(command.by.uuid());
    let other = match &command.which {
        WhichContact::With(handle) => {
            person_with_on(connection, handle)?.map(|person| row::bytes(person.profile.id.uuid()))
        }
        WhichContact::Id(id) => Some(contact_named_on(connection, &own, row::bytes(id.uuid()))?),
    };
    let Some(other) = other else { return Ok(Err(NoSuchContact)) };
    let mut sides = Vec::with_capacity(2);
    for (owner, contact) in [(&own, &other), (&other, &own)] {
        let records =
            contacts::table.filter(contacts::owner_id.eq(owner)).filter(contacts::contact_id.eq(contact));
        let removed = diesel::delete(records)
            .returning((contacts::owner_kind, contacts::owner_id, contacts::id))
            .get_result::<(String, Id, Id)>(connection)
            .optional()?;
        if let Some((kind, owner, id)) = removed {
            sides.push((row::participant_id(&kind, owner.0)?, ContactId::new(id.0)));
        }
    }
    Ok(if sides.is_empty() { Err(NoSuchContact) } else { Ok(RemovedContact { sides }) })
}

/// The other side of the caller's record `id`; else the id itself, as that of a user or an agent.
fn contact_named_on(connection: &mut SqliteConnection, own: &[u8], id: Vec<u8>) -> Result<Vec<u8>, Fault> {
    let other = contacts::table
        .find(&id)
        .filter(contacts::owner_id.eq(own))
        .select(contacts::contact_id)
        .get_result::<Vec<u8>>(connection)
        .optional()?;
    Ok(other.unwrap_or(id))
}
