//! The ties between a caller and one user or agent.

use diesel::prelude::*;
use diesel::sql_types::{Binary, Bool, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::caller::Caller;
use domain::id::{AccountId, OrganizationId, ParticipantId, ParticipantKind};
use domain::peer::Ties;

use crate::error::Fault;
use crate::row;

#[derive(QueryableByName)]
struct TiesRow {
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(sql_type = Nullable<Binary>)]
    owner_id: Option<Vec<u8>>,
    #[diesel(sql_type = Binary)]
    organization_id: Vec<u8>,
    #[diesel(sql_type = Bool)]
    is_global: bool,
    #[diesel(sql_type = Bool)]
    is_shared: bool,
    #[diesel(sql_type = Bool)]
    is_disabled: bool,
    #[diesel(sql_type = Bool)]
    is_contact: bool,
    #[diesel(sql_type = Bool)]
    sees_siblings: bool,
}

/// `?1` is the other one, `?2` the caller.
const TIES: &str = "SELECT other.*, \
     EXISTS (SELECT 1 FROM contacts WHERE owner_id = ?2 AND contact_id = ?1) AS is_contact, \
     coalesce((SELECT registry_access FROM agents WHERE id = ?2), TRUE) AS sees_siblings \
     FROM (SELECT 'Agent' AS kind, agents.owner_id, users.organization_id, \
             agents.is_global, agents.shared_with_organization AS is_shared, \
             agents.disabled_at IS NOT NULL OR users.disabled_at IS NOT NULL AS is_disabled \
           FROM agents JOIN users ON users.id = agents.owner_id \
           WHERE agents.id = ?1 AND agents.deleted_at IS NULL \
           UNION ALL \
           SELECT 'User', NULL, organization_id, FALSE, FALSE, disabled_at IS NOT NULL FROM users \
           WHERE id = ?1 AND deleted_at IS NULL) AS other";

/// The user or agent with the id `other`, and its ties to the caller; `None` if there is none.
pub(crate) fn ties_on(
    connection: &mut SqliteConnection,
    caller: Caller,
    other: AccountId,
) -> Result<Option<(ParticipantId, Ties)>, Fault> {
    let found = diesel::sql_query(TIES)
        .bind::<Binary, _>(row::bytes(other.uuid()))
        .bind::<Binary, _>(row::bytes(caller.participant().uuid()))
        .get_result::<TiesRow>(connection)
        .optional()?;
    let Some(found) = found else { return Ok(None) };
    let who = row::word(&found.kind, ParticipantKind::parse)?.with_uuid(other.uuid());
    let ties = Ties {
        owner: found.owner_id.as_deref().map(row::user_id).transpose()?,
        organization: OrganizationId::new(row::uuid(&found.organization_id)?),
        is_global: found.is_global,
        is_shared: found.is_shared,
        is_disabled: found.is_disabled,
        is_contact: found.is_contact,
        sees_siblings: found.sees_siblings,
    };
    Ok(Some((who, ties)))
}
