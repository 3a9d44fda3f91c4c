//! The configuration: one typed tree, read once, checked as a whole.
//!
//! [`Settings`] is what may be written (all optional, the same for flags, variables and the
//! file); [`Config`] is what the server runs with.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adapters_postgres::PostgresConfig;
use clap::{Args, ValueEnum};
use domain::plan::{Plan, PlanName};
use http_wire::limit::RateLimitConfig;
use serde::Deserialize;
use ws_gateway::HubConfig;

use crate::failure::Failure;
use crate::plans::{self, PlanSettings};
use crate::rates::RateSettings;
use crate::store::StoreAt;

/// The file that is read when no other is named; it need not exist.
const DEFAULT_FILE: &str = "parlance.toml";

/// What may be set. Each is a flag, a variable `PARLANCE_…`, or a line in the file.
#[derive(Args, Deserialize, Clone, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// File with settings, TOML [default: parlance.toml, if there is one].
    #[arg(long, env = "PARLANCE_CONFIG", global = true, value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,

    /// Address and port to listen on [default: 127.0.0.1:4000].
    #[arg(long, env = "PARLANCE_LISTEN", global = true, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,

    /// Where the data is: sqlite:PATH, `sqlite::memory:` or <postgres://USER:PASSWORD@HOST/DATABASE>
    /// [default: a file in the data directory].
    #[arg(long, env = "PARLANCE_DATABASE_URL", global = true, value_name = "URL", hide_env_values = true)]
    pub database_url: Option<String>,

    /// The most connections to PostgreSQL at once [default: 16].
    #[arg(long, env = "PARLANCE_DATABASE_CONNECTIONS", global = true, value_name = "NUMBER")]
    pub database_connections: Option<usize>,

    /// How long a request waits for PostgreSQL before it is told that the store is unavailable, in
    /// milliseconds [default: 5000].
    #[arg(long, env = "PARLANCE_DATABASE_WAIT_MS", global = true, value_name = "MS")]
    pub database_wait_ms: Option<u64>,

    /// How long PostgreSQL may work on one statement, in milliseconds [default: 15000].
    #[arg(long, env = "PARLANCE_DATABASE_STATEMENT_MS", global = true, value_name = "MS")]
    pub database_statement_ms: Option<u64>,

    /// Directory of the embedded store, and of the keys that sign tokens [default: data].
    #[arg(long, env = "PARLANCE_DATA_DIR", global = true, value_name = "DIRECTORY")]
    pub data_dir: Option<PathBuf>,

    /// What is logged: a level, or a list such as `info,http_wire=debug` [default: info].
    #[arg(long, env = "PARLANCE_LOG", global = true, value_name = "FILTER")]
    pub log: Option<String>,

    /// How log lines look [default: text].
    #[arg(long, env = "PARLANCE_LOG_FORMAT", global = true, value_enum)]
    pub log_format: Option<LogFormat>,

    /// A socket that sends nothing for so long is closed, in milliseconds [default: 60000].
    #[arg(long, env = "PARLANCE_SOCKET_IDLE_TIMEOUT_MS", global = true, value_name = "MS")]
    pub socket_idle_timeout_ms: Option<u64>,

    /// A socket whose client lets more bytes than this wait is closed [default: 10485760].
    #[arg(long, env = "PARLANCE_SOCKET_QUEUE_BYTES", global = true, value_name = "BYTES")]
    pub socket_queue_bytes: Option<usize>,

    /// So many connections one user or agent may have to the socket [default: 1000].
    #[arg(long, env = "PARLANCE_MAX_SOCKETS_PER_CALLER", global = true, value_name = "NUMBER")]
    pub max_sockets_per_caller: Option<usize>,

    /// What no socket of an agent has taken is pushed again after so long, in milliseconds
    /// [default: 5000].
    #[arg(long, env = "PARLANCE_PUSH_AGAIN_AFTER_MS", global = true, value_name = "MS")]
    pub push_again_after_ms: Option<u64>,

    /// For tests: one of so many new messages is not told to sockets. Not in the file, so that it
    /// cannot stay on by mistake.
    #[arg(long, env = "PARLANCE_FAULT_LOSE_MESSAGES", global = true, value_name = "ONE_OF", hide = true)]
    #[serde(skip)]
    pub fault_lose_messages: Option<u64>,

    /// A contact request that nobody answers expires after so many days, 0 for never [default: 30].
    #[arg(long, env = "PARLANCE_CONTACT_REQUEST_DAYS", global = true, value_name = "DAYS")]
    pub contact_request_days: Option<u32>,

    /// Plan of organizations that are made without one [default: enterprise].
    #[arg(long, env = "PARLANCE_DEFAULT_PLAN", global = true, value_name = "PLAN")]
    pub default_plan: Option<String>,

    /// Plans beside `enterprise`, by name; in the file only.
    #[arg(skip)]
    pub plans: BTreeMap<String, PlanSettings>,

    /// How often somebody may ask.
    #[command(flatten)]
    #[serde(flatten)]
    pub rates: RateSettings,
}

/// How log lines look.
#[derive(ValueEnum, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What the server runs with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address and port to listen on.
    pub listen: String,
    /// Where the data is.
    pub store: StoreAt,
    /// Directory of what is no row: the embedded store, and the keys that sign tokens.
    pub data_dir: PathBuf,
    /// What is logged.
    pub log: String,
    /// How log lines look.
    pub log_format: LogFormat,
    /// How long a silent socket stays.
    pub socket_idle_timeout: Duration,
    /// How many bytes may wait for one socket.
    pub socket_queue_bytes: usize,
    /// How many connections one caller may have.
    pub max_sockets_per_caller: usize,
    /// After how long a message that no socket has taken is pushed again.
    pub push_again_after: Duration,
    /// One of how many new messages is lost on purpose, if that is wanted.
    pub lose_messages: Option<u64>,
    /// How many days a contact request waits for its answer; 0 is for ever.
    pub contact_request_days: u32,
    /// Plan of organizations that are made without one.
    pub default_plan: PlanName,
    /// Plans beside the one that is always there.
    pub plans: Vec<Plan>,
    /// How often somebody may ask.
    pub rates: RateLimitConfig,
}

impl Config {
    /// Completes `given` (flags and variables) from the file and the defaults, and checks it.
    pub fn load(given: Settings) -> Result<Self, Failure> {
        let file = match &given.config {
            Some(path) => read_file(path)?,
            None => read_file_if_there(Path::new(DEFAULT_FILE))?,
        };
        Self::from_settings(given.over(file))
    }

    /// Refuses a store in memory, for commands: only its own server would see what they do.
    pub(crate) fn refuse_memory(&self) -> Result<(), Failure> {
        match self.store {
            StoreAt::Memory => {
                Err(Failure::plain("a store in memory is seen by its own server only; name a file"))
            }
            StoreAt::File(_) | StoreAt::Postgres(_) => Ok(()),
        }
    }

    /// What the keys that sign tokens stand beside when the store is no file.
    pub(crate) fn key_place(&self) -> Result<PathBuf, Failure> {
        let directory = &self.data_dir;
        std::fs::create_dir_all(directory).map_err(|cause| {
            Failure::new(format_args!("cannot use the data directory {}", directory.display()), cause)
        })?;
        Ok(directory.join("parlance.db"))
    }

    /// Checks all settings and reports every fault at once.
    fn from_settings(settings: Settings) -> Result<Self, Failure> {
        let mut faults = Vec::new();
        let data_dir = settings.data_dir.unwrap_or_else(|| PathBuf::from("data"));
        let store = match settings.database_url.as_deref() {
            None => StoreAt::File(data_dir.join("parlance.db")),
            Some(url) => parse_database_url(url).unwrap_or_else(|fault| {
                faults.push(fault);
                StoreAt::Memory
            }),
        };
        let bounds =
            (settings.database_connections, settings.database_wait_ms, settings.database_statement_ms);
        let store = with_bounds(store, bounds, &mut faults);
        let listen = settings.listen.unwrap_or_else(|| "127.0.0.1:4000".to_owned());
        if listen.rsplit_once(':').is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err())
        {
            faults.push(format!("listen: '{listen}' is not ADDRESS:PORT"));
        }
        let idle_ms = settings.socket_idle_timeout_ms.unwrap_or(60_000);
        if idle_ms == 0 {
            faults.push("socket_idle_timeout_ms: must be more than 0".to_owned());
        }
        let socket_queue_bytes = settings.socket_queue_bytes.unwrap_or(HubConfig::default().queue_bytes);
        if socket_queue_bytes < 64 * 1024 {
            faults.push("socket_queue_bytes: must be at least 65536".to_owned());
        }
        let max_sockets_per_caller = most_sockets(settings.max_sockets_per_caller, &mut faults);
        let push_again_ms = settings.push_again_after_ms.unwrap_or(5_000);
        if push_again_ms < 100 {
            faults.push("push_again_after_ms: must be at least 100".to_owned());
        }
        if settings.fault_lose_messages == Some(0) {
            faults.push("fault_lose_messages: must be at least 1".to_owned());
        }
        let rates = settings.rates.check(&mut faults);
        let (default_plan, plans) = plans::check(settings.default_plan, settings.plans, &mut faults);
        let log = settings.log.unwrap_or_else(|| "info".to_owned());
        if let Err(fault) = log.parse::<tracing_subscriber::filter::Targets>() {
            faults.push(format!("log: '{log}' is not a filter ({fault})"));
        }
        if !faults.is_empty() {
            return Err(Failure::plain(format!("the configuration is wrong: {}", faults.join("; "))));
        }
        Ok(Self {
            listen,
            store,
            data_dir,
            log,
            log_format: settings.log_format.unwrap_or_default(),
            socket_idle_timeout: Duration::from_millis(idle_ms),
            socket_queue_bytes,
            max_sockets_per_caller,
            push_again_after: Duration::from_millis(push_again_ms),
            lose_messages: settings.fault_lose_messages,
            contact_request_days: settings.contact_request_days.unwrap_or(30),
            default_plan,
            plans,
            rates,
        })
    }
}

impl Settings {
    /// These settings, completed from `lower`.
    fn over(self, lower: Self) -> Self {
        Self {
            config: self.config,
            listen: self.listen.or(lower.listen),
            database_url: self.database_url.or(lower.database_url),
            data_dir: self.data_dir.or(lower.data_dir),
            database_connections: self.database_connections.or(lower.database_connections),
            database_wait_ms: self.database_wait_ms.or(lower.database_wait_ms),
            database_statement_ms: self.database_statement_ms.or(lower.database_statement_ms),
            log: self.log.or(lower.log),
            log_format: self.log_format.or(lower.log_format),
            socket_idle_timeout_ms: self.socket_idle_timeout_ms.or(lower.socket_idle_timeout_ms),
            socket_queue_bytes: self.socket_queue_bytes.or(lower.socket_queue_bytes),
            max_sockets_per_caller: self.max_sockets_per_caller.or(lower.max_sockets_per_caller),
            push_again_after_ms: self.push_again_after_ms.or(lower.push_again_after_ms),
            fault_lose_messages: self.fault_lose_messages,
            contact_request_days: self.contact_request_days.or(lower.contact_request_days),
            default_plan: self.default_plan.or(lower.default_plan),
            plans: if self.plans.is_empty() { lower.plans } else { self.plans },
            rates: self.rates.over(lower.rates),
        }
    }
}

fn read_file(path: &Path) -> Result<Settings, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|cause| Failure::new(format_args!("cannot read {}", path.display()), cause))?;
    toml::from_str(&text).map_err(|cause| Failure::plain(format!("{}: {}", path.display(), one_line(&cause))))
}

fn read_file_if_there(path: &Path) -> Result<Settings, Failure> {
    match std::fs::metadata(path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(Settings::default()),
        _ => read_file(path),
    }
}

/// The fault of a TOML file without the drawing of the line, but with its number.
fn one_line(cause: &toml::de::Error) -> String {
    let text = cause.to_string();
    let place = text.lines().next().unwrap_or_default().to_owned();
    let message = cause.message().replace('\n', " ");
    if place.contains(&message) { message } else { format!("{place}: {message}") }
}

fn most_sockets(given: Option<usize>, faults: &mut Vec<String>) -> usize {
    if given == Some(0) {
        faults.push("max_sockets_per_caller: must be at least 1".to_owned());
    }
    given.unwrap_or(HubConfig::default().max_sockets_per_caller)
}

/// The bounds of the work on PostgreSQL: connections, milliseconds of waiting and of a statement.
fn with_bounds(
    store: StoreAt,
    (connections, wait, statement): (Option<usize>, Option<u64>, Option<u64>),
    faults: &mut Vec<String>,
) -> StoreAt {
    if connections == Some(0) || connections.is_some_and(|number| number > 10_000) {
        faults.push("database_connections: must be 1 to 10000".to_owned());
    }
    if wait == Some(0) {
        faults.push("database_wait_ms: must be more than 0".to_owned());
    }
    if statement.is_some_and(|time| time == 0 || time > 3_600_000) {
        faults.push("database_statement_ms: must be 1 to 3600000".to_owned());
    }
    match store {
        StoreAt::Postgres(usual) => StoreAt::Postgres(PostgresConfig {
            connections: connections.unwrap_or(usual.connections),
            acquire_timeout: wait.map_or(usual.acquire_timeout, Duration::from_millis),
            statement_timeout: statement.map_or(usual.statement_timeout, Duration::from_millis),
            ..usual
        }),
        embedded => embedded,
    }
}

fn parse_database_url(url: &str) -> Result<StoreAt, String> {
    match url.split_once(':') {
        Some(("postgres" | "postgresql", _)) => {
            let at = PostgresConfig::at(url);
            at.check().map_err(|fault| format!("database_url: {fault}"))?;
            Ok(StoreAt::Postgres(at))
        }
        Some(("sqlite", ":memory:")) => Ok(StoreAt::Memory),
        Some(("sqlite", path)) if !path.is_empty() => {
            Ok(StoreAt::File(PathBuf::from(path.strip_prefix("//").unwrap_or(path))))
        }
        // The rest of the URL may hold a password and is not repeated.
        Some((scheme, _)) if scheme != "sqlite" => {
            Err(format!("database_url: there is no store for '{scheme}:', only sqlite:PATH and postgres://…"))
        }
        _ => Err("database_url: must be sqlite:PATH, sqlite::memory: or postgres://…".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Settings {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_defaults() {
        let given = Settings { listen: Some("127.0.0.1:1".to_owned()), ..Settings::default() };
        let merged = given.over(file("listen = '127.0.0.1:2'\ndata_dir = '/srv/p'\nlog_format = 'json'"));
        let config = Config::from_settings(merged).unwrap();
        assert_eq!(config.listen, "127.0.0.1:1");
        assert!(matches!(config.store, StoreAt::File(path) if path == Path::new("/srv/p/parlance.db")));
        assert_eq!(config.log_format, LogFormat::Json);
        assert_eq!(config.socket_idle_timeout, Duration::from_secs(60));
    }

    #[test]
    fn every_fault_is_reported_at_once() {
        let settings = file(
            "listen = 'nowhere'\ndatabase_url = 'mysql://u:secret@h/d'\nsocket_queue_bytes = 1\nmax_sockets_per_caller = 0",
        );
        let failure = Config::from_settings(settings).unwrap_err().to_string();
        for part in ["listen", "database_url", "'mysql:'", "socket_queue_bytes", "max_sockets_per_caller"] {
            assert!(failure.contains(part), "{failure}");
        }
        assert!(!failure.contains("secret"));
    }

    #[test]
    fn rates_are_settings_like_the_others() {
        let merged = Settings::default().over(file("rate_limit = '7/9'\nlisten = '127.0.0.1:2'"));
        let config = Config::from_settings(merged).unwrap();
        assert_eq!(config.rates.general, http_wire::limit::Quota::new(7, 9));
        let failure = Config::from_settings(file("rate_limit = 'x'\nlisten = 'y'")).unwrap_err().to_string();
        assert!(failure.contains("rate_limit:") && failure.contains("listen"), "{failure}");
        assert!(toml::from_str::<Settings>("rate_limt = '1/1'").is_err());
        assert!(toml::from_str::<Settings>("rate_limits = 'perhaps'").is_err());
    }

    #[test]
    fn unknown_keys_are_faults() {
        let fault = toml::from_str::<Settings>("lisen = 'x'").unwrap_err();
        assert!(one_line(&fault).contains("lisen"), "{}", one_line(&fault));
    }

    #[test]
    fn database_urls() {
        assert!(matches!(parse_database_url("sqlite::memory:"), Ok(StoreAt::Memory)));
        for (url, path) in
            [("sqlite:a/b.db", "a/b.db"), ("sqlite:/a.db", "/a.db"), ("sqlite:///a.db", "/a.db")]
        {
            assert!(matches!(parse_database_url(url), Ok(StoreAt::File(p)) if p == Path::new(path)), "{url}");
        }
        for url in ["postgres://u@h/d", "postgresql:///d?host=/run"] {
            assert!(matches!(parse_database_url(url), Ok(StoreAt::Postgres(at)) if at.url == url), "{url}");
        }
        for url in ["sqlite:", "sqlite", "mysql://h/d", ""] {
            assert!(parse_database_url(url).is_err(), "{url}");
        }
    }
}
