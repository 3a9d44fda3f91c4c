//! The agents of an owner, sorted and filtered.
//!
//! Every order has its index. No index supports a case-insensitive search for a part of a name; the
//! owner's agents are then read one by one.

use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use domain::account::{Agent, AgentListing, AgentSort};
use domain::id::UserId;
use domain::page::{Order, Page, PageRequest, Position};

use super::row::AgentRow;
use crate::error::Fault;
use crate::row;
use crate::schema::agents;

pub(super) fn agents_on(
    connection: &mut SqliteConnection,
    owner: UserId,
    listing: &AgentListing,
    page: PageRequest,
) -> Result<Page<Agent>, Fault> {
    let name = listing.name.as_ref();
    let wanted = |row: &AgentRow| name.is_none_or(|part| part.is_in([row.name.as_str()]));
    let total = match (page.count, name) {
        (false, _) => None,
        (true, None) => {
            Some(of(owner, listing).select(count_star()).get_result::<i64>(connection)?.cast_unsigned())
        }
        (true, Some(_)) => {
            let names = of(owner, listing).select(AgentRow::as_select());
            let mut total = 0;
            for agent in names.load_iter::<AgentRow, diesel::connection::DefaultLoadingMode>(connection)? {
                total += u64::from(wanted(&agent?));
            }
            Some(total)
        }
    };
    let sorted = sorted(owner, listing, &page);
    let limit = page.slice.limit() as usize;
    let mut passed = page.slice.offset();
    let mut rows = Vec::new();
    for agent in sorted.load_iter::<AgentRow, diesel::connection::DefaultLoadingMode>(connection)? {
        let agent = agent?;
        if !wanted(&agent) {
            continue;
        }
        if passed > 0 {
            passed -= 1;
            continue;
        }
        rows.push(agent.into_agent()?);
        if rows.len() > limit {
            break;
        }
    }
    Ok(Page::from_overfetch(rows, &page, total, |agent| position(listing.sort, agent)))
}

fn position(sort: AgentSort, agent: &Agent) -> Position {
    let id = agent.id.into();
    match sort {
        AgentSort::Name => Position { key: 0, text: agent.name.as_str().to_owned(), id },
        AgentSort::Created => Position::at(agent.created_at.micros(), id),
        AgentSort::Updated => Position::at(agent.updated_at.micros(), id),
    }
}

type Boxed<'a> = agents::BoxedQuery<'a, Sqlite>;

/// The owner's agents that match the conditions on columns.
fn of(owner: UserId, listing: &AgentListing) -> Boxed<'static> {
    let mut rows = agents::table
        .filter(agents::owner_id.eq(row::bytes(owner.uuid())))
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
fn sorted(
    owner: UserId,
    listing: &AgentListing,
    page: &PageRequest,
) -> diesel::dsl::Select<Boxed<'static>, diesel::dsl::AsSelect<AgentRow, Sqlite>> {
    let (column, direction, beyond) = match (listing.sort, listing.order) {
        (AgentSort::Name, Order::Ascending) => ("name COLLATE NOCASE", "ASC", ">"),
        (AgentSort::Name, Order::Descending) => ("name COLLATE NOCASE", "DESC", "<"),
        (AgentSort::Created, Order::Ascending) => ("created_at", "ASC", ">"),
        (AgentSort::Created, Order::Descending) => ("created_at", "DESC", "<"),
        (AgentSort::Updated, Order::Ascending) => ("updated_at", "ASC", ">"),
        (AgentSort::Updated, Order::Descending) => ("updated_at", "DESC", "<"),
    };
    let mut rows = of(owner, listing);
    if let Some(Position { key, text, id }) = page.slice.after() {
        // The first condition is redundant; it lets the index scan start at the right row.
        let after = format!("{column} {beyond}= ");
        let tie = format!("({column}, id) {beyond} (");
        rows = match listing.sort {
            AgentSort::Name => rows.filter(sql::<Bool>(&after).bind::<Text, _>(text.clone())).filter(
                sql::<Bool>(&tie)
                    .bind::<Text, _>(text)
                    .sql(", ")
                    .bind::<Binary, _>(row::bytes(id.uuid()))
                    .sql(")"),
            ),
            AgentSort::Created | AgentSort::Updated => {
                rows.filter(sql::<Bool>(&after).bind::<BigInt, _>(key)).filter(
                    sql::<Bool>(&tie)
                        .bind::<BigInt, _>(key)
                        .sql(", ")
                        .bind::<Binary, _>(row::bytes(id.uuid()))
                        .sql(")"),
                )
            }
        };
    }
    let order = sql::<Text>(&format!("{column} {direction}, id {direction}"));
    rows.order(order).select(AgentRow::as_select())
}
