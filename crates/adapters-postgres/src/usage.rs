//! The store of usage.

#[path = "../../sql-rows/usage.rs"]
mod row;

use async_trait::async_trait;
use diesel::OptionalExtension;
use diesel::sql_types::{Array, BigInt, Integer, Nullable, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{ChatId, MessageId};
use domain::message::Message;
use domain::organization::NotAdmin;
use domain::page::PageRequest;
use domain::store::StoreError;
use domain::usage::{Day, UsageGroup, UsageList, UsageReport, UsageRepository, UsageSearch, UsageSum};
use domain::work::SHOWN_TEXT_CHARS;
use futures_util::FutureExt;
use row::{ListedRow, SumRow, add_to_existing, bind_list, bind_matching, page_of, sums_of};

use crate::PostgresStore;
use crate::error::Fault;
use crate::row::{Id, IdType};
use crate::run::Db;
use crate::statement::statement;
use crate::work::check_on;

/// The model of a row, if it has a price. Value: the models that have one.
const PRICED: &str = "CASE WHEN token_usage.model = ANY(?) THEN token_usage.model END";

/// A sum that stops at the largest number of tokens.
fn sum(of: &str) -> String {
    format!("CAST(least(sum({of}), 9007199254740991) AS bigint)")
}

/// The SQL types of a [`SumRow`].
type Sums = (Nullable<Text>, BigInt, BigInt, BigInt, BigInt, BigInt);

/// The SQL types of a [`ListedRow`].
type Listed = (Sums, Nullable<SqlUuid>, BigInt, Text, Nullable<Text>, Nullable<Text>, Nullable<SqlUuid>);

#[async_trait]
impl UsageRepository for PostgresStore {
    async fn list_usage(
        &self,
        search: UsageSearch,
        group: UsageGroup,
        page: PageRequest,
    ) -> Result<Result<UsageList, NotAdmin>, StoreError> {
        let given = (search, group, page);
        self.read(given, |db, (search, group, page)| list_on(db, search, *group, page).boxed()).await
    }

    async fn usage_of_tree(&self, chat: ChatId, root: MessageId) -> Result<UsageSum, StoreError> {
        self.query((chat, root), |db, tree| tree_on(db, *tree).boxed()).await
    }
}

async fn tree_on(mut db: &Db, (chat, root): (ChatId, MessageId)) -> Result<UsageSum, Fault> {
    let sums = statement::<Sums>(row::tree()).bind::<SqlUuid, _>(root.uuid()).bind::<SqlUuid, _>(chat.uuid());
    let sums = sums.get_result::<SumRow>(&mut db).await.optional()?;
    Ok(sums.map(SumRow::into_sum).unwrap_or_default())
}

async fn list_on(
    mut db: &Db,
    search: &UsageSearch,
    group: UsageGroup,
    page: &PageRequest,
) -> Result<Result<UsageList, NotAdmin>, Fault> {
    if let Err(refused) = check_on(db, search.scope).await? {
        return Ok(Err(refused));
    }
    let sums = if page.slice.after().is_none() {
        let sums = statement::<Sums>(row::totals(search)).bind::<Array<Text>, _>(&search.priced);
        Some(sums_of(bind_matching!(sums, search).load::<SumRow>(&mut db).await?))
    } else {
        None
    };
    let rows = statement::<Listed>(row::list(search, group, page)).bind::<Array<Text>, _>(&search.priced);
    let rows = bind_list!(rows, search, group, page).load::<ListedRow>(&mut db).await?;
    Ok(Ok(UsageList { page: page_of(rows, group, page), sums }))
}

const ADD: &str = concat!(
    "INSERT INTO token_usage (organization_id, day, owner_id, agent_id, chat_id, root_id, model, \
         input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reports) \
     SELECT users.organization_id, new.day, agents.owner_id, agents.id, new.chat_id, new.root_id, \
         coalesce(new.model, agents.model_type, ''), least(sum(new.input), 9007199254740991)::bigint, \
         least(sum(new.output), 9007199254740991)::bigint, least(sum(new.cache_read), 9007199254740991)::bigint, \
         least(sum(new.cache_write), 9007199254740991)::bigint, count(*) \
     FROM unnest(?, ?, ?, ?, ?, ?, ?, ?, ?) AS new (agent_id, day, chat_id, root_id, model, input, output, cache_read, cache_write) \
     JOIN agents ON agents.id = new.agent_id JOIN users ON users.id = agents.owner_id GROUP BY 1, 2, 3, 4, 5, 6, 7 ",
    add_to_existing!("least")
);

/// Returns whether one of these messages contains a report.
pub(crate) fn has_report<'m>(mut messages: impl Iterator<Item = &'m Message>) -> bool {
    messages.any(|message| UsageReport::of(message).is_some())
}

/// Adds the reports that these messages of one transaction contain. It has locked their chats, whose sums no other
/// transaction writes meanwhile; their causes must be known.
pub(crate) async fn add_on(mut db: &Db, messages: impl Iterator<Item = &Message>) -> Result<(), Fault> {
    let reports =
        messages.filter_map(|message| Some((message, UsageReport::of(message)?))).collect::<Vec<_>>();
    if reports.is_empty() {
        return Ok(());
    }
    let ids = |id: fn(&Message) -> uuid::Uuid| reports.iter().map(|(of, _)| id(of)).collect::<Vec<_>>();
    let numbers = |number: fn(&UsageReport) -> u64| {
        reports.iter().map(|(_, report)| number(report).cast_signed()).collect::<Vec<_>>()
    };
    statement::<()>(ADD)
        .bind::<Array<SqlUuid>, _>(ids(|of| of.sender.uuid()))
        .bind::<Array<BigInt>, _>(
            reports.iter().map(|(of, _)| Day::of(of.created_at).number()).collect::<Vec<_>>(),
        )
        .bind::<Array<SqlUuid>, _>(ids(|of| of.chat_id.uuid()))
        .bind::<Array<SqlUuid>, _>(ids(|of| of.place().root.uuid()))
        .bind::<Array<Nullable<Text>>, _>(
            reports.iter().map(|(_, report)| report.model.as_deref()).collect::<Vec<_>>(),
        )
        .bind::<Array<BigInt>, _>(numbers(|report| report.tokens.input))
        .bind::<Array<BigInt>, _>(numbers(|report| report.tokens.output))
        .bind::<Array<BigInt>, _>(numbers(|report| report.tokens.cache_read))
        .bind::<Array<BigInt>, _>(numbers(|report| report.tokens.cache_write))
        .execute(&mut db)
        .await?;
    Ok(())
}
