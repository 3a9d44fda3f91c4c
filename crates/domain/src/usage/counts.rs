//! Reports of tokens, as agents send them. Pure.
//!
//! Thirteen adapters of band-sdk 6.0.1 report usage, all with `emit_usage` (`core/simple_adapter.py`), unless their
//! option `emit` leaves it out:
//!
//! - as an event of the kind `task`, whose metadata has one member `band_usage`: an object of exactly `input_tokens`,
//!   `output_tokens`, `cache_read_tokens`, and `cache_write_tokens`. All four are whole numbers, 0 if they are unknown;
//!   a report of zeros only is not sent. There is no model.
//! - once per turn, after its last call of the model, also if the turn has failed: the sum of the turn, never a running
//!   total. So reports are added up.
//! - as the last thing of the turn, usually while its attempt is open, so that the event has a cause. Whether the event
//!   is stored is not checked, and it is not sent again, but for the retries of its HTTP client.
//! - as the provider counts them: Anthropic's input excludes cached tokens, that of `OpenAI`, Gemini, and `LangChain`
//!   includes them. Reasoning is part of the output, except with Agno, where that depends on the provider.
//!
//! Codex also puts numbers named `codex_…_tokens` on other events of the same turn; they do not count.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value};

use crate::account::ModelType;
use crate::message::{Message, MessageKind};
use crate::words::words;

/// The largest sum of tokens: what every reader of JSON can hold, 2^53 - 1.
pub const MAX_TOKENS: u64 = (1 << 53) - 1;

/// The largest number of tokens of one kind in a report. It is more than a turn can use, and a wrong report cannot
/// bring a sum near to [`MAX_TOKENS`].
pub const MAX_REPORT_TOKENS: u64 = 1_000_000_000;

/// The member of an event's metadata that contains a report.
const MEMBER: &str = "band_usage";

words! {
    /// The kinds of tokens.
    TokenKind {
        /// Given to the model.
        Input = "input",
        /// Written by the model.
        Output = "output",
        /// Read from the provider's cache.
        CacheRead = "cache_read",
        /// Written to the provider's cache.
        CacheWrite = "cache_write",
    }
}

/// Numbers of tokens by kind, each at most [`MAX_TOKENS`], and as the provider counts them: the input may include the
/// cached tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TokenCounts {
    /// Given to the model.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Written to the provider's cache.
    pub cache_write: u64,
}

impl TokenCounts {
    /// The number of each kind.
    pub const fn by_kind(self) -> [(TokenKind, u64); 4] {
        [
            (TokenKind::Input, self.input),
            (TokenKind::Output, self.output),
            (TokenKind::CacheRead, self.cache_read),
            (TokenKind::CacheWrite, self.cache_write),
        ]
    }

    /// The sum of all kinds, by which lists are sorted; at most [`MAX_TOKENS`].
    pub fn total(self) -> u64 {
        self.by_kind().into_iter().fold(0, |sum, (_, number)| plus(sum, number))
    }

    /// The sum of both, each kind at most [`MAX_TOKENS`].
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: plus(self.input, other.input),
            output: plus(self.output, other.output),
            cache_read: plus(self.cache_read, other.cache_read),
            cache_write: plus(self.cache_write, other.cache_write),
        }
    }
}

fn plus(one: u64, other: u64) -> u64 {
    one.saturating_add(other).min(MAX_TOKENS)
}

/// The usage of one turn of an agent, as it reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsageReport {
    /// The tokens; at least one.
    pub tokens: TokenCounts,
    /// The model, if the report names one: no published client does. Without it, the model that the agent states at
    /// the time counts.
    pub model: Option<String>,
}

impl UsageReport {
    /// The report that a stored message contains, if it contains one.
    pub fn of(message: &Message) -> Option<Self> {
        if message.kind != MessageKind::Task {
            return None;
        }
        message.sender.agent()?;
        Self::in_metadata(message.metadata.as_ref()?)
    }

    /// Reads it member by member. What is no whole number from 0 to [`MAX_REPORT_TOKENS`], such as a negative number,
    /// a fraction, or a text, counts as 0, as band-sdk itself reads the numbers of providers. Without any token there
    /// is no report.
    fn in_metadata(metadata: &Map<String, Value>) -> Option<Self> {
        let report = metadata.get(MEMBER)?.as_object()?;
        let number = |name| {
            let given = report.get(name).and_then(Value::as_u64);
            given.filter(|number| *number <= MAX_REPORT_TOKENS).unwrap_or(0)
        };
        let tokens = TokenCounts {
            input: number("input_tokens"),
            output: number("output_tokens"),
            cache_read: number("cache_read_tokens"),
            cache_write: number("cache_write_tokens"),
        };
        let model = report.get("model").and_then(Value::as_str).and_then(|model| ModelType::new(model).ok());
        let model = model.map(|model| model.as_str().to_owned());
        (tokens != TokenCounts::default()).then_some(Self { tokens, model })
    }
}

/// The tokens in the reports that this server has stored since it started.
#[derive(Debug, Default)]
pub struct ReportedTokens([AtomicU64; TokenKind::ALL.len()]);

impl ReportedTokens {
    /// Counts the report of a stored message, if it contains one.
    pub fn note(&self, message: &Message) {
        let Some(report) = UsageReport::of(message) else { return };
        for (counter, (_, number)) in self.0.iter().zip(report.tokens.by_kind()) {
            // A hostile agent must not make the counter start again.
            let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| Some(plus(sum, number)));
        }
    }

    /// The number of tokens of each kind.
    pub fn read(&self) -> [(TokenKind, u64); TokenKind::ALL.len()] {
        let mut read = TokenCounts::default().by_kind();
        for ((_, number), counter) in read.iter_mut().zip(&self.0) {
            *number = counter.load(Ordering::Relaxed);
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(metadata: &Value) -> Option<UsageReport> {
        UsageReport::in_metadata(metadata.as_object().unwrap())
    }

    fn counts(input: u64, output: u64, cache_read: u64, cache_write: u64) -> TokenCounts {
        TokenCounts { input, output, cache_read, cache_write }
    }

    #[test]
    fn a_report_is_read_as_the_sdk_sends_it() {
        let report = json!({"input_tokens": 120, "output_tokens": 30, "cache_read_tokens": 7, "cache_write_tokens": 0});
        let read = read(&json!({ "band_usage": report, "other": 1 })).unwrap();
        assert_eq!((read.tokens, read.model), (counts(120, 30, 7, 0), None));
    }

    #[test]
    fn hostile_numbers_count_as_nothing() {
        let most = MAX_REPORT_TOKENS;
        for (given, number) in [
            (json!(0), 0),
            (json!(1), 1),
            (json!(most), most),
            (json!(most + 1), 0),
            (json!(MAX_TOKENS), 0),
            (json!(u64::MAX), 0),
            (json!(-1), 0),
            (json!(1.5), 0),
            (json!(1e300), 0),
            (json!("12"), 0),
            (json!(true), 0),
            (json!(null), 0),
            (json!([5]), 0),
            (json!({"n": 5}), 0),
        ] {
            let report = json!({"band_usage": {"input_tokens": given, "output_tokens": 3}});
            assert_eq!(read(&report).unwrap().tokens, counts(number, 3, 0, 0), "{report}");
        }
    }

    #[test]
    fn what_reports_no_token_is_no_report() {
        for metadata in [
            json!({}),
            json!({"band_usage": null}),
            json!({"band_usage": 7}),
            json!({"band_usage": "7"}),
            json!({"band_usage": [{"input_tokens": 7}]}),
            json!({"band_usage": {}}),
            json!({"band_usage": {"input_tokens": 0, "model": "x"}}),
            json!({"band_usage": {"total_tokens": 7}}),
            json!({"input_tokens": 7, "codex_input_tokens": 7}),
        ] {
            assert_eq!(read(&metadata), None, "{metadata}");
        }
    }

    #[test]
    fn a_model_counts_if_an_agent_could_state_it() {
        let model =
            |model: Value| read(&json!({"band_usage": {"output_tokens": 1, "model": model}})).unwrap().model;
        assert_eq!(model(json!(" gpt-4.1 ")).as_deref(), Some("gpt-4.1"));
        for wrong in [json!(""), json!(" "), json!("a\nb"), json!("x".repeat(101)), json!(4), json!(null)] {
            assert_eq!(model(wrong.clone()), None, "{wrong}");
        }
    }

    #[test]
    fn sums_stop_at_the_largest() {
        let all = counts(MAX_TOKENS, 1, MAX_TOKENS - 1, 0);
        assert_eq!(all.plus(counts(1, 1, 1, 1)), counts(MAX_TOKENS, 2, MAX_TOKENS, 1));
        assert_eq!((all.total(), counts(1, 2, 3, 4).total()), (MAX_TOKENS, 10));
    }
}
