//! `POST …/memories`: wrapped, with all that the public form wants; or flat, where all but the content
//! follows by itself.

use domain::id::parse_uuid;
use domain::memory::{
    MemoryContent, MemoryKind, MemoryMetadata, MemoryScope, MemorySegment, MemorySystem, MemoryThought,
    StoreMemory,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::error::ApiError;
use crate::openapi::schema::{about, free_object, nullable, object, some_text, uuid, word};
use crate::strict_json::{Form, FromBody, ObjectReader, Told};

const UNKNOWN: &str = "Invalid value for enum";

/// Something to be remembered.
#[derive(Clone, Debug)]
pub struct StoreMemoryBody {
    command: StoreMemory,
    /// What the wrapped form wants and is not there.
    missing: Vec<&'static str>,
}

impl StoreMemoryBody {
    /// What is to be remembered; in its wrapper a body must say everything.
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

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Told> {
        let missing = ["system", "type", "segment", "thought"].into_iter().filter(|name| !body.has(name));
        let missing = missing.collect();
        let content = body.text("content", MemoryContent::new);
        let system = body.text_if_given("system", |text| MemorySystem::parse(&text).ok_or(UNKNOWN));
        let kind = body.text_if_given("type", |text| MemoryKind::parse(&text).ok_or(UNKNOWN));
        let segment = body.text_if_given("segment", |text| MemorySegment::parse(&text).ok_or(UNKNOWN));
        let scope = optional_word(body, "scope", MemoryScope::parse);
        let subject = subject(body);
        let thought = body.optional_text("thought").and_then(|text| {
            MemoryThought::new(text.unwrap_or_default()).map_err(|fault| body.fault("thought", fault))
        });
        let metadata = body
            .free_object("metadata")
            .and_then(|members| MemoryMetadata::new(members).map_err(|fault| body.fault("metadata", fault)));
        let command = StoreMemory {
            content: content?,
            system: system?,
            kind: kind?,
            segment: segment?,
            scope: scope?,
            subject: subject?,
            thought: thought?,
            metadata: metadata?,
        };
        Ok(Self { command, missing })
    }

    fn schema() -> Value {
        let subject = || {
            about(
                nullable(uuid()),
                "The user or agent that the memory is about; `subject` is another name for \
             it.",
            )
        };
        object(
            &["content"],
            &[
                ("content", some_text(MemoryContent::MAX_CHARS)),
                ("system", word(MemorySystem::WORDS)),
                ("type", word(MemoryKind::WORDS)),
                ("segment", word(MemorySegment::WORDS)),
                ("scope", nullable(word(MemoryScope::WORDS))),
                ("subject_id", subject()),
                ("subject", subject()),
                ("thought", nullable(json!({"type": "string", "maxLength": MemoryThought::MAX_CHARS}))),
                ("metadata", nullable(free_object())),
            ],
        )
    }
}

/// A word of a few; absent and null are nothing.
fn optional_word<T>(
    body: &mut ObjectReader<'_>,
    name: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Told> {
    let text = body.optional_text(name)?;
    text.map(|text| parse(&text).ok_or_else(|| body.fault(name, UNKNOWN))).transpose()
}

/// The subject goes by two names; both may be given if they agree.
fn subject(body: &mut ObjectReader<'_>) -> Result<Option<Uuid>, Told> {
    let [id, alias] = ["subject_id", "subject"].map(|name| {
        let text = body.optional_text(name)?;
        text.map(|text| parse_uuid(&text).ok_or_else(|| body.fault(name, "must be a UUID"))).transpose()
    });
    match (id?, alias?) {
        (Some(id), Some(alias)) if id != alias => {
            Err(body.fault("subject", "must not differ from subject_id"))
        }
        (id, alias) => Ok(id.or(alias)),
    }
}
