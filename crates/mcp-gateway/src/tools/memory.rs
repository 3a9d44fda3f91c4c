//! Memories of agents.

use domain::id::{AccountId, ChatId};
use domain::memory::{
    MemoriesOfAgent, MemoryContent, MemoryFilter, MemoryMetadata, MemoryQuery, MemoryScope, MemoryThought,
    StoreMemory,
};
use http_wire::error::ApiError;
use http_wire::openapi::schema::{some_text, uuid, word};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, id, known};
use serde_json::{Value, json};

use super::{numbered, page, shown};
use crate::session::Session;
use crate::view::ShownMemory;

/// The number of memories on a page.
const MEMORIES: u32 = 20;

/// A memory to be stored.
pub(crate) struct RememberArguments {
    content: MemoryContent,
    scope: Option<MemoryScope>,
    subject: Option<AccountId>,
}

impl FromBody for RememberArguments {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let content =
            body.text("text", some_text(MemoryContent::MAX_CHARS).about("The fact."), MemoryContent::new);
        let schema = word(MemoryScope::WORDS)
            .about("Who can read it: only you (agent, the default), all agents of the organization, or those who may know of `about`.");
        let scope = body.text_if_given("scope", schema, known(MemoryScope::parse));
        let schema = uuid().about("The id of the user or agent that the fact is about.");
        let subject = body.text_if_given("about", schema, id(AccountId::parse));
        Ok(Self { content: content?, scope: scope?, subject: subject? })
    }
}

pub(crate) async fn remember(
    session: &Session,
    _: Option<ChatId>,
    RememberArguments { content, scope, subject }: RememberArguments,
) -> Result<Value, ApiError> {
    let command = StoreMemory {
        content,
        system: None,
        kind: None,
        segment: None,
        scope,
        subject,
        thought: MemoryThought::default(),
        metadata: MemoryMetadata::default(),
    };
    let memory = session.services().memories.store(session.agent()?, command).await?;
    Ok(json!({"stored": shown(ShownMemory::new(&memory))?}))
}

/// Which memories to search.
pub(crate) struct RecallArguments {
    query: Option<MemoryQuery>,
    page: u32,
}

impl FromBody for RecallArguments {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let schema =
            some_text(MemoryQuery::MAX_CHARS).about("A part of the text. Leave it out to list all memories.");
        let query = body.text_if_given("query", schema, |text| MemoryQuery::new(&text));
        let page = page(body);
        Ok(Self { query: query?, page: page? })
    }
}

pub(crate) async fn recall(
    session: &Session,
    _: Option<ChatId>,
    RecallArguments { query, page }: RecallArguments,
) -> Result<Value, ApiError> {
    let _permit = session.may_read().await?;
    let filter = MemoryFilter { query, ..MemoryFilter::default() };
    let listing = MemoriesOfAgent { filter, ..MemoriesOfAgent::default() };
    let memories = &session.services().memories;
    let page = memories.list_for_agent(session.agent()?, listing, numbered(page, MEMORIES)).await?;
    let rows = page.rows.iter().map(ShownMemory::new).collect::<Vec<_>>();
    Ok(json!({"memories": shown(rows)?, "total": page.total}))
}
