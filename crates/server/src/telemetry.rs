//! Log lines, on standard error.

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Config, LogFormat};

/// Starts logging as configured. A second call in one process changes nothing.
pub(crate) fn start(config: &Config) {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry().with(config.log.filter.clone());
    let started = match config.log.format {
        LogFormat::Text => registry.with(lines.with_ansi(false)).try_init(),
        LogFormat::Json => registry.with(lines.json()).try_init(),
    };
    if started.is_err() {
        tracing::debug!("logging was already initialized");
    }
}
