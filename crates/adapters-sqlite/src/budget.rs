//! The store of budgets.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::budget::{
    Amount, Budget, BudgetLevel, BudgetRepository, BudgetScope, BudgetTenants, BudgetUse, Budgets,
    ExceededBudgets, NewCounts, SetBudgets,
};
use domain::id::{AgentId, ChatId, MessageId, OrganizationId, ParticipantId, SubjectId};
use domain::message::{DueHold, Message};
use domain::organization::NotAdmin;
use domain::store::StoreError;
use domain::time::Timestamp;
use domain::usage::Day;

use crate::error::Fault;
use crate::organization::member::check_on;
use crate::row::{self, At, Id};
use crate::statement::statement;
use crate::{SqliteStore, audit};

#[async_trait]
impl BudgetRepository for SqliteStore {
    async fn budgets_of(&self, organization: OrganizationId) -> Result<Budgets, StoreError> {
        self.read(move |connection| of_on(connection, organization)).await
    }

    async fn set_budgets(&self, command: SetBudgets) -> Result<Result<Budgets, NotAdmin>, StoreError> {
        self.change(move |connection| set_on(connection, &command), |_| ()).await
    }

    async fn budget_tenants(
        &self,
        rooms: Vec<ChatId>,
        senders: Vec<ParticipantId>,
    ) -> Result<BudgetTenants, StoreError> {
        self.read(move |connection| tenants_on(connection, &rooms, &senders)).await
    }

    async fn add_texts(&self, counts: NewCounts, since: Day) -> Result<(), StoreError> {
        self.alter(move |connection| add_on(connection, &counts, since)).await
    }

    async fn count_budgets(&self, found: Vec<BudgetUse>) -> Result<Vec<BudgetUse>, StoreError> {
        let count = |connection: &mut SqliteConnection, of: BudgetUse| {
            Ok(BudgetUse { used: used_on(connection, &of)?, ..of })
        };
        self.read(move |connection| found.into_iter().map(|of| count(connection, of)).collect()).await
    }

    async fn record_budgets(&self, found: Vec<BudgetUse>, now: Timestamp) -> Result<(), StoreError> {
        self.alter(move |connection| found.iter().try_for_each(|of| record_on(connection, of, now))).await
    }

    async fn exceeded_budgets(&self, day: Day) -> Result<Option<ExceededBudgets>, StoreError> {
        self.read(move |connection| exceeded_on(connection, day)).await
    }
}

fn of_on(connection: &mut SqliteConnection, organization: OrganizationId) -> Result<Budgets, Fault> {
    let rows = statement!("SELECT budget, amount FROM budgets WHERE organization_id = ?" => (Text, BigInt));
    let rows = rows.bind::<Binary, _>(Id(organization.uuid())).load::<(String, i64)>(connection)?;
    let mut budgets = Budgets::default();
    for (budget, amount) in rows {
        budgets.set(row::word(&budget, Budget::parse)?, Amount::new(amount.cast_unsigned()));
    }
    Ok(budgets)
}

fn set_on(
    connection: &mut SqliteConnection,
    command: &SetBudgets,
) -> Result<Result<Budgets, NotAdmin>, Fault> {
    if let Err(refused) = check_on(connection, command.by)? {
        return Ok(Err(refused));
    }
    let organization = command.by.organization();
    audit::append_on(connection, AuditEntry::budgets_set(command))?;
    for (budget, amount) in &command.changes {
        let (id, budget) = (Id(organization.uuid()), budget.as_str());
        let Some(given) = amount else {
            for gone in [
                "DELETE FROM budgets WHERE organization_id = ? AND budget = ?",
                "DELETE FROM budget_levels WHERE organization_id = ? AND budget = ?",
            ] {
                let gone = diesel::sql_query(gone).bind::<Binary, _>(id).bind::<Text, _>(budget);
                gone.execute(connection)?;
            }
            continue;
        };
        let (amount, warning) = (given.get().cast_signed(), given.warning(given.get()).cast_signed());
        statement!(
            "INSERT INTO budgets (organization_id, budget, amount) VALUES (?, ?, ?) \
             ON CONFLICT (organization_id, budget) DO UPDATE SET amount = excluded.amount"
        )
        .bind::<Binary, _>(id)
        .bind::<Text, _>(budget)
        .bind::<BigInt, _>(amount)
        .execute(connection)?;
        statement!(
            "UPDATE budget_levels SET exceeded_at = NULL, \
             warned_at = CASE WHEN used >= ? THEN warned_at END \
             WHERE organization_id = ? AND budget = ? AND used < ?"
        )
        .bind::<BigInt, _>(warning)
        .bind::<Binary, _>(id)
        .bind::<Text, _>(budget)
        .bind::<BigInt, _>(amount)
        .execute(connection)?;
    }
    of_on(connection, organization).map(Ok)
}

fn tenants_on(
    connection: &mut SqliteConnection,
    rooms: &[ChatId],
    senders: &[ParticipantId],
) -> Result<BudgetTenants, Fault> {
    let mut tenants = BudgetTenants::default();
    for room in rooms {
        let found = statement!("SELECT organization_id FROM chats WHERE id = ?" => Nullable<Binary>);
        let found =
            found.bind::<Binary, _>(Id(room.uuid())).get_result::<Option<Id>>(connection).optional()?;
        tenants.rooms.extend(found.flatten().map(|id| (*room, OrganizationId::new(id.0))));
    }
    for sender in senders {
        let found = match sender {
            ParticipantId::User(user) => {
                statement!("SELECT organization_id FROM users WHERE id = ?" => Binary)
                    .bind::<Binary, _>(Id(user.uuid()))
                    .get_result::<Id>(connection)
            }
            ParticipantId::Agent(agent) => statement!(
                "SELECT organization_id FROM agents JOIN users ON users.id = owner_id WHERE agents.id = ?" => Binary
            )
            .bind::<Binary, _>(Id(agent.uuid()))
            .get_result::<Id>(connection),
        };
        tenants.senders.extend(found.optional()?.map(|id| (*sender, OrganizationId::new(id.0))));
    }
    for organization in tenants.rooms.values().chain(tenants.senders.values()) {
        if tenants.budgets.contains_key(organization) {
            continue;
        }
        tenants.budgets.insert(*organization, of_on(connection, *organization)?);
    }
    tenants.budgets.retain(|_, budgets| *budgets != Budgets::default());
    Ok(tenants)
}

fn add_on(connection: &mut SqliteConnection, counts: &NewCounts, since: Day) -> Result<(), Fault> {
    for count in &counts.texts {
        statement!(
            "INSERT INTO text_counts (day, organization_id, sender_id, chat_id, texts) VALUES (?, ?, ?, ?, ?) \
             ON CONFLICT (day, organization_id, sender_id, chat_id) DO UPDATE SET texts = texts + excluded.texts"
        )
        .bind::<BigInt, _>(count.day.number())
        .bind::<Binary, _>(Id(count.organization.uuid()))
        .bind::<Binary, _>(Id(count.sender.uuid()))
        .bind::<Binary, _>(Id(count.chat.uuid()))
        .bind::<BigInt, _>(i64::from(count.texts))
        .execute(connection)?;
    }
    for count in &counts.trees {
        statement!(
            "INSERT INTO tree_counts (root_id, day, texts) VALUES (?, ?, ?) ON CONFLICT (root_id) DO UPDATE \
             SET day = max(day, excluded.day), texts = texts + excluded.texts"
        )
        .bind::<Binary, _>(Id(count.root.uuid()))
        .bind::<BigInt, _>(count.day.number())
        .bind::<BigInt, _>(i64::from(count.texts))
        .execute(connection)?;
    }
    let old = statement!(
        "DELETE FROM text_counts WHERE (day, organization_id, sender_id, chat_id) IN (SELECT day, organization_id, \
         sender_id, chat_id FROM text_counts WHERE day < ? LIMIT 1000)"
    );
    old.bind::<BigInt, _>(since.number()).execute(connection)?;
    let old = statement!(
        "DELETE FROM budget_levels WHERE (subject_id, budget) IN (SELECT subject_id, budget FROM budget_levels \
         INDEXED BY budget_levels_of_day WHERE day > ? AND day < ? LIMIT 1000)"
    );
    old.bind::<BigInt, _>(BudgetUse::ALWAYS.number())
        .bind::<BigInt, _>(since.number())
        .execute(connection)?;
    for of_old_trees in [
        "DELETE FROM budget_levels WHERE subject_id IN (SELECT root_id FROM tree_counts WHERE day < ? \
         ORDER BY day, root_id LIMIT 1000)",
        "DELETE FROM tree_counts WHERE root_id IN (SELECT root_id FROM tree_counts WHERE day < ? \
         ORDER BY day, root_id LIMIT 1000)",
    ] {
        let since = since.minus(BudgetUse::TREE_DAYS).number();
        diesel::sql_query(of_old_trees).bind::<BigInt, _>(since).execute(connection)?;
    }
    Ok(())
}

/// The tokens of the reports that match, at most 2^53 - 1.
macro_rules! tokens {
    ($matching:literal) => {
        statement!(
            "SELECT CAST(min(total(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens), \
             9007199254740991.0) AS INTEGER) FROM token_usage WHERE ",
            $matching
            => BigInt
        )
    };
}

/// The texts that match.
macro_rules! texts {
    ($matching:literal) => {
        statement!("SELECT coalesce(sum(texts), 0) FROM text_counts WHERE ", $matching => BigInt)
    };
}

fn used_on(connection: &mut SqliteConnection, of: &BudgetUse) -> Result<u64, Fault> {
    let (subject, organization) = (Id(of.subject.uuid()), Id(of.organization.uuid()));
    let day = of.day.number();
    let used = match of.budget {
        Budget::TreeMessages => {
            statement!("SELECT coalesce(sum(texts), 0) + 1 FROM tree_counts WHERE root_id = ?" => BigInt)
                .bind::<Binary, _>(subject)
                .get_result::<i64>(connection)
        }
        Budget::TreeTokens => {
            tokens!("root_id = ?").bind::<Binary, _>(subject).get_result::<i64>(connection)
        }
        // Otherwise, SQLite reads all that is counted on the day.
        Budget::RoomMessages => statement!(
            "SELECT coalesce(sum(texts), 0) FROM text_counts INDEXED BY text_counts_of_room WHERE chat_id = ? AND day = ?"
            => BigInt
        )
            .bind::<Binary, _>(subject)
            .bind::<BigInt, _>(day)
            .get_result::<i64>(connection),
        Budget::RoomTokens => tokens!("chat_id = ? AND day = ?")
            .bind::<Binary, _>(subject)
            .bind::<BigInt, _>(day)
            .get_result::<i64>(connection),
        Budget::AgentMessages => texts!("day = ? AND organization_id = ? AND sender_id = ?")
            .bind::<BigInt, _>(day)
            .bind::<Binary, _>(organization)
            .bind::<Binary, _>(subject)
            .get_result::<i64>(connection),
        Budget::AgentTokens => {
            tokens!("organization_id = ? AND day = ? AND owner_id = (SELECT owner_id FROM agents WHERE id = ?) AND agent_id = ?")
                .bind::<Binary, _>(organization)
                .bind::<BigInt, _>(day)
                .bind::<Binary, _>(subject)
                .bind::<Binary, _>(subject)
                .get_result::<i64>(connection)
        }
        Budget::OrganizationMessages => texts!("day = ? AND organization_id = ?")
            .bind::<BigInt, _>(day)
            .bind::<Binary, _>(organization)
            .get_result::<i64>(connection),
        Budget::OrganizationTokens => tokens!("organization_id = ? AND day = ?")
            .bind::<Binary, _>(organization)
            .bind::<BigInt, _>(day)
            .get_result::<i64>(connection),
    };
    Ok(used?.cast_unsigned())
}

fn record_on(connection: &mut SqliteConnection, of: &BudgetUse, now: Timestamp) -> Result<(), Fault> {
    type Level = (i64, i64, Option<i64>, Option<At>, Option<At>, Option<At>);
    // It may have been changed or removed since.
    let Some(amount) = of_on(connection, of.organization)?.get(of.budget) else { return Ok(()) };
    let of = &BudgetUse { amount, ..*of };
    let stored = statement!(
        "SELECT day, used, allowed, warned_at, exceeded_at, noticed_at FROM budget_levels WHERE subject_id = ? AND budget = ?"
        => (BigInt, BigInt, Nullable<BigInt>, Nullable<BigInt>, Nullable<BigInt>, Nullable<BigInt>)
    );
    let stored = stored
        .bind::<Binary, _>(Id(of.subject.uuid()))
        .bind::<Text, _>(of.budget.as_str())
        .get_result::<Level>(connection)
        .optional()?;
    let level = |(day, used, allowed, warned, exceeded, noticed): Level| BudgetLevel {
        day: Day::new(day),
        used: used.cast_unsigned(),
        allowed: allowed.map(i64::cast_unsigned),
        warned_at: warned.map(|at| at.0),
        exceeded_at: exceeded.map(|at| at.0),
        noticed_at: noticed.map(|at| at.0),
    };
    let stored = stored.map_or(BudgetLevel::new(of.day), level);
    if stored.day > of.day {
        return Ok(());
    }
    let level = stored.after(of, now);
    statement!(
        "INSERT INTO budget_levels (subject_id, budget, organization_id, day, chat_id, message_id, amount, used, allowed, \
         warned_at, exceeded_at, noticed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (subject_id, budget) DO UPDATE SET organization_id = excluded.organization_id, day = excluded.day, \
         chat_id = coalesce(excluded.chat_id, chat_id), message_id = coalesce(excluded.message_id, message_id), \
         amount = excluded.amount, used = excluded.used, \
         allowed = excluded.allowed, warned_at = excluded.warned_at, exceeded_at = excluded.exceeded_at, \
         noticed_at = excluded.noticed_at"
    )
    .bind::<Binary, _>(Id(of.subject.uuid()))
    .bind::<Text, _>(of.budget.as_str())
    .bind::<Binary, _>(Id(of.organization.uuid()))
    .bind::<BigInt, _>(level.day.number())
    .bind::<Nullable<Binary>, _>(of.last.map(|(_, chat)| Id(chat.uuid())))
    .bind::<Nullable<Binary>, _>(of.last.map(|(message, _)| Id(message.uuid())))
    .bind::<BigInt, _>(of.amount.get().cast_signed())
    .bind::<BigInt, _>(level.used.cast_signed())
    .bind::<Nullable<BigInt>, _>(level.allowed.map(u64::cast_signed))
    .bind::<Nullable<BigInt>, _>(level.warned_at.map(At))
    .bind::<Nullable<BigInt>, _>(level.exceeded_at.map(At))
    .bind::<Nullable<BigInt>, _>(level.noticed_at.map(At))
    .execute(connection)?;
    Ok(())
}

fn exceeded_on(connection: &mut SqliteConnection, day: Day) -> Result<Option<ExceededBudgets>, Fault> {
    let number = statement!("SELECT count(*) FROM (SELECT 1 FROM budgets LIMIT 1)" => BigInt);
    if number.get_result::<i64>(connection)? == 0 {
        return Ok(None);
    }
    let rows = statement!(
        "SELECT subject_id, budget, organization_id FROM (SELECT subject_id, budget, organization_id, row_number() OVER (PARTITION BY organization_id \
         ORDER BY subject_id = organization_id DESC, exceeded_at DESC, subject_id DESC) AS number \
         FROM budget_levels INDEXED BY budget_levels_of_day CROSS JOIN budgets USING (organization_id, budget) \
         WHERE day IN (?, ?) AND exceeded_at IS NOT NULL AND used >= max(budgets.amount, coalesce(allowed, 0))) \
         WHERE number <= ?"
        => (Binary, Text, Binary)
    );
    let rows = rows
        .bind::<BigInt, _>(BudgetUse::ALWAYS.number())
        .bind::<BigInt, _>(day.number())
        .bind::<BigInt, _>(i64::from(ExceededBudgets::MOST))
        .load::<(Id, String, Id)>(connection)?;
    let mut exceeded = ExceededBudgets::none(day);
    for (subject, budget, organization) in rows {
        let budget = row::word(&budget, Budget::parse)?;
        exceeded.add(budget, SubjectId::new(subject.0), OrganizationId::new(organization.0));
    }
    Ok(Some(exceeded))
}

/// Lets the subject of a budget use the amount again, with the first of its deliveries that is released.
pub(crate) fn release_on(
    connection: &mut SqliteConnection,
    budget: Budget,
    message: &Message,
    agent: AgentId,
) -> Result<(), Fault> {
    let subject = match budget.scope() {
        BudgetScope::Tree => message.place().root.uuid(),
        BudgetScope::Room => message.chat_id.uuid(),
        BudgetScope::Agent => agent.uuid(),
        BudgetScope::Organization => {
            let owner =
                tenants_on(connection, &[], &[ParticipantId::Agent(agent)])?.senders.into_values().next();
            let Some(owner) = owner else { return Ok(()) };
            owner.uuid()
        }
    };
    statement!(
        "UPDATE budget_levels SET allowed = min(max(used, coalesce(allowed, 0)) + amount, 9007199254740991), \
         warned_at = NULL, exceeded_at = NULL WHERE subject_id = ? AND budget = ? AND day = ? AND exceeded_at IS NOT NULL"
    )
    .bind::<Binary, _>(Id(subject))
    .bind::<Text, _>(budget.as_str())
    .bind::<BigInt, _>(BudgetUse::day_of(budget, Day::of(message.created_at)).number())
    .execute(connection)?;
    Ok(())
}

/// The budgets of which the humans are still to be told.
pub(crate) fn due_on(connection: &mut SqliteConnection, limit: u32) -> Result<Vec<DueHold>, Fault> {
    type Due = (Id, String, i64, bool, Id, Id);
    let rows = statement!(
        "SELECT subject_id, budget, amount, exceeded_at IS NULL, chat_id, message_id FROM budget_levels \
         INDEXED BY budget_levels_to_notice WHERE warned_at IS NOT NULL AND noticed_at IS NULL AND chat_id IS NOT NULL \
         ORDER BY warned_at, subject_id LIMIT ?"
        => (Binary, Text, BigInt, diesel::sql_types::Bool, Binary, Binary)
    );
    let rows = rows.bind::<BigInt, _>(i64::from(limit)).load::<Due>(connection)?;
    let due = |(subject, budget, amount, is_warning, chat, message): Due| {
        Ok(DueHold {
            subject: SubjectId::new(subject.0),
            held_by: row::word(&budget, Budget::parse)?.held_by(),
            bound: amount.cast_unsigned(),
            is_warning,
            chat: ChatId::new(chat.0),
            message: MessageId::new(message.0),
        })
    };
    rows.into_iter().map(due).collect()
}

/// Marks the event about a budget as posted. Returns `false` if it was posted before.
pub(crate) fn notice_on(
    connection: &mut SqliteConnection,
    due: &DueHold,
    now: Timestamp,
) -> Result<bool, Fault> {
    let marked = statement!(
        "UPDATE budget_levels SET noticed_at = ? WHERE subject_id = ? AND budget = ? AND noticed_at IS NULL \
         AND (exceeded_at IS NULL) = ?"
    );
    let marked = marked
        .bind::<BigInt, _>(At(now))
        .bind::<Binary, _>(Id(due.subject.uuid()))
        .bind::<Text, _>(due.held_by.as_str())
        .bind::<diesel::sql_types::Bool, _>(due.is_warning)
        .execute(connection)?;
    Ok(marked > 0)
}
