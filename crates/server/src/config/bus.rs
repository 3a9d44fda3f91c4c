//! The bus between servers.

use std::path::PathBuf;

use crate::bus::{NatsServer, Settings, is_prefix};

use super::key::Key;
use super::parse;
use super::values::Values;
use crate::store::StoreAt;

/// The bus between servers; `None` without one.
pub(super) fn read(values: &mut Values, store: &StoreAt) -> Option<Settings> {
    values.section("Several servers");
    let url = Key::list(
        "nats_url",
        "URLS",
        "NATS servers that distribute events between servers on one database, separated by commas, for example \
         `nats://USER:PASSWORD@HOST:4222`; `tls://` encrypts the connection. Without NATS, each server sends its \
         events only to its own sockets. See [scaling.md](scaling.md).",
    );
    let credentials = Key::text(
        "nats_credentials",
        "FILE",
        "none",
        "Credentials file of a NATS user, as written by `nsc` (`.creds`).",
    );
    let ca = Key::text(
        "nats_ca",
        "FILE",
        "the system's authorities",
        "Certificates of the authorities that may sign the certificate of NATS (PEM). If set, the connection is \
         always encrypted.",
    );
    let prefix = Key::text(
        "nats_prefix",
        "WORD",
        "parlance",
        "Prefix of the NATS subjects. Installations that share a NATS server need different prefixes.",
    );
    let servers = values.optional(url.secret(without_login), servers);
    let credentials = values.optional(credentials, parse::text).map(PathBuf::from);
    let ca = values.optional(ca, parse::text).map(PathBuf::from);
    let prefix = values.read(prefix, prefix_of);
    let servers = servers?;
    if !matches!(store, StoreAt::Postgres(_)) {
        let problem =
            "several servers need PostgreSQL; set database_url to postgres://…, or leave nats_url out";
        values.refuse("nats_url", problem.to_owned());
    }
    Some(Settings { servers, credentials, ca, prefix })
}

fn servers(text: &str) -> Result<Vec<NatsServer>, String> {
    let one = |text: &str| NatsServer::parse(text).map_err(|fault| format!("one of them is {fault}"));
    let servers = parse::list(one)(text)?;
    let Some(first) = servers.first() else { return Err("names no server".to_owned()) };
    if servers.iter().any(|server| !server.has_login_of(first)) {
        return Err("must have the same user and password for each server".to_owned());
    }
    Ok(servers)
}

/// The addresses without user names and passwords.
fn without_login(text: &str) -> String {
    match servers(text) {
        Ok(servers) => servers.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        Err(_) => "(hidden)".to_owned(),
    }
}

fn prefix_of(text: &str) -> Result<String, String> {
    if is_prefix(text) {
        Ok(text.to_owned())
    } else {
        Err(format!("'{text}' is not made of words of letters, digits, '-' and '_' with dots between them"))
    }
}

#[cfg(all(test, feature = "nats"))]
mod tests {
    use super::super::with_file;
    use super::*;

    const DATABASE: (&str, &str) = ("PARLANCE_DATABASE_URL", "postgres://u@h/d");

    #[test]
    fn a_bus_is_between_servers_on_one_postgresql() {
        for (url, faults) in [
            ("nats://h", 0),
            ("nats://a:1,tls://b", 0),
            ("nats://u:p@a,nats://u:p@b", 0),
            ("nats://u:p@a,nats://b", 1),
            ("http://h", 1),
            (",", 1),
        ] {
            let found = with_file(&[], &[("PARLANCE_NATS_URL", url), DATABASE], "");
            assert_eq!(found.faults.len(), faults, "{url}: {:?}", found.faults);
            assert_eq!(found.config.bus.is_some(), faults == 0, "{url}");
            assert_eq!(found.config.is_one_of_several(), faults == 0, "{url}");
        }
        let embedded = with_file(&[], &[("PARLANCE_NATS_URL", "nats://h")], "").faults;
        assert!(embedded.len() == 1 && embedded[0].to_string().contains("PostgreSQL"), "{embedded:?}");
        assert!(with_file(&[], &[DATABASE], "").config.bus.is_none());
        let wrong = with_file(&[], &[("PARLANCE_NATS_PREFIX", "a.>"), DATABASE], "").faults;
        assert_eq!(wrong.len(), 1, "{wrong:?}");
    }

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(without_login("nats://u:secret@h,nats://u:secret@i:1"), "nats://h:4222,nats://i:1");
        assert_eq!(without_login("nats://u:secret@h/x"), "(hidden)");
        let faults = with_file(&[], &[("PARLANCE_NATS_URL", "nats://u:secret@h/x"), DATABASE], "").faults;
        assert!(!format!("{faults:?}").contains("secret"));
    }
}
