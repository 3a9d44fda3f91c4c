//! Counting, inside the write that would exceed a quota. Without a limit nothing is counted.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::id::{ChatId, OrganizationId};
use domain::plan::{LimitReached, Resource, check, check_more};

use crate::error::Fault;
use crate::row;
use crate::schema::{chats, organizations, plans};

/// Name of a plan, and one of its limits.
type Limit = (String, Option<i64>);

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// The number of agents of the organization `?1`.
const COUNT_AGENTS: &str = "SELECT count(*) AS number FROM users CROSS JOIN agents INDEXED BY agents_by_owner \
     ON agents.owner_id = users.id AND agents.deleted_at IS NULL WHERE users.organization_id = ?1";
const COUNT_CHATS: &str = "SELECT count(*) AS number FROM chats INDEXED BY chats_of_organization \
     WHERE organization_id = ?1 AND deleted_at IS NULL AND status = 'active'";

/// The number of participants of the chat `?1`.
const COUNT_PARTICIPANTS: &str =
    "SELECT count(*) AS number FROM participants WHERE chat_id = ?1 AND left_at IS NULL";

/// Checks that the organization may have one more agent.
pub(crate) fn agents_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
) -> Result<Result<(), LimitReached>, Fault> {
    one_more_on(connection, organization, Resource::Agents)
}

/// Checks that this many agents may be added to the organization.
pub(crate) fn more_agents_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    more: u64,
) -> Result<Result<(), LimitReached>, Fault> {
    let found = of_organization_on(connection, organization, Resource::Agents)?;
    let Some((plan, limit, current)) = found else { return Ok(Ok(())) };
    Ok(check_more(Resource::Agents, Some(limit.into()), current, more, &plan))
}

/// Checks that the organization may have one more chat.
pub(crate) fn chats_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
) -> Result<Result<(), LimitReached>, Fault> {
    one_more_on(connection, organization, Resource::Chats)
}

/// The number of agents and of active chats of an organization.
pub(crate) fn used_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
) -> Result<(u64, u64), Fault> {
    let mut count = |text| {
        let counted = diesel::sql_query(text).bind::<Binary, _>(row::bytes(organization.uuid()));
        counted.get_result::<Counted>(connection).map(|counted| counted.number.cast_unsigned())
    };
    Ok((count(COUNT_AGENTS)?, count(COUNT_CHATS)?))
}

/// Checks that the chat may have one more participant.
pub(crate) fn participants_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
) -> Result<Result<(), LimitReached>, Fault> {
    let id = row::bytes(chat.uuid());
    let limit = chats::table
        .inner_join(organizations::table.on(chats::organization_id.eq(organizations::id.nullable())))
        .inner_join(plans::table.on(plans::name.eq(organizations::plan)))
        .filter(chats::id.eq(&id))
        .select((plans::name, plans::participants))
        .get_result::<Limit>(connection)
        .optional()?;
    let Some((plan, Some(limit))) = limit else { return Ok(Ok(())) };
    let counted = diesel::sql_query(COUNT_PARTICIPANTS).bind::<Binary, _>(&id);
    let current = counted.get_result::<Counted>(connection)?.number.cast_unsigned();
    Ok(check(Resource::Participants, Some(limit_of(limit).into()), current, &plan, Some(chat)))
}

/// Checks that the organization of a chat may store more bytes.
pub(crate) fn chat_bytes_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
) -> Result<Result<(), LimitReached>, Fault> {
    let of = chats::table.find(row::bytes(chat.uuid())).select(chats::organization_id);
    let Some(id) = of.get_result::<Option<Vec<u8>>>(connection).optional()?.flatten() else {
        return Ok(Ok(()));
    };
    bytes_on(connection, OrganizationId::new(row::uuid(&id)?))
}

/// Checks that the organization may store more bytes, by the last stored sum.
pub(crate) fn bytes_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
) -> Result<Result<(), LimitReached>, Fault> {
    let found = organizations::table
        .inner_join(plans::table.on(plans::name.eq(organizations::plan)))
        .filter(organizations::id.eq(row::bytes(organization.uuid())))
        .select((plans::name, plans::bytes, organizations::content_bytes))
        .get_result::<(String, Option<i64>, i64)>(connection)
        .optional()?;
    let Some((plan, limit, kept)) = found else { return Ok(Ok(())) };
    Ok(check(Resource::Bytes, limit.map(bytes_of), bytes_of(kept), &plan, None))
}

fn one_more_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    resource: Resource,
) -> Result<Result<(), LimitReached>, Fault> {
    let found = of_organization_on(connection, organization, resource)?;
    let Some((plan, limit, current)) = found else { return Ok(Ok(())) };
    Ok(check(resource, Some(limit.into()), current, &plan, None))
}

/// The plan, its limit, and the count; `None` without a limit.
fn of_organization_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    resource: Resource,
) -> Result<Option<(String, u32, u64)>, Fault> {
    let id = row::bytes(organization.uuid());
    let of = organizations::table
        .inner_join(plans::table.on(plans::name.eq(organizations::plan)))
        .filter(organizations::id.eq(&id));
    let (limit, count) = match resource {
        Resource::Agents => {
            (of.select((plans::name, plans::agents)).get_result::<Limit>(connection), COUNT_AGENTS)
        }
        _ => (of.select((plans::name, plans::chats)).get_result::<Limit>(connection), COUNT_CHATS),
    };
    let Some((plan, Some(limit))) = limit.optional()? else { return Ok(None) };
    let current = diesel::sql_query(count).bind::<Binary, _>(&id).get_result::<Counted>(connection)?.number;
    Ok(Some((plan, limit_of(limit), current.cast_unsigned())))
}

/// The value of a column as bytes.
pub(crate) fn bytes_of(column: i64) -> u64 {
    u64::try_from(column).unwrap_or(0)
}

/// The value of a column as a limit.
pub(crate) fn limit_of(column: i64) -> u32 {
    u32::try_from(column).unwrap_or(if column < 0 { 0 } else { u32::MAX })
}
