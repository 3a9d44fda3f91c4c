//! The first start on an empty store: a first user, and three lines that show what to do next.

use std::io::Write;

use domain::account::{AccountService, CreateUser, Membership, UserHandle, parse_email, parse_person_name};

use crate::config::Config;
use crate::failure::Failure;

/// Creates the first user if the store has none, and prints its key, once.
pub(crate) async fn greet(accounts: &AccountService, config: &Config) -> Result<(), Failure> {
    let listen = config.listen.as_str();
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let unusable = |fault| Failure::new("cannot name the first user", fault);
    let command = CreateUser {
        handle: UserHandle::new("admin").map_err(unusable)?,
        email: parse_email("admin@localhost").map_err(unusable)?,
        name: parse_person_name("Admin").map_err(unusable)?,
        membership: Membership::Own,
        plan: config.default_plan.clone(),
    };
    let created = accounts.create_first_user(command).await;
    let created = created.map_err(|cause| Failure::new("cannot create the first user", cause))?;
    let Some(created) = created else { return Ok(()) };
    let key = created.key.reveal();
    let text = format!(
        "\nThe store is new. Your user is '{handle}', and this is its API key; it is not shown again:\n\
         \n    {key}\n\
         \nWhat to do next:\n\
         \n    export PARLANCE_KEY=…   # the key above\
         \n    curl -H \"X-API-Key: $PARLANCE_KEY\" -H 'Content-Type: application/json' \
         -d '{{\"agent\":{{\"name\":\"Echo\",\"description\":\"Answers every message\"}}}}' \
         {scheme}://{listen}/api/v1/me/agents/register\
         \n    curl -H \"X-API-Key: $PARLANCE_KEY\" {scheme}://{listen}/api/v1/me/agents\n\n",
        handle = created.user.handle,
    );
    // The key exists from now on and is never shown again, so a broken output is not the end of it.
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .or_else(|_| err.write_all(text.as_bytes()))
        .map_err(|cause| Failure::new("cannot print the first user's key", cause))
}
