//! What is logged, and how.

use tracing_subscriber::filter::Targets;

use super::key::Key;
use super::values::Values;

/// What is logged, and how.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// Which lines.
    pub filter: Targets,
    /// How they look.
    pub format: LogFormat,
}

/// How log lines look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

pub(super) fn read(values: &mut Values) -> LogConfig {
    values.section("Log");
    let filter = Key::text(
        "log",
        "FILTER",
        "info",
        "What is logged: a level, or a list such as `info,http_wire=debug`, see [LOGGING.md](LOGGING.md).",
    );
    let format = Key::text("log_format", "text|json", "text", "How log lines look, `text` or `json`.");
    LogConfig { filter: values.read(filter, targets), format: values.read(format, format_of) }
}

fn targets(text: &str) -> Result<Targets, String> {
    text.parse().map_err(|fault| format!("'{text}' is not a filter ({fault})"))
}

fn format_of(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(format!("'{text}' is neither text nor json")),
    }
}
