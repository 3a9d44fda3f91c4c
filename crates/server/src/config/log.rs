//! The level and format of the log.

use tracing_subscriber::filter::{LevelFilter, Targets};

use super::key::Key;
use super::values::Values;

/// Libraries that log what an operator need not know, with the level up to which they are logged unless the
/// setting selects everything or names them. The NATS client logs each attempt to connect; the bus logs what
/// matters. The HTTP dispatcher logs an error for each connection on which a client breaks the protocol, such
/// as with too long headers.
const QUIET: [(&str, LevelFilter); 4] = [
    ("async_nats", LevelFilter::OFF),
    ("actix_http", LevelFilter::OFF),
    ("actix_server", LevelFilter::WARN),
    ("actix_web", LevelFilter::WARN),
];

/// The library of the MCP server, which logs whole messages of the protocol: never logged, since they hold texts.
const SILENT: &str = "rmcp";

/// The level and format of the log.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// The lines that are logged.
    pub filter: Targets,
    /// The format of a line.
    pub format: LogFormat,
}

/// The format of log lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

pub(super) fn read(values: &mut Values) -> LogConfig {
    values.section("Log");
    let filter = Key::text(
        "log",
        "FILTER",
        "info",
        "Log level, or a filter such as `info,http_wire=debug`. See [LOGGING.md](LOGGING.md).",
    );
    let format = Key::text("log_format", "text|json", "text", "Format of log lines.");
    LogConfig { filter: values.read(filter, targets), format: values.read(format, format_of) }
}

fn targets(text: &str) -> Result<Targets, String> {
    let targets: Targets = text.parse().map_err(|fault| format!("'{text}' is not a filter ({fault})"))?;
    let is_silent = |target: &str| target == SILENT || target.starts_with("rmcp::");
    let default = targets.default_level();
    let kept = targets.into_iter().filter(|(target, _)| !is_silent(target)).collect::<Targets>();
    let kept = kept.with_target(SILENT, LevelFilter::OFF);
    let targets = default.map_or(kept.clone(), |level| kept.with_default(level));
    if targets.default_level().is_some_and(|level| level > LevelFilter::INFO) {
        return Ok(targets);
    }
    let named = targets.iter().map(|(target, _)| target.to_owned()).collect::<Vec<_>>();
    let is_named = |library: &str| named.iter().any(|target| target.starts_with(library));
    let general = targets.default_level().unwrap_or(LevelFilter::OFF);
    let quiet = QUIET.into_iter().filter(|(library, _)| !is_named(library));
    Ok(targets.with_targets(quiet.map(|(library, most)| (library, most.min(general)))))
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
    fn libraries_are_heard_where_they_are_asked_for() {
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
        let dispatcher = |text: &str| {
            targets(text).unwrap().would_enable("actix_http::h1::dispatcher", &tracing::Level::ERROR)
        };
        assert_eq!(["info", "warn,actix_http=warn", "debug"].map(dispatcher), [false, true, true]);
        assert!(targets("info").unwrap().would_enable("adapters_nats", &tracing::Level::INFO));
        for text in ["info", "trace", "rmcp=trace"] {
            assert!(!targets(text).unwrap().would_enable("rmcp::service", &tracing::Level::ERROR), "{text}");
        }
        let framework = |text: &str| {
            let levels = [tracing::Level::WARN, tracing::Level::INFO];
            levels.map(|level| targets(text).unwrap().would_enable("actix_server::builder", &level))
        };
        assert_eq!(framework("info"), [true, false]);
        assert_eq!(framework("error"), [false, false]);
        assert_eq!(framework("trace"), [true, true]);
        assert_eq!(framework("info,actix_server=info"), [true, true]);
        assert_eq!(targets("info").unwrap().default_level(), Some(LevelFilter::INFO));
    }
}
