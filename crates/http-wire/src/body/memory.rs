//! `POST …/memories`: wrapped, with all properties that the public form requires; or flat, where only
//! the content is required.

use domain::id::AccountId;
use domain::memory::{
    MemoryContent, MemoryKind, MemoryMetadata, MemoryScope, MemorySegment, MemorySystem, MemoryThought,
    StoreMemory,
};

use crate::error::ApiError;
use crate::openapi::schema::{some_text, text, uuid, word};
use crate::strict_json::{Form, FromBody, ObjectReader, Rejected, id, known};

/// A memory.
#[derive(Clone, Debug)]
pub struct StoreMemoryBody {
    command: StoreMemory,
    /// The missing properties that the wrapped form requires.
    missing: Vec<&'static str>,
}

impl StoreMemoryBody {
    /// Turns the body into a command; refuses a wrapped body with missing properties.
    pub fn into_command(self, form: Form) -> Result<StoreMemory, ApiError> {
        if form == Form::Plain && !self.missing.is_empty() {
            let fault =
                |error: ApiError, name: &&str| error.with_detail(format!("/memory/{name}"), "can't be blank");
            return Err(self.missing.iter().fold(ApiError::validation(), fault));
        }
        Ok(self.command)
    }
}

impl FromBody for StoreMemoryBody {
    const WRAPPER: Option<&'static str> = Some("memory");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let missing = ["system", "type", "segment", "thought"].into_iter().filter(|name| !body.has(name));
        let missing = missing.collect();
        let content = body.text("content", some_text(MemoryContent::MAX_CHARS), MemoryContent::new);
        let system = body.text_if_given("system", word(MemorySystem::WORDS), known(MemorySystem::parse));
        let kind = body.text_if_given("type", word(MemoryKind::WORDS), known(MemoryKind::parse));
        let segment = body.text_if_given("segment", word(MemorySegment::WORDS), known(MemorySegment::parse));
        let scope = body.optional_text("scope", word(MemoryScope::WORDS), known(MemoryScope::parse));
        let subject = subject(body);
        let thought = body.optional_text("thought", text().max(MemoryThought::MAX_CHARS), MemoryThought::new);
        let metadata = body.free_object("metadata", MemoryMetadata::new);
        let command = StoreMemory {
            content: content?,
            system: system?,
            kind: kind?,
            segment: segment?,
            scope: scope?,
            subject: subject?,
            thought: thought?.unwrap_or_default(),
            metadata: metadata?,
        };
        Ok(Self { command, missing })
    }
}

/// The subject has two names; both may be given if they agree.
fn subject(body: &mut ObjectReader<'_>) -> Result<Option<AccountId>, Rejected> {
    let schema =
        uuid().about("The user or agent that the memory is about; `subject` is another name for it.");
    let [given, alias] =
        ["subject_id", "subject"].map(|name| body.optional_text(name, schema, id(AccountId::parse)));
    match (given?, alias?) {
        (Some(given), Some(alias)) if given != alias => {
            Err(body.fault("subject", "must not differ from subject_id"))
        }
        (given, alias) => Ok(given.or(alias)),
    }
}
