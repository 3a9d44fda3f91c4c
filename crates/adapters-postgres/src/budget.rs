//! The store of budgets.

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::budget::{
    Amount, Budget, BudgetLevel, BudgetRepository, BudgetScope, BudgetTenants, BudgetUse, Budgets,
    ExceededBudgets, NewCounts, SetBudgets, TextCount, TreeCount,
};
use domain::id::{AgentId, ChatId, MessageId, OrganizationId, ParticipantId, SubjectId};
use domain::message::{DueHold, Message};
use domain::organization::NotAdmin;
use domain::store::StoreError;
use domain::time::Timestamp;
use domain::usage::Day;
use futures_util::FutureExt;
use futures_util::future::try_join_all;
use uuid::Uuid;

use crate::error::Fault;
use crate::organization::member::check_on;
use crate::row::{self, At};
use crate::run::Db;
use crate::statement::statement;
use crate::{PostgresStore, audit, lock};

#[async_trait]
impl BudgetRepository for PostgresStore {
    async fn budgets_of(&self, organization: OrganizationId) -> Result<Budgets, StoreError> {
        let of = vec![organization.uuid()];
        let found = self.query(of, |db, of| budgets_on(db, of).boxed()).await?;
        Ok(found.get(&organization).copied().unwrap_or_default())
    }

    async fn set_budgets(&self, command: SetBudgets) -> Result<Result<Budgets, NotAdmin>, StoreError> {
        self.change(command, |db, command| set_on(db, command).boxed(), |_| ()).await
    }

    async fn budget_tenants(
        &self,
        rooms: Vec<ChatId>,
        senders: Vec<ParticipantId>,
    ) -> Result<BudgetTenants, StoreError> {
        let given = (rooms, senders);
        self.query(given, |db, (rooms, senders)| tenants_on(db, rooms, senders).boxed()).await
    }

    async fn add_texts(&self, counts: NewCounts, since: Day) -> Result<(), StoreError> {
        let given = (counts, since);
        self.alter_at_most_once(given, |db, (counts, since)| add_on(db, counts, *since).boxed()).await
    }

    async fn count_budgets(&self, found: Vec<BudgetUse>) -> Result<Vec<BudgetUse>, StoreError> {
        self.query(found, |db, found| try_join_all(found.iter().map(|of| counted_on(db, of))).boxed()).await
    }

    async fn record_budgets(&self, found: Vec<BudgetUse>, now: Timestamp) -> Result<(), StoreError> {
        let given = (found, now);
        self.alter_quietly(given, |db, (found, now)| record_on(db, found, *now).boxed()).await
    }

    async fn exceeded_budgets(&self, day: Day) -> Result<Option<ExceededBudgets>, StoreError> {
        self.query(day, |db, day| exceeded_on(db, *day).boxed()).await
    }
}

const BUDGETS: &str = "SELECT organization_id, budget, amount FROM budgets WHERE organization_id = ANY(?)";

async fn budgets_on(mut db: &Db, of: &[Uuid]) -> Result<HashMap<OrganizationId, Budgets>, Fault> {
    let rows = statement::<(SqlUuid, Text, BigInt)>(BUDGETS).bind::<Array<SqlUuid>, _>(of);
    let mut all = HashMap::<_, Budgets>::new();
    for (organization, budget, amount) in rows.load::<(Uuid, String, i64)>(&mut db).await? {
        let budgets = all.entry(OrganizationId::new(organization)).or_default();
        budgets.set(row::word(&budget, Budget::parse)?, Amount::new(amount.cast_unsigned()));
    }
    Ok(all)
}

const SET: &str = "INSERT INTO budgets (organization_id, budget, amount) VALUES (?, ?, ?) \
     ON CONFLICT (organization_id, budget) DO UPDATE SET amount = excluded.amount";

const END: &str = "UPDATE budget_levels SET exceeded_at = NULL, \
     warned_at = CASE WHEN used >= ? THEN warned_at END \
     WHERE organization_id = ? AND budget = ? AND used < ?";

async fn set_on(mut db: &Db, command: &SetBudgets) -> Result<Result<Budgets, NotAdmin>, Fault> {
    let organization = command.by.organization();
    lock::people_on(db, organization).await?;
    if let Err(refused) = check_on(db, command.by).await? {
        return Ok(Err(refused));
    }
    audit::append_on(db, AuditEntry::budgets_set(command)).await?;
    let id = organization.uuid();
    for (budget, amount) in &command.changes {
        let Some(given) = amount else {
            for gone in [
                "DELETE FROM budgets WHERE organization_id = ? AND budget = ?",
                "DELETE FROM budget_levels WHERE organization_id = ? AND budget = ?",
            ] {
                let gone = statement::<()>(gone).bind::<SqlUuid, _>(id).bind::<Text, _>(budget.as_str());
                gone.execute(&mut db).await?;
            }
            continue;
        };
        let (amount, warning) = (given.get().cast_signed(), given.warning(given.get()).cast_signed());
        statement::<()>(SET)
            .bind::<SqlUuid, _>(id)
            .bind::<Text, _>(budget.as_str())
            .bind::<BigInt, _>(amount)
            .execute(&mut db)
            .await?;
        statement::<()>(END)
            .bind::<BigInt, _>(warning)
            .bind::<SqlUuid, _>(id)
            .bind::<Text, _>(budget.as_str())
            .bind::<BigInt, _>(amount)
            .execute(&mut db)
            .await?;
    }
    Ok(Ok(budgets_on(db, &[id]).await?.remove(&organization).unwrap_or_default()))
}

const ROOMS: &str = "SELECT id, organization_id FROM chats WHERE id = ANY(?) AND organization_id IS NOT NULL";

const SENDERS: &str = "SELECT id, organization_id FROM users WHERE id = ANY(?) \
     UNION ALL SELECT agents.id, users.organization_id FROM agents JOIN users ON users.id = agents.owner_id \
     WHERE agents.id = ANY(?)";

async fn tenants_on(
    mut db: &Db,
    rooms: &[ChatId],
    senders: &[ParticipantId],
) -> Result<BudgetTenants, Fault> {
    let ids = rooms.iter().map(|room| room.uuid()).collect::<Vec<_>>();
    let of_rooms = statement::<(SqlUuid, SqlUuid)>(ROOMS).bind::<Array<SqlUuid>, _>(ids);
    let of_rooms = of_rooms.load::<(Uuid, Uuid)>(&mut db).await?.into_iter();
    let rooms = of_rooms.map(|(room, id)| (ChatId::new(room), OrganizationId::new(id))).collect();
    let ids = senders.iter().map(|sender| sender.uuid()).collect::<Vec<_>>();
    let of_senders = statement::<(SqlUuid, SqlUuid)>(SENDERS)
        .bind::<Array<SqlUuid>, _>(ids.clone())
        .bind::<Array<SqlUuid>, _>(ids)
        .load::<(Uuid, Uuid)>(&mut db)
        .await?
        .into_iter()
        .collect::<HashMap<_, _>>();
    let of_sender =
        |sender: &ParticipantId| Some((*sender, OrganizationId::new(*of_senders.get(&sender.uuid())?)));
    let tenants = BudgetTenants {
        rooms,
        senders: senders.iter().filter_map(of_sender).collect(),
        budgets: HashMap::new(),
    };
    let all = tenants.rooms.values().chain(tenants.senders.values()).map(|id| id.uuid());
    let budgets = budgets_on(db, &all.collect::<Vec<_>>()).await?;
    Ok(BudgetTenants { budgets, ..tenants })
}

const ADD: &str = "INSERT INTO text_counts (day, organization_id, sender_id, chat_id, texts) \
     SELECT day, organization_id, sender_id, chat_id, texts FROM unnest(?, ?, ?, ?, ?) \
     AS new (day, organization_id, sender_id, chat_id, texts) ORDER BY day, organization_id, sender_id, chat_id \
     ON CONFLICT (day, organization_id, sender_id, chat_id) DO UPDATE SET texts = text_counts.texts + excluded.texts";

const ADD_OF_TREES: &str = "INSERT INTO tree_counts (root_id, day, texts) \
     SELECT root_id, day, texts FROM unnest(?, ?, ?) AS new (root_id, day, texts) ORDER BY root_id \
     ON CONFLICT (root_id) DO UPDATE SET day = greatest(tree_counts.day, excluded.day), \
     texts = tree_counts.texts + excluded.texts";

const FORGET: &str = "DELETE FROM text_counts WHERE (day, organization_id, sender_id, chat_id) IN \
     (SELECT day, organization_id, sender_id, chat_id FROM text_counts WHERE day < ? LIMIT 1000 \
     FOR UPDATE SKIP LOCKED)";

const FORGET_LEVELS: &str = "DELETE FROM budget_levels WHERE (subject_id, budget) IN \
     (SELECT subject_id, budget FROM budget_levels WHERE day > ? AND day < ? LIMIT 1000 FOR UPDATE SKIP LOCKED)";

const FORGET_TREES: &str = "WITH gone AS (DELETE FROM tree_counts WHERE root_id IN \
     (SELECT root_id FROM tree_counts WHERE day < ? LIMIT 1000 FOR UPDATE SKIP LOCKED) RETURNING root_id) \
     DELETE FROM budget_levels USING gone WHERE budget_levels.subject_id = gone.root_id";

async fn add_on(mut db: &Db, counts: &NewCounts, since: Day) -> Result<(), Fault> {
    let NewCounts { texts, trees } = counts;
    let ids = |id: fn(&TextCount) -> Uuid| texts.iter().map(id).collect::<Vec<_>>();
    let numbers = |number: fn(&TextCount) -> i64| texts.iter().map(number).collect::<Vec<_>>();
    statement::<()>(ADD)
        .bind::<Array<BigInt>, _>(numbers(|of| of.day.number()))
        .bind::<Array<SqlUuid>, _>(ids(|of| of.organization.uuid()))
        .bind::<Array<SqlUuid>, _>(ids(|of| of.sender.uuid()))
        .bind::<Array<SqlUuid>, _>(ids(|of| of.chat.uuid()))
        .bind::<Array<BigInt>, _>(numbers(|of| of.texts.into()))
        .execute(&mut db)
        .await?;
    if !trees.is_empty() {
        let numbers = |number: fn(&TreeCount) -> i64| trees.iter().map(number).collect::<Vec<_>>();
        statement::<()>(ADD_OF_TREES)
            .bind::<Array<SqlUuid>, _>(trees.iter().map(|of| of.root.uuid()).collect::<Vec<_>>())
            .bind::<Array<BigInt>, _>(numbers(|of| of.day.number()))
            .bind::<Array<BigInt>, _>(numbers(|of| of.texts.into()))
            .execute(&mut db)
            .await?;
    }
    statement::<()>(FORGET).bind::<BigInt, _>(since.number()).execute(&mut db).await?;
    statement::<()>(FORGET_LEVELS)
        .bind::<BigInt, _>(BudgetUse::ALWAYS.number())
        .bind::<BigInt, _>(since.number())
        .execute(&mut db)
        .await?;
    let of_trees = since.minus(BudgetUse::TREE_DAYS).number();
    statement::<()>(FORGET_TREES).bind::<BigInt, _>(of_trees).execute(&mut db).await?;
    Ok(())
}

/// The tokens of the reports that match, at most 2^53 - 1.
macro_rules! tokens {
    ($matching:literal) => {
        concat!(
            "SELECT least(coalesce(sum(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens), 0), \
             9007199254740991)::bigint FROM token_usage WHERE ",
            $matching
        )
    };
}

/// The texts that match.
macro_rules! texts {
    ($matching:literal) => {
        concat!("SELECT coalesce(sum(texts), 0)::bigint FROM text_counts WHERE ", $matching)
    };
}

pub(crate) const TREE_MESSAGES: &str =
    "SELECT coalesce(sum(texts), 0)::bigint + 1 FROM tree_counts WHERE root_id = ?";
pub(crate) const TREE_TOKENS: &str = tokens!("root_id = ?");
pub(crate) const ROOM_MESSAGES: &str = texts!("chat_id = ? AND day = ?");
pub(crate) const ROOM_TOKENS: &str = tokens!("chat_id = ? AND day = ?");
pub(crate) const AGENT_MESSAGES: &str = texts!("sender_id = ? AND day = ? AND organization_id = ?");
pub(crate) const AGENT_TOKENS: &str = tokens!(
    "agent_id = ? AND day = ? AND organization_id = ? AND owner_id = (SELECT owner_id FROM agents WHERE id = ?)"
);
pub(crate) const ORGANIZATION_MESSAGES: &str = texts!("organization_id = ? AND day = ?");
pub(crate) const ORGANIZATION_TOKENS: &str = tokens!("organization_id = ? AND day = ?");

async fn counted_on(mut db: &Db, of: &BudgetUse) -> Result<BudgetUse, Fault> {
    let (subject, organization, day) = (of.subject.uuid(), of.organization.uuid(), of.day.number());
    let begin = |text: &'static str| statement::<BigInt>(text).bind::<SqlUuid, _>(subject);
    let today = |text| begin(text).bind::<BigInt, _>(day);
    let own = |text| today(text).bind::<SqlUuid, _>(organization);
    let query = match of.budget {
        Budget::TreeMessages => begin(TREE_MESSAGES),
        Budget::TreeTokens => begin(TREE_TOKENS),
        Budget::RoomMessages => today(ROOM_MESSAGES),
        Budget::RoomTokens => today(ROOM_TOKENS),
        Budget::AgentMessages => own(AGENT_MESSAGES),
        Budget::AgentTokens => own(AGENT_TOKENS).bind::<SqlUuid, _>(subject),
        Budget::OrganizationMessages => today(ORGANIZATION_MESSAGES),
        Budget::OrganizationTokens => today(ORGANIZATION_TOKENS),
    };
    Ok(BudgetUse { used: query.get_result::<i64>(&mut db).await?.cast_unsigned(), ..*of })
}

/// So that concurrent servers lock a row rather than insert one each. Nothing is stored of a budget that was removed.
const BEGIN: &str = "INSERT INTO budget_levels (subject_id, budget, organization_id, day, amount, used) \
     SELECT ?, budget, organization_id, ?, amount, 0 FROM budgets WHERE organization_id = ? AND budget = ? \
     ON CONFLICT (subject_id, budget) DO NOTHING";

const LEVEL: &str = "SELECT level.day, level.used, level.allowed, level.warned_at, level.exceeded_at, level.noticed_at, \
     budgets.amount FROM budget_levels AS level JOIN budgets ON budgets.organization_id = ? \
     AND budgets.budget = level.budget WHERE level.subject_id = ? AND level.budget = ? FOR UPDATE OF level";

const RECORD: &str = "UPDATE budget_levels SET organization_id = ?, day = ?, chat_id = coalesce(?, chat_id), \
     message_id = coalesce(?, message_id), amount = ?, \
     used = ?, allowed = ?, warned_at = ?, exceeded_at = ?, noticed_at = ? WHERE subject_id = ? AND budget = ?";

async fn record_on(mut db: &Db, found: &[BudgetUse], now: Timestamp) -> Result<(), Fault> {
    type Level = (i64, i64, Option<i64>, Option<At>, Option<At>, Option<At>, i64);
    type Time = Nullable<Timestamptz>;
    type SqlLevel = (BigInt, BigInt, Nullable<BigInt>, Time, Time, Time, BigInt);
    for of in found {
        let (subject, budget) = (of.subject.uuid(), of.budget.as_str());
        statement::<()>(BEGIN)
            .bind::<SqlUuid, _>(subject)
            .bind::<BigInt, _>(of.day.number())
            .bind::<SqlUuid, _>(of.organization.uuid())
            .bind::<Text, _>(budget)
            .execute(&mut db)
            .await?;
        let stored = statement::<SqlLevel>(LEVEL)
            .bind::<SqlUuid, _>(of.organization.uuid())
            .bind::<SqlUuid, _>(subject)
            .bind::<Text, _>(budget)
            .load::<Level>(&mut db)
            .await?;
        let Some((day, used, allowed, warned, exceeded, noticed, amount)) = stored.into_iter().next() else {
            continue;
        };
        let Some(bound) = Amount::new(amount.cast_unsigned()) else { continue };
        let of = &BudgetUse { amount: bound, ..*of };
        let stored = BudgetLevel {
            day: Day::new(day),
            used: used.cast_unsigned(),
            allowed: allowed.map(i64::cast_unsigned),
            warned_at: warned.map(|at| at.0),
            exceeded_at: exceeded.map(|at| at.0),
            noticed_at: noticed.map(|at| at.0),
        };
        if stored.day > of.day {
            continue;
        }
        let level = stored.after(of, now);
        statement::<()>(RECORD)
            .bind::<SqlUuid, _>(of.organization.uuid())
            .bind::<BigInt, _>(level.day.number())
            .bind::<Nullable<SqlUuid>, _>(of.last.map(|(_, chat)| chat.uuid()))
            .bind::<Nullable<SqlUuid>, _>(of.last.map(|(message, _)| message.uuid()))
            .bind::<BigInt, _>(amount)
            .bind::<BigInt, _>(level.used.cast_signed())
            .bind::<Nullable<BigInt>, _>(level.allowed.map(u64::cast_signed))
            .bind::<Nullable<Timestamptz>, _>(level.warned_at.map(At))
            .bind::<Nullable<Timestamptz>, _>(level.exceeded_at.map(At))
            .bind::<Nullable<Timestamptz>, _>(level.noticed_at.map(At))
            .bind::<SqlUuid, _>(subject)
            .bind::<Text, _>(budget)
            .execute(&mut db)
            .await?;
    }
    Ok(())
}

const ANY: &str = "SELECT count(*) FROM (SELECT 1 FROM budgets LIMIT 1) AS part";

pub(crate) const EXCEEDED: &str = "SELECT subject_id, budget, organization_id FROM (SELECT level.subject_id, level.budget, level.organization_id, \
     row_number() OVER (PARTITION BY level.organization_id ORDER BY level.subject_id = level.organization_id DESC, \
     level.exceeded_at DESC, level.subject_id DESC) AS number FROM budget_levels AS level \
     JOIN budgets ON budgets.organization_id = level.organization_id AND budgets.budget = level.budget \
     WHERE level.day IN (?, ?) AND level.exceeded_at IS NOT NULL \
     AND level.used >= greatest(budgets.amount, coalesce(level.allowed, 0))) AS ranked WHERE number <= ?";

async fn exceeded_on(mut db: &Db, day: Day) -> Result<Option<ExceededBudgets>, Fault> {
    if statement::<BigInt>(ANY).get_result::<i64>(&mut db).await? == 0 {
        return Ok(None);
    }
    let rows = statement::<(SqlUuid, Text, SqlUuid)>(EXCEEDED)
        .bind::<BigInt, _>(BudgetUse::ALWAYS.number())
        .bind::<BigInt, _>(day.number())
        .bind::<BigInt, _>(i64::from(ExceededBudgets::MOST))
        .load::<(Uuid, String, Uuid)>(&mut db)
        .await?;
    let mut exceeded = ExceededBudgets::none(day);
    for (subject, budget, organization) in rows {
        let budget = row::word(&budget, Budget::parse)?;
        exceeded.add(budget, SubjectId::new(subject), OrganizationId::new(organization));
    }
    Ok(Some(exceeded))
}

const RELEASE: &str = "UPDATE budget_levels SET warned_at = NULL, exceeded_at = NULL, \
     allowed = least(greatest(used, coalesce(allowed, 0)) + amount, 9007199254740991) \
     WHERE subject_id = ? AND budget = ? AND day = ? AND exceeded_at IS NOT NULL";

/// Lets the subject of a budget use the amount again, with the first of its deliveries that is released.
pub(crate) async fn release_on(
    mut db: &Db,
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
                tenants_on(db, &[], &[ParticipantId::Agent(agent)]).await?.senders.into_values().next();
            let Some(owner) = owner else { return Ok(()) };
            owner.uuid()
        }
    };
    statement::<()>(RELEASE)
        .bind::<SqlUuid, _>(subject)
        .bind::<Text, _>(budget.as_str())
        .bind::<BigInt, _>(BudgetUse::day_of(budget, Day::of(message.created_at)).number())
        .execute(&mut db)
        .await?;
    Ok(())
}

pub(crate) const DUE: &str = "SELECT subject_id, budget, amount, exceeded_at IS NULL, chat_id, message_id \
     FROM budget_levels WHERE warned_at IS NOT NULL AND noticed_at IS NULL AND chat_id IS NOT NULL \
     ORDER BY warned_at, subject_id LIMIT ?";

/// The budgets of which the humans are still to be told.
pub(crate) async fn due_on(mut db: &Db, limit: u32) -> Result<Vec<DueHold>, Fault> {
    type Due = (Uuid, String, i64, bool, Uuid, Uuid);
    let rows = statement::<(SqlUuid, Text, BigInt, Bool, SqlUuid, SqlUuid)>(DUE)
        .bind::<BigInt, _>(i64::from(limit))
        .load::<Due>(&mut db)
        .await?;
    let due = |(subject, budget, amount, is_warning, chat, message): Due| {
        Ok(DueHold {
            subject: SubjectId::new(subject),
            held_by: row::word(&budget, Budget::parse)?.held_by(),
            bound: amount.cast_unsigned(),
            is_warning,
            chat: ChatId::new(chat),
            message: MessageId::new(message),
        })
    };
    rows.into_iter().map(due).collect()
}

const NOTICE: &str = "UPDATE budget_levels SET noticed_at = ? WHERE subject_id = ? AND budget = ? \
     AND noticed_at IS NULL AND (exceeded_at IS NULL) = ?";

/// Marks the event about a budget as posted. Returns `false` if it was posted before.
pub(crate) async fn notice_on(mut db: &Db, due: &DueHold, now: Timestamp) -> Result<bool, Fault> {
    let marked = statement::<()>(NOTICE)
        .bind::<Timestamptz, _>(At(now))
        .bind::<SqlUuid, _>(due.subject.uuid())
        .bind::<Text, _>(due.held_by.as_str())
        .bind::<Bool, _>(due.is_warning);
    Ok(marked.execute(&mut db).await? > 0)
}

#[cfg(test)]
mod tests {
    use testkit::postgres::server;
    use tokio_postgres::NoTls;

    use super::*;
    use crate::PostgresConfig;

    /// Each of them is run for every active tree, room, agent, and organization.
    #[tokio::test]
    async fn budgets_are_counted_along_indexes() {
        let database = server().database();
        PostgresStore::open(&PostgresConfig::at(&database.url())).await.unwrap().close();
        let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        // The tables are empty: what matters is which indexes can serve.
        client.batch_execute("SET enable_seqscan = off; SET enable_bitmapscan = off").await.unwrap();
        let id = "'019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77'::uuid";
        for (text, values, index) in [
            (TREE_MESSAGES, &[id][..], "tree_counts_pkey"),
            (TREE_TOKENS, &[id], "token_usage_of_tree"),
            (ROOM_MESSAGES, &[id, "7"], "text_counts_of_room"),
            (ROOM_TOKENS, &[id, "7"], "token_usage_of_room"),
            (AGENT_MESSAGES, &[id, "7", id], "text_counts_pkey"),
            (AGENT_TOKENS, &[id, "7", id, id], "token_usage_of_owner"),
            (ORGANIZATION_MESSAGES, &[id, "7"], "text_counts_pkey"),
            (ORGANIZATION_TOKENS, &[id, "7"], "token_usage_pkey"),
            (EXCEEDED, &["0", "7", "10"], "budget_levels_of_day"),
            (DUE, &["10"], "budget_levels_to_notice"),
        ] {
            let mut parts = text.split('?');
            let mut filled = parts.next().unwrap().to_owned();
            for (part, value) in parts.zip(values) {
                filled.extend([*value, part]);
            }
            let plan = client.query(&format!("EXPLAIN {filled}"), &[]).await.unwrap();
            let plan = plan.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>();
            let is_used = |line: &&String| line.contains(&format!("using {index} "));
            assert!(plan.iter().any(|line| is_used(&line)), "{index}: {plan:#?}");
            assert!(!plan.iter().any(|line| line.contains("Seq Scan")), "{plan:#?}");
        }
    }
}
