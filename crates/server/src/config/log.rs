//! What is logged, and how.

use tracing_subscriber::filter::{LevelFilter, Targets};

use super::key::Key;
use super::values::Values;

/// The client of NATS tells of each of its attempts, and the bus of what an operator should look at. So it is heard
/// only where everything is, or where it is named.
const NATS_CLIENT: &str = "async_nats";

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
    let targets: Targets = text.parse().map_err(|fault| format!("'{text}' is not a filter ({fault})"))?;
    let is_named = targets.iter().any(|(target, _)| target.starts_with(NATS_CLIENT));
    let is_detailed = targets.default_level().is_some_and(|level| level > LevelFilter::INFO);
    let is_silent = !is_named && !is_detailed;
    Ok(if is_silent { targets.with_target(NATS_CLIENT, LevelFilter::OFF) } else { targets })
}

fn format_of(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(format!("'{text}' is neither text nor json")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_of_nats_is_heard_where_it_is_asked_for() {
        let heard = |text: &str| {
            let target = "async_nats::connector";
            let levels = [tracing::Level::ERROR, tracing::Level::INFO];
            levels.map(|level| targets(text).unwrap().would_enable(target, &level))
        };
        assert_eq!(heard("info"), [false, false]);
        assert_eq!(heard("warn,http_wire=debug"), [false, false]);
        assert_eq!(heard("debug"), [true, true]);
        assert_eq!(heard("info,async_nats=warn"), [true, false]);
        assert_eq!(heard("async_nats::connector=info"), [true, true]);
        assert!(targets("info").unwrap().would_enable("adapters_nats", &tracing::Level::INFO));
        assert_eq!(targets("info").unwrap().default_level(), Some(LevelFilter::INFO));
    }
}
