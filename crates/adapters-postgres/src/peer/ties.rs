//! The ties between a caller and one user or agent.

use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::caller::Caller;
use domain::id::{AccountId, OrganizationId, ParticipantId, ParticipantKind, UserId};
use domain::peer::Ties;
use uuid::Uuid;

use crate::error::Fault;
use crate::row;
use crate::run::Db;
use crate::statement::statement;

/// Kind, owner, organization; whether the other one is global, shared, disabled, a contact; whether
/// the caller sees its siblings.
type TiesTypes = (Text, Nullable<SqlUuid>, SqlUuid, Bool, Bool, Bool, Bool, Bool);
type TiesColumns = (String, Option<Uuid>, Uuid, bool, bool, bool, bool, bool);

/// The values are the caller, the other one, the caller, the other one, the other one.
const TIES: &str = "SELECT other.kind, other.owner_id, other.organization_id, other.is_global, other.is_shared, \
     other.is_disabled, \
     EXISTS (SELECT 1 FROM contacts WHERE owner_id = ? AND contact_id = ?), \
     coalesce((SELECT registry_access FROM agents WHERE id = ?), TRUE) \
     FROM (SELECT 'Agent' AS kind, agents.owner_id, users.organization_id, \
             agents.is_global, agents.shared_with_organization AS is_shared, \
             (agents.disabled_at IS NOT NULL OR users.disabled_at IS NOT NULL) AS is_disabled \
           FROM agents JOIN users ON users.id = agents.owner_id \
           WHERE agents.id = ? AND agents.deleted_at IS NULL \
           UNION ALL \
           SELECT 'User', NULL, organization_id, FALSE, FALSE, disabled_at IS NOT NULL FROM users \
           WHERE id = ? AND deleted_at IS NULL) AS other";

/// The user or agent with the id `other`, and its ties to the caller; `None` if there is none.
pub(crate) async fn ties_on(
    mut db: &Db,
    caller: Caller,
    other: AccountId,
) -> Result<Option<(ParticipantId, Ties)>, Fault> {
    let caller = caller.participant().uuid();
    let found = statement::<TiesTypes>(TIES)
        .bind::<SqlUuid, _>(caller)
        .bind::<SqlUuid, _>(other.uuid())
        .bind::<SqlUuid, _>(caller)
        .bind::<SqlUuid, _>(other.uuid())
        .bind::<SqlUuid, _>(other.uuid())
        .get_result::<TiesColumns>(&mut db)
        .await
        .optional()?;
    let Some((kind, owner, organization, is_global, is_shared, is_disabled, is_contact, sees_siblings)) =
        found
    else {
        return Ok(None);
    };
    let who = row::word(&kind, ParticipantKind::parse)?.with_uuid(other.uuid());
    let ties = Ties {
        owner: owner.map(UserId::new),
        organization: OrganizationId::new(organization),
        is_global,
        is_shared,
        is_disabled,
        is_contact,
        sees_siblings,
    };
    Ok(Some((who, ties)))
}
