//! The store of usage.

#[path = "../../sql-rows/usage.rs"]
mod row;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::id::{ChatId, MessageId};
use domain::message::Message;
use domain::organization::NotAdmin;
use domain::page::PageRequest;
use domain::store::StoreError;
use domain::usage::{Day, UsageGroup, UsageList, UsageReport, UsageRepository, UsageSearch, UsageSum};
use domain::work::SHOWN_TEXT_CHARS;
use row::{ListedRow, SumRow, add_to_existing, bind_list, bind_matching, page_of, sums_of};

use crate::SqliteStore;
use crate::error::Fault;
use crate::row::{Id, IdType, to_json};
use crate::statement::statement;
use crate::work::check_on;

/// The model of a row, if it has a price. Value: the models that have one, as JSON.
const PRICED: &str =
    "CASE WHEN token_usage.model IN (SELECT value FROM json_each(?)) THEN token_usage.model END";

/// A sum that stops at the largest number of tokens: `sum` fails where it exceeds 64 bits, and `total` is exact up to
/// this number.
fn sum(of: &str) -> String {
    format!("CAST(min(total({of}), 9007199254740991.0) AS INTEGER)")
}

#[async_trait]
impl UsageRepository for SqliteStore {
    async fn list_usage(
        &self,
        search: UsageSearch,
        group: UsageGroup,
        page: PageRequest,
    ) -> Result<Result<UsageList, NotAdmin>, StoreError> {
        self.read(move |connection| list_on(connection, &search, group, &page)).await
    }

    async fn usage_of_tree(&self, chat: ChatId, root: MessageId) -> Result<UsageSum, StoreError> {
        self.read(move |connection| {
            let query = diesel::sql_query(row::tree())
                .bind::<Binary, _>(Id(root.uuid()))
                .bind::<Binary, _>(Id(chat.uuid()));
            let sums = query.get_result::<SumRow>(connection).optional()?;
            Ok(sums.map(SumRow::into_sum).unwrap_or_default())
        })
        .await
    }
}

fn list_on(
    connection: &mut SqliteConnection,
    search: &UsageSearch,
    group: UsageGroup,
    page: &PageRequest,
) -> Result<Result<UsageList, NotAdmin>, Fault> {
    if let Err(refused) = check_on(connection, search.scope)? {
        return Ok(Err(refused));
    }
    let priced = to_json(&search.priced)?;
    let sums = if page.slice.after().is_none() {
        let query = diesel::sql_query(row::totals(search)).into_boxed().bind::<Text, _>(priced.clone());
        Some(sums_of(bind_matching!(query, search).load::<SumRow>(connection)?))
    } else {
        None
    };
    let query = diesel::sql_query(row::list(search, group, page)).into_boxed().bind::<Text, _>(priced);
    let rows = bind_list!(query, search, group, page).load::<ListedRow>(connection)?;
    Ok(Ok(UsageList { page: page_of(rows, group, page), sums }))
}

/// Adds the report that a stored message contains, if it contains one.
pub(crate) fn add_on(connection: &mut SqliteConnection, message: &Message) -> Result<(), Fault> {
    let Some(UsageReport { tokens, model }) = UsageReport::of(message) else { return Ok(()) };
    let insert = statement!(
        "INSERT INTO token_usage (organization_id, day, owner_id, agent_id, chat_id, root_id, model, \
             input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reports) \
         SELECT users.organization_id, ?, agents.owner_id, agents.id, ?, ?, coalesce(?, agents.model_type, ''), ?, ?, ?, ?, 1 \
         FROM agents JOIN users ON users.id = agents.owner_id WHERE agents.id = ? ",
        add_to_existing!("min")
    );
    insert
        .bind::<BigInt, _>(Day::of(message.created_at).number())
        .bind::<Binary, _>(Id(message.chat_id.uuid()))
        .bind::<Binary, _>(Id(message.place().root.uuid()))
        .bind::<Nullable<Text>, _>(model)
        .bind::<BigInt, _>(tokens.input.cast_signed())
        .bind::<BigInt, _>(tokens.output.cast_signed())
        .bind::<BigInt, _>(tokens.cache_read.cast_signed())
        .bind::<BigInt, _>(tokens.cache_write.cast_signed())
        .bind::<Binary, _>(Id(message.sender.uuid()))
        .execute(connection)?;
    Ok(())
}
