//! The first start on an empty store: a first user, its API key, and the next steps.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use domain::account::{CreateUser, InitialOrganization, UserHandle, parse_email, parse_person_name};
use domain::services::Services;
use tokio::time::sleep;

use crate::api_document::READABLE;
use crate::archive::draft::Draft;
use crate::config::{Config, shell_word};
use crate::failure::Failure;

/// The number of attempts, and the pause, for a file that another node on the same disk is about to
/// write.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

/// Creates the first user if the store has none, and shows or writes down its key, once. Returns whether it
/// did.
pub(crate) async fn greet(services: &Services, config: &Config, store_flags: &str) -> Result<bool, Failure> {
    // Only the first start needs the file.
    let users = services.administration.users_after(None, 1).await;
    let users = users.map_err(|cause| Failure::new("Cannot read the users", cause))?;
    if !users.is_empty() {
        return Ok(false);
    }
    let unusable = |fault| Failure::new("Cannot name the first user", fault);
    let command = CreateUser {
        handle: UserHandle::new("admin").map_err(unusable)?,
        email: parse_email("admin@localhost").map_err(unusable)?,
        name: parse_person_name("Admin").map_err(unusable)?,
        initial_organization: InitialOrganization::Own,
        plan: config.default_plan.clone(),
    };
    let minted = services.accounts.mint_user_key();
    let key = minted.reveal();
    // The key is on the disk before it is valid: one that could not be stored would be lost.
    let file = match &config.first_key_file {
        Some(path) => {
            let mut draft = draft(path).await?;
            let written = writeln!(draft, "{key}").and_then(|()| draft.sync());
            written.map_err(|cause| unwritten(path, cause))?;
            Some((path.as_path(), draft))
        }
        None => None,
    };
    let user = match services.accounts.create_first_user(command, &minted).await {
        Ok(Some(user)) => user,
        Ok(None) => return Ok(false),
        Err(cause) => {
            // The user may exist.
            if let Some((_, draft)) = file {
                draft.leave();
            }
            return Err(Failure::new("Cannot create the first user", cause));
        }
    };
    let shown = match file {
        Some((path, draft)) => {
            draft.finish_or_leave().map_err(|(cause, kept_at)| {
                let next = match kept_at {
                    Some(kept_at) => {
                        format!("the key of the user '{}' is in {}", user.handle, kept_at.display())
                    }
                    None => format!("create a key with `parlance key create --user {}`", user.handle),
                };
                unwritten(path, cause).next(&next)
            })?;
            format!("API key:        in {}\n", path.display())
        }
        None => format!("API key:        {key} (not shown again)\n"),
    };
    let (scheme, listen, handle) = (scheme(config), &config.listen, &user.handle);
    let program = program();
    let console = console_link(services, config, handle).await;
    let text = format!(
        "\nParlance is ready at {scheme}://{listen}. Your user is '{handle}'.\n{console}{shown}\
         Next:           {program} agent create --owner {handle} --name Helper --description \"Helps\"{store_flags}\n\
         API reference:  {scheme}://{listen}{READABLE}\n\
         Documentation:  README.md, docs/\n"
    );
    // The key exists from now on and is never shown again, so a closed output does not end this.
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .or_else(|_| err.write_all(text.as_bytes()))
        .map_err(|cause| Failure::new("Cannot print the first user's key", cause))?;
    Ok(true)
}

/// How to open the console, with a link that sets the first user's password. Without it, if the secrets are to be in a
/// file only, or the token cannot be stored: the key logs in too.
async fn console_link(services: &Services, config: &Config, handle: &UserHandle) -> String {
    if !config.console || config.first_key_file.is_some() {
        return String::new();
    }
    let Ok(reset) = services.logins.issue_reset(handle).await else { return String::new() };
    let base = base_url(config);
    let token = reset.token;
    format!(
        "Console:        {base}/console/welcome#{token}\n\
         \x20               The link sets your password. It works once, within 24 hours.\n"
    )
}

/// The address at which people reach the server, as far as it is known.
pub(crate) fn base_url(config: &Config) -> String {
    config.public_url.as_ref().map_or_else(|| local_url(config), ToString::to_string)
}

/// The address of the server on this machine.
fn local_url(config: &Config) -> String {
    let (host, port) = config.listen.rsplit_once(':').unwrap_or((&config.listen, "4000"));
    let host = if matches!(host, "0.0.0.0" | "[::]") { "localhost" } else { host };
    format!("{}://{host}:{port}", scheme(config))
}

const fn scheme(config: &Config) -> &'static str {
    if config.tls.is_some() { "https" } else { "http" }
}

/// The path by which this program was called, if there is one: it may not be on the `PATH` then.
fn program() -> String {
    let called = std::env::args_os().next().map(|called| called.to_string_lossy().into_owned());
    shell_word(&called.filter(|called| called.contains('/')).unwrap_or_else(|| "parlance".to_owned()))
}

async fn draft(path: &Path) -> Result<Draft, Failure> {
    let mut tries = 0;
    loop {
        tries += 1;
        match Draft::of(path) {
            Err(cause) if cause.kind() == ErrorKind::ResourceBusy && tries < TRIES => sleep(PAUSE).await,
            draft => return draft.map_err(|cause| unwritten(path, cause)),
        }
    }
}

fn unwritten(path: &Path, cause: std::io::Error) -> Failure {
    Failure::new(format_args!("Cannot write first_key_file {}", path.display()), cause)
}
