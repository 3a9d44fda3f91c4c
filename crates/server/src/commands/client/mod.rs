//! `parlance client …`: what a user does on a running server, over its public API.
//!
//! These commands read neither the configuration nor the store. The client itself is the crate `client`; here are its
//! arguments, its output, and the exit status of each failure.

mod arguments;
mod ask;
mod chat;
mod follow;
mod login;
mod rooms;
mod screen;
mod tail;
mod terminal;
mod writer;

pub(crate) use arguments::ClientCommand;

use std::time::Duration;

use ::client::text::on_one_line;
use ::client::{Access, AccessError, ClientError, ProfileError, Profiles, Room, Session};
use tokio::time::Instant;

use crate::config::{ClientSettings, Flags};
use crate::failure::Failure;
use crate::nearest::nearest;
use crate::progress::say;
use crate::runtime;
use arguments::ProfileArguments;

/// The agent failed, or the message was taken out of its queue.
const WORK_FAILED: u8 = 3;

/// There was no answer in time.
const TIMED_OUT: u8 = 4;

/// The agent does not get the question at present.
const UNAVAILABLE: u8 = 5;

/// The server refused the request, or the key.
const REFUSED: u8 = 6;

/// There is no server at the address, it cannot answer, or its certificate cannot be verified.
const UNREACHABLE: u8 = 7;

/// How long a server that answers may ask for pauses before a command begins its work.
const BEGINNING: Duration = Duration::from_secs(30);

/// The next step without a profile.
const LOG_IN: &str = "run `parlance client login`, or set PARLANCE_KEY";

/// Runs the command.
pub(crate) fn run(flags: &Flags, command: ClientCommand) -> Result<(), Failure> {
    let of_the_store = flags.of_the_store();
    if !of_the_store.is_empty() {
        let said =
            format!("`parlance client` talks to a server and uses no store; it does not take{of_the_store}");
        return Err(Failure::plain(said).next("see `parlance client --help`"));
    }
    let work = async {
        match command {
            ClientCommand::Login(arguments) => login::log_in(arguments).await,
            ClientCommand::Logout(arguments) => login::log_out(arguments),
            ClientCommand::Profiles(arguments) => login::list(&arguments),
            ClientCommand::Rooms(arguments) => rooms::list(arguments).await,
            ClientCommand::Ask(arguments) => ask::ask(arguments).await,
            ClientCommand::Tail(arguments) => tail::tail(arguments).await,
            ClientCommand::Chat(arguments) => chat::chat(arguments).await,
            ClientCommand::Screen(arguments) => Box::pin(screen::screen(arguments)).await,
        }
    };
    let runtime = runtime()?;
    let done = runtime.block_on(work);
    // A thread that waits for a key on the terminal does not keep the program.
    runtime.shutdown_background();
    done
}

/// A caller of the chosen server.
struct Client {
    access: Access,
    session: Session,
}

impl Client {
    /// Chooses the server. It connects with the first request.
    fn new(profile: ProfileArguments) -> Result<Self, Failure> {
        let settings = ClientSettings::read(profile.profile);
        let access = match settings.given.environment().map_err(no_access)? {
            Some(access) => access,
            None => settings.given.access(&profiles(&settings)?).map_err(no_access)?,
        };
        let session = Session::new(&access).map_err(|error| failed(&error, &access))?;
        Ok(Self { access, session })
    }

    /// Another caller with a connection of its own.
    fn another(&self) -> Result<Session, Failure> {
        self.session.another(&self.access).map_err(|error| self.failed(&error))
    }

    /// One of the first requests of a command: pauses if the server asks for that.
    async fn call<T>(
        &mut self,
        call: impl AsyncFnMut(&mut Session) -> Result<T, ClientError>,
    ) -> Result<T, Failure> {
        let until = Instant::now() + BEGINNING;
        let called = self.session.persist(until, |error, _| tell(&error.to_string()), call).await;
        called.map_err(|error| self.failed(&error))
    }

    /// The room with this id or title.
    async fn room(&mut self, wanted: &str) -> Result<Room, Failure> {
        if is_id(wanted) {
            return self.call(async |session| session.room(wanted).await).await;
        }
        let title = |room: &Room| on_one_line(&room.title).to_lowercase();
        let (mut found, mut titles, mut cursor) = (Vec::new(), Vec::new(), None::<String>);
        loop {
            let page = self.call(async |session| session.rooms(cursor.as_deref(), false).await).await?;
            titles.extend(page.rows.iter().map(|room| on_one_line(&room.title)));
            found.extend(page.rows.into_iter().filter(|room| title(room) == wanted.to_lowercase()));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        if found.len() > 1 {
            let ids = found.iter().map(|room| on_one_line(&room.id)).collect::<Vec<_>>().join(", ");
            let said = format!("several of your rooms are called '{wanted}'");
            return Err(
                Failure::plain(said).next(&format!("name one by its id: {ids}; see `parlance client rooms`"))
            );
        }
        found.pop().ok_or_else(|| {
            let meant = nearest(wanted, titles.iter().map(String::as_str));
            let said = format!("you are in no room called '{wanted}'");
            Failure::unknown(said, meant, "list your rooms with `parlance client rooms`").with_status(REFUSED)
        })
    }

    fn failed(&self, error: &ClientError) -> Failure {
        failed(error, &self.access)
    }
}

/// The profiles of this user.
fn profiles(settings: &ClientSettings) -> Result<Profiles, Failure> {
    let Some(file) = &settings.file else {
        let said = "there is no place for profiles, because neither HOME nor XDG_CONFIG_HOME is set";
        return Err(Failure::plain(said).next("set HOME, then see `parlance client --help`"));
    };
    Profiles::load(file).map_err(|error| no_profiles(&error))
}

fn no_profiles(error: &ProfileError) -> Failure {
    let next = match error {
        ProfileError::Exposed(path) => format!("run `chmod 600 {}`", path.display()),
        ProfileError::Malformed { .. } => {
            "correct it, or remove it and run `parlance client login`".to_owned()
        }
        ProfileError::Unreadable(..) | ProfileError::Unwritable(..) => "check its permissions".to_owned(),
        ProfileError::Name => "see `parlance client login --help`".to_owned(),
    };
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Failure::plain(format!("{error}{cause}")).next(&next)
}

fn no_access(error: AccessError) -> Failure {
    let next = match &error {
        AccessError::LoggedOut => LOG_IN,
        AccessError::NoProfile(_) => "list the profiles with `parlance client profiles`",
        AccessError::NoKey(_) => "set PARLANCE_KEY too, or run `parlance client login`",
        AccessError::Invalid { .. } => "correct or unset it; see `parlance client --help`",
    };
    Failure::plain(error.to_string()).next(next)
}

/// The failure of a request, with what to do next and its exit status.
fn failed(error: &ClientError, access: &Access) -> Failure {
    let (status, next) = match error {
        ClientError::Unreachable { .. } | ClientError::Foreign { .. } => (
            UNREACHABLE,
            "check that the server runs, and its address: `parlance client profiles`".to_owned(),
        ),
        ClientError::Untrusted { .. } => {
            let next = "check the address. If you trust the authority that issued it, set SSL_CERT_FILE to its certificate";
            (UNREACHABLE, next.to_owned())
        }
        ClientError::Unavailable { .. } => (UNREACHABLE, "try again later".to_owned()),
        ClientError::Unauthorized { .. } => {
            let next = format!(
                "it is from {}, and may be revoked or expired: `parlance client login`",
                access.origin
            );
            (REFUSED, next)
        }
        // The message of the server says what to do next.
        ClientError::Refused { .. } => return Failure::plain(error.to_string()).with_status(REFUSED),
    };
    Failure::plain(error.to_string()).next(&next).with_status(status)
}

/// Prints a sentence for the person at the terminal, on standard error.
fn tell(text: &str) {
    say(&Failure::plain(text).to_string());
}

/// Returns whether a text has the form of an id.
fn is_id(text: &str) -> bool {
    uuid::Uuid::try_parse(text).is_ok()
}
