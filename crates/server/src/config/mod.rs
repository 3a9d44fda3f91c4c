//! The configuration: a typed structure that is read once and checked as a whole.
//!
//! Every setting is a flag, a variable `PARLANCE_…` or a line in the file; a flag wins over the variable,
//! the variable over the file. The section that reads a setting also declares its name, default,
//! description, and form. The command line, `parlance config`, and `docs/configuration.md` are generated
//! from that.

mod boards;
mod bus;
mod client;
mod cluster;
mod database;
mod env_file;
mod file;
mod files;
mod flags;
mod guard;
mod http;
mod key;
mod log;
mod notifications;
mod oidc;
mod parse;
mod passwords;
mod plans;
mod prices;
mod rates;
mod reference;
mod retention;
mod sockets;
mod tls;
mod traces;
mod values;
mod webhooks;
mod work;

use std::path::PathBuf;
use std::time::Duration;

use crate::bus::Settings as BusSettings;
use domain::delivery::ClaimLease;
use domain::login::Registration;
use domain::message::{MaxHops, MaxPairMessages, Retention};
use domain::plan::{Plan, PlanName};
use domain::usage::Prices;
use domain::work::WorkThresholds;
use http_wire::limit::RateLimitConfig;
use http_wire::public_url::PublicUrl;

pub(crate) use client::ClientSettings;
pub use cluster::ClusterMode;
pub(crate) use database::without_password;
pub use files::{FilesAt, FilesConfig};
pub use flags::{Flags, LeadingFlags, ServerFlags};
pub(crate) use flags::{shell_word, unused_store_flags};
pub use http::HttpConfig;
pub use log::{LogConfig, LogFormat};
pub use notifications::EmailConfig;
pub use oidc::{OidcConfig, ProviderConfig};
pub(crate) use reference::{example_file, reference};
pub use sockets::SocketConfig;
pub use traces::TraceConfig;
pub(crate) use values::{Fault, Origin, Setting};
pub use webhooks::WebhooksConfig;

use crate::failure::Failure;
use crate::lock::make_directory;
use crate::passwords::PasswordConfig;
use crate::store::StoreAt;
use crate::tls::{TlsFault, TlsFiles};
use key::Key;
use values::{Values, in_order};

/// The default time over which one of several servers closes its sockets when it stops.
const DRAIN_OF_SEVERAL: Duration = Duration::from_secs(5);

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address and port to listen on.
    pub listen: String,
    /// The address at which clients reach the server from outside, if it is set.
    pub public_url: Option<PublicUrl>,
    /// Whether the console is served.
    pub console: bool,
    /// The directory of the documentation; `None` if it is not served.
    pub docs_directory: Option<PathBuf>,
    /// Whether the operator interface is served.
    pub operator_api: bool,
    /// Whether the MCP server is served.
    pub mcp: bool,
    /// Whether the A2A server is served.
    pub a2a: bool,
    /// The address of the metrics; `None` if they are off.
    pub metrics_listen: Option<String>,
    /// The data directory: the file of the embedded store, and the keys that sign tokens.
    pub data_dir: PathBuf,
    /// The file to which the first user's key is written; without one it is printed.
    pub first_key_file: Option<PathBuf>,
    /// With fewer free bytes on the disk of the embedded store, only small writes are accepted.
    pub min_free_bytes: u64,
    /// The location of the data.
    pub store: StoreAt,
    /// How many servers may use the same store.
    pub cluster_mode: ClusterMode,
    /// The bus to other servers; `None` for a single server.
    pub bus: Option<BusSettings>,
    /// The limits of a connection.
    pub http: HttpConfig,
    /// The certificate and key of the listener; `None` without TLS.
    pub tls: Option<TlsFiles>,
    /// The level and format of the log.
    pub log: LogConfig,
    /// The collector that receives traces of requests.
    pub traces: TraceConfig,
    /// The settings of sockets and of messages that are pushed to them.
    pub sockets: SocketConfig,
    /// The thresholds of the flags of work.
    pub work: WorkThresholds,
    /// How long a claim of a message lasts.
    pub claim_lease: ClaimLease,
    /// The limit of hops of organizations that have none of their own.
    pub max_hops: MaxHops,
    /// The largest number of messages of a tree; 0 for no limit.
    pub max_tree_messages: u32,
    /// The limit of pairs of organizations that have none of their own.
    pub max_pair_messages: MaxPairMessages,
    /// The maximum number of tasks of a chat; 0 turns boards off.
    pub max_tasks: u32,
    /// The files of chats.
    pub files: FilesConfig,
    /// The settings of webhooks.
    pub webhooks: WebhooksConfig,
    /// How e-mail is sent; `None` if it is not.
    pub email: Option<EmailConfig>,
    /// The number of days after which a contact request expires; 0 for never.
    pub contact_request_days: u32,
    /// The number of days after which a new key expires if no expiry is requested; 0 for never.
    pub key_ttl_days: u32,
    /// The ages at which messages are erased; empty if they are kept.
    pub retention: Vec<Retention>,
    /// The plan of a new organization for which none is named.
    pub default_plan: PlanName,
    /// The plans in addition to the built-in one.
    pub plans: Vec<Plan>,
    /// The prices of models.
    pub prices: Prices,
    /// The memory and time of a password hash.
    pub passwords: PasswordConfig,
    /// Who may register.
    pub registration: Registration,
    /// How users log in.
    pub oidc: OidcConfig,
    /// The rate limits.
    pub rates: RateLimitConfig,
}

/// A configuration as it was read, valid or not.
pub(crate) struct Examined {
    /// The configuration, with defaults in place of invalid values.
    pub(crate) config: Config,
    /// Every setting with its origin.
    pub(crate) settings: Vec<Setting>,
    /// All faults.
    pub(crate) faults: Vec<Fault>,
}

impl Examined {
    /// Adds the faults of files that settings name.
    pub(crate) fn with_files(mut self) -> Self {
        let read = self.config.tls.as_ref().map(TlsFiles::read);
        if let Some(Err(TlsFault { setting, problem })) = read {
            let set = self.settings.iter().find(|known| known.key.name == setting);
            let origin = set.map_or(Origin::Default, |known| known.origin.clone());
            self.faults.push(Fault { key: setting.to_owned(), problem, origin });
            in_order(&mut self.faults);
        }
        self
    }
}

/// Reads the address at which people reach the server.
fn public_url(values: &mut Values) -> Option<PublicUrl> {
    let public_url = Key::text(
        "public_url",
        "URL",
        "none",
        "Address at which people reach the server, for example `https://chat.example.org`: http or https, without \
         a slash at its end. With it, an invitation has a link to the page that `GET /invitation` serves, \
         and an agent has an `avatar_url`. With a host name and https, users can add passkeys.",
    );
    values.optional(public_url, str::parse)
}

/// Reads where the first key is written.
fn first_key_file(values: &mut Values) -> Option<PathBuf> {
    let first_key = Key::text(
        "first_key_file",
        "FILE",
        "none, the key is printed",
        "File for the first user's API key, written by the first start and readable only by its owner. Set it \
         where output is kept, as by `docker logs`.",
    );
    values.optional(first_key, parse::text).map(PathBuf::from)
}

/// Reads where the documentation is.
fn docs_directory(values: &mut Values) -> Option<PathBuf> {
    let key = Key::text(
        "docs_directory",
        "DIRECTORY",
        "none",
        "Directory of the documentation as web pages, which `scripts/book` builds and the Debian package contains. The \
         server shows them at `/docs/`. Only the operator may be able to write to it.",
    );
    values.optional(key, parse::text).map(PathBuf::from)
}

/// Reads whether the operator interface is served.
fn operator_api(values: &mut Values) -> bool {
    let key = Key::switch(
        "operator_api",
        "true",
        "Whether to serve `/api/v1/operator`, where users with the role `admin` see all accounts, organizations, \
         and connections, and disable accounts.",
    );
    values.read(key, parse::switch)
}

fn min_free_bytes(values: &mut Values) -> u64 {
    let min_free = Key::number(
        "min_free_mib",
        "MIB",
        "256",
        "If less than this is free on the disk of the embedded store, only requests with small bodies are \
         accepted; others get 503. 0 turns this off. See *When the disk is full* in \
         [operations.md](operations.md).",
    );
    values.read(min_free, parse::number(0, 1_000_000_u64)) * 1024 * 1024
}

/// Reads whether the MCP server and the A2A server are served.
fn doors(values: &mut Values) -> (bool, bool) {
    let what = "Whether to serve `/mcp`, where AI applications use Parlance over MCP; see [mcp.md](mcp.md).";
    let mcp = values.read(Key::switch("mcp", "true", what), parse::switch);
    let what = "Whether to serve `/a2a`, where other programs give tasks to listed agents over A2A; see [a2a.md](a2a.md).";
    (mcp, values.read(Key::switch("a2a", "true", what), parse::switch))
}

impl Config {
    /// Completes the flags by variables, the file, and the defaults, and checks the result.
    ///
    /// # Errors
    /// [`Failure`] names every fault.
    pub fn load(flags: Flags) -> Result<Self, Failure> {
        let Examined { config, faults, .. } = Self::examine(flags);
        if faults.is_empty() {
            return Ok(config);
        }
        let faults = faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let next = "fix it, then run `parlance config check`, which lists each fault on a line";
        Err(Failure::plain(format!("invalid configuration: {faults}")).next(next))
    }

    /// Like [`Self::load`], with the origin of every setting and all faults.
    pub(crate) fn examine(flags: Flags) -> Examined {
        Self::examined(Values::gather(flags, std::env::vars_os()))
    }

    /// Every setting with its default.
    pub(crate) fn described() -> Vec<Setting> {
        let nothing = Values::gather_nothing();
        Self::examined(nothing).settings
    }

    fn examined(mut values: Values) -> Examined {
        let config = Self::read(&mut values);
        let (settings, faults) = values.end();
        Examined { config, settings, faults }
    }

    fn read(values: &mut Values) -> Self {
        values.section("Address and data");
        let listen = Key::text("listen", "ADDRESS:PORT", "127.0.0.1:4000", "Address and port to listen on.");
        let listen = values.read(listen, parse::listen);
        let public_url = public_url(values);
        let console = Key::switch(
            "console",
            "true",
            "Whether to serve the console, a page in the browser, at `/console/`.",
        );
        let console = values.read(console, parse::switch);
        let docs_directory = docs_directory(values);
        let operator_api = operator_api(values);
        let (mcp, a2a) = doors(values);
        let metrics = Key::text(
            "metrics_listen",
            "ADDRESS:PORT",
            "off",
            "Address for `GET /metrics` (Prometheus), `/health`, and `/ready`. Everyone who can reach it can read \
             the metrics, so prefer the loopback address, for example `127.0.0.1:9400`.",
        );
        let metrics_listen = values.read(metrics, parse::listen_or_off);
        let data_dir = Key::text(
            "data_dir",
            "DIRECTORY",
            "data",
            "Directory for the embedded store and for the keys that sign tokens.",
        );
        let data_dir = PathBuf::from(values.read(data_dir, parse::text));
        let first_key_file = first_key_file(values);
        let min_free_bytes = min_free_bytes(values);
        let store = database::read(values, &data_dir);
        let cluster_mode = cluster::read(values, &store);
        let bus = bus::read(values, &store);
        let http = http::read(values);
        let tls = tls::read(values);
        let log = log::read(values);
        let traces = traces::read(values);
        let sockets = sockets::read(values);
        let (work, claim_lease) = work::read(values);
        let max_hops = guard::max_hops(values);
        let max_tree_messages = guard::max_tree_messages(values);
        let max_pair_messages = guard::max_pair_messages(values);
        let max_tasks = boards::max_tasks(values);
        let files = files::read(values, &data_dir, &store, cluster_mode);
        let webhooks = webhooks::read(values);
        let email = notifications::read(values);
        let contact_request_days = plans::contact_request_days(values);
        let (default_plan, plans) = plans::read(values);
        let prices = prices::read(values);
        let retention = retention::read(values);
        let (registration, passwords) = passwords::read(values);
        notifications::check_registration(values, email.as_ref(), registration);
        let key_ttl_days = passwords::key_ttl_days(values);
        let oidc = oidc::read(values, public_url.as_ref(), console);
        let rates = rates::read(values);
        Self {
            listen,
            public_url,
            console,
            docs_directory,
            operator_api,
            mcp,
            a2a,
            metrics_listen,
            data_dir,
            first_key_file,
            min_free_bytes,
            store,
            cluster_mode,
            bus,
            http,
            tls,
            log,
            traces,
            sockets,
            work,
            claim_lease,
            max_hops,
            max_tree_messages,
            max_pair_messages,
            max_tasks,
            files,
            webhooks,
            email,
            contact_request_days,
            key_ttl_days,
            retention,
            default_plan,
            plans,
            prices,
            passwords,
            registration,
            oidc,
            rates,
        }
    }

    /// Whether other servers may use the same store; they then agree on who is connected where.
    pub(crate) fn is_one_of_several(&self) -> bool {
        self.cluster_mode == ClusterMode::Multi || self.bus.is_some()
    }

    /// The time over which a stopping server closes its sockets.
    pub(crate) fn drain(&self) -> Duration {
        let usual = if self.is_one_of_several() { DRAIN_OF_SEVERAL } else { Duration::ZERO };
        self.sockets.drain.unwrap_or(usual)
    }

    /// Refuses a store in memory, for commands: a store in memory exists only in its server.
    pub(crate) fn refuse_memory(&self) -> Result<(), Failure> {
        match self.store {
            StoreAt::Memory => {
                let said = "commands cannot use a store in memory, because only its own server can see it";
                Err(Failure::plain(said).next("name another store; see `parlance config show`"))
            }
            StoreAt::File(_) | StoreAt::Postgres(_) => Ok(()),
        }
    }

    /// Refuses a missing data directory, for commands: they need the keys with which the server signs tokens.
    pub(crate) fn refuse_missing_data_dir(&self) -> Result<(), Failure> {
        if matches!(self.store, StoreAt::Memory) || self.data_dir.is_dir() {
            return Ok(());
        }
        let whole = std::path::absolute(&self.data_dir).unwrap_or_else(|_| self.data_dir.clone());
        let said =
            format!("there is no data directory at {}, where the keys that sign tokens are", whole.display());
        Err(Failure::plain(said).next(
            "name the server's data directory with --data-dir or --env-file; see `parlance config show`",
        ))
    }

    /// The path in the data directory beside which the keys that sign tokens are stored if the store is not a
    /// file.
    pub(crate) fn token_key_base(&self) -> Result<PathBuf, Failure> {
        let directory = &self.data_dir;
        make_directory(directory)?;
        Ok(directory.join("parlance.db"))
    }
}

/// A configuration with this content of the file, for tests.
#[cfg(test)]
fn with_file(flags: &[(&'static str, &str)], variables: &[(&str, &str)], file: &str) -> Examined {
    let flags = Flags(flags.iter().map(|(name, text)| (*name, (*text).to_owned())).collect());
    let variables = variables.iter().map(|(name, text)| ((*name).into(), (*text).into()));
    let mut values = Values::gather(flags, variables);
    values.take_file(std::path::Path::new("parlance.toml"), file);
    Config::examined(values)
}

#[cfg(test)]
mod tests;
