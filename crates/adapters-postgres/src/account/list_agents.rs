//! The agents of an owner, sorted and filtered.
//!
//! Every order has its index. No index supports a case-insensitive search for a part of a name; the
//! owner's agents are then read one by one.

use diesel::dsl::{count_star, sql};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::account::{Agent, AgentListing, AgentSort};
use domain::id::UserId;
use domain::page::{Order, Page, PageRequest, Position};
use domain::text::NamePart;
use domain::time::Timestamp;
use futures_util::TryStreamExt;
use futures_util::future::try_join;

use super::row::AgentRow;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::agents;

/// Two statements if the agents are counted too, else one.
pub(super) async fn agents_on(
    db: &Db,
    owner: UserId,
    listing: &AgentListing,
    page: &PageRequest,
) -> Result<Page<Agent>, Fault> {
    let name = listing.name.as_ref();
    let total = async {
        Ok(match (page.count, name) {
            (false, _) => None,
            (true, None) => Some(count_on(db, owner, listing).await?),
            (true, Some(part)) => Some(count_named_on(db, owner, listing, part).await?),
        })
    };
    let rows = async {
        match name {
            None => page_on(db, owner, listing, page).await,
            Some(part) => named_on(db, owner, listing, page, part).await,
        }
    };
    let (total, rows) = try_join(total, rows).await?;
    let rows = rows.into_iter().map(AgentRow::into_agent).collect::<Result<Vec<_>, _>>()?;
    Ok(Page::from_overfetch(rows, page, total, |agent| position(listing.sort, agent)))
}

async fn count_on(mut db: &Db, owner: UserId, listing: &AgentListing) -> Result<u64, Fault> {
    let counted = of(owner, listing).select(count_star()).first::<i64>(&mut db).await?;
    Ok(counted.cast_unsigned())
}

async fn count_named_on(
    mut db: &Db,
    owner: UserId,
    listing: &AgentListing,
    part: &NamePart,
) -> Result<u64, Fault> {
    let mut names = of(owner, listing).select(agents::name).load_stream::<String>(&mut db).await?;
    let mut total = 0;
    while let Some(name) = names.try_next().await? {
        total += u64::from(part.is_in([name.as_str()]));
    }
    Ok(total)
}

/// The rows of a page and one more.
async fn page_on(
    mut db: &Db,
    owner: UserId,
    listing: &AgentListing,
    page: &PageRequest,
) -> Result<Vec<AgentRow>, Fault> {
    let rows = sorted(owner, listing, page)
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(AgentRow::as_select());
    Ok(rows.load(&mut db).await?)
}

/// The rows of a page among agents whose name contains `part`; no more than these are in memory.
async fn named_on(
    mut db: &Db,
    owner: UserId,
    listing: &AgentListing,
    page: &PageRequest,
    part: &NamePart,
) -> Result<Vec<AgentRow>, Fault> {
    let sorted = sorted(owner, listing, page).select(AgentRow::as_select());
    let mut sorted = sorted.load_stream::<AgentRow>(&mut db).await?;
    let limit = page.slice.limit() as usize;
    let mut passed = page.slice.offset();
    let mut rows = Vec::new();
    while let Some(agent) = sorted.try_next().await? {
        if !part.is_in([agent.name.as_str()]) {
            continue;
        }
        if passed > 0 {
            passed -= 1;
            continue;
        }
        rows.push(agent);
        if rows.len() > limit {
            break;
        }
    }
    Ok(rows)
}

fn position(sort: AgentSort, agent: &Agent) -> Position {
    let id = agent.id.into();
    match sort {
        AgentSort::Name => Position { key: 0, text: agent.name.as_str().to_owned(), id },
        AgentSort::Created => Position::at(agent.created_at.micros(), id),
        AgentSort::Updated => Position::at(agent.updated_at.micros(), id),
    }
}

type Boxed = agents::BoxedQuery<'static, Pg>;

/// The owner's agents that match the conditions on columns.
fn of(owner: UserId, listing: &AgentListing) -> Boxed {
    let mut rows = agents::table
        .filter(agents::owner_id.eq(owner.uuid()))
        .filter(agents::deleted_at.is_null())
        .into_boxed();
    if let Some(listed) = listing.listed_in_directory {
        rows = rows.filter(agents::listed_in_directory.eq(listed));
    }
    match listing.is_external {
        Some(true) => rows.filter(agents::kind.eq("external")),
        Some(false) => rows.filter(agents::kind.ne("external")),
        None => rows,
    }
}

/// The owner's agents in the requested order, starting at the position of the page.
fn sorted(owner: UserId, listing: &AgentListing, page: &PageRequest) -> Boxed {
    let column = match listing.sort {
        AgentSort::Name => "lower(name)",
        AgentSort::Created => "created_at",
        AgentSort::Updated => "updated_at",
    };
    let (direction, beyond) = match listing.order {
        Order::Ascending => ("ASC", ">"),
        Order::Descending => ("DESC", "<"),
    };
    let mut rows = of(owner, listing);
    if let Some(Position { key, text, id }) = page.slice.after() {
        let after = sql::<Bool>(&format!("({column}, id) {beyond} ("));
        rows = match listing.sort {
            AgentSort::Name => rows.filter(
                // Without the collation, the value would be lower-cased in the locale of the
                // database.
                after
                    .sql("lower(")
                    .bind::<Text, _>(text)
                    .sql(" COLLATE \"C\"), ")
                    .bind::<SqlUuid, _>(id.uuid())
                    .sql(")"),
            ),
            AgentSort::Created | AgentSort::Updated => {
                let key = At(Timestamp::from_micros(key));
                rows.filter(
                    after.bind::<Timestamptz, _>(key).sql(", ").bind::<SqlUuid, _>(id.uuid()).sql(")"),
                )
            }
        };
    }
    rows.order(sql::<Text>(&format!("{column} {direction}, id {direction}")))
}
