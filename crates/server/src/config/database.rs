//! The location of the data.

use std::path::{Path, PathBuf};
use std::time::Duration;

use adapters_postgres::PostgresConfig;

use super::key::Key;
use super::parse;
use super::values::Values;
use crate::store::StoreAt;

/// The store that the settings name.
pub(super) fn read(values: &mut Values, data_dir: &Path) -> StoreAt {
    let url = Key::text(
        "database_url",
        "URL",
        "the file parlance.db in the data directory",
        "The store: `sqlite:PATH`, `postgres://USER:PASSWORD@HOST/DATABASE`, or `sqlite::memory:` to try Parlance \
         without keeping anything.",
    );
    let store = values.optional(url.secret(without_password), store);
    let connections = Key::number(
        "database_connections",
        "NUMBER",
        "16",
        "Maximum number of connections from this server to PostgreSQL.",
    );
    let connections = values.read(connections, parse::number(1, 10_000_usize));
    let wait = Key::number(
        "pool_timeout_ms",
        "MS",
        "5000",
        "How long a request waits for a database connection before it gets 503, in milliseconds.",
    );
    let acquire_timeout = values.read(wait, parse::millis(1, parse::DAY_MS));
    let statement = Key::number(
        "statement_timeout_ms",
        "MS",
        "15000",
        "Maximum duration of one database statement, in milliseconds.",
    );
    let statement_timeout: Duration = values.read(statement, parse::millis(1, 3_600_000));
    match store.unwrap_or_else(|| StoreAt::File(data_dir.join("parlance.db"))) {
        StoreAt::Postgres(at) => {
            StoreAt::Postgres(PostgresConfig { connections, acquire_timeout, statement_timeout, ..at })
        }
        embedded => embedded,
    }
}

fn store(url: &str) -> Result<StoreAt, String> {
    match url.split_once(':') {
        Some(("postgres" | "postgresql", _)) => {
            let at = PostgresConfig::at(url);
            at.check().map_err(|fault| fault.to_string())?;
            Ok(StoreAt::Postgres(at))
        }
        Some(("sqlite", ":memory:")) => Ok(StoreAt::Memory),
        Some(("sqlite", path)) if !path.is_empty() => {
            Ok(StoreAt::File(PathBuf::from(path.strip_prefix("//").unwrap_or(path))))
        }
        // The rest of the URL may hold a password and is not repeated.
        Some((scheme, _)) if scheme != "sqlite" => {
            Err(format!("there is no store for '{scheme}:', only sqlite:PATH and postgres://…"))
        }
        _ => Err("must be sqlite:PATH, sqlite::memory: or postgres://…".to_owned()),
    }
}

/// The URL without its password. The end of a password is ambiguous in a malformed URL, so it is hidden up to
/// the last `@`, and a URL that cannot be parsed is not shown at all.
pub(crate) fn without_password(url: &str) -> String {
    const HIDDEN: &str = "(hidden)";
    match store(url) {
        Ok(StoreAt::File(_) | StoreAt::Memory) => return url.to_owned(),
        Ok(StoreAt::Postgres(_)) => {}
        Err(_) => return HIDDEN.to_owned(),
    }
    let Some((scheme, rest)) = url.split_once("://") else { return HIDDEN.to_owned() };
    let (user, host) = match rest.rsplit_once('@') {
        Some((person, host)) => {
            let (user, password) = person.split_once(':').map_or((person, ""), |(user, _)| (user, ":***"));
            (format!("{user}{password}@"), host)
        }
        None => (String::new(), rest),
    };
    let Some((host, parameters)) = host.split_once('?') else {
        return format!("{scheme}://{user}{host}");
    };
    let hide = |parameter: &str| match parameter.split_once('=') {
        Some((name, _)) if name.contains("pass") => format!("{name}=***"),
        _ => parameter.to_owned(),
    };
    let parameters = parameters.split('&').map(hide).collect::<Vec<_>>().join("&");
    format!("{scheme}://{user}{host}?{parameters}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_urls() {
        assert!(matches!(store("sqlite::memory:"), Ok(StoreAt::Memory)));
        for (url, path) in
            [("sqlite:a/b.db", "a/b.db"), ("sqlite:/a.db", "/a.db"), ("sqlite:///a.db", "/a.db")]
        {
            assert!(matches!(store(url), Ok(StoreAt::File(p)) if p == Path::new(path)), "{url}");
        }
        for url in ["postgres://u@h/d", "postgresql:///d?host=/run"] {
            assert!(matches!(store(url), Ok(StoreAt::Postgres(at)) if at.url == url), "{url}");
        }
        for url in ["sqlite:", "sqlite", "mysql://h/d", ""] {
            assert!(store(url).is_err(), "{url}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            ("sqlite:a.db", "sqlite:a.db"),
            ("postgres://u:secret@h:5433/d", "postgres://u:***@h:5433/d"),
            ("postgres://u:se@cret@h/d?sslmode=disable", "postgres://u:***@h/d?sslmode=disable"),
            (
                "postgres://u@h/d?password=secret&sslmode=disable",
                "postgres://u@h/d?password=***&sslmode=disable",
            ),
            ("postgresql:///d?host=/run", "postgresql:///d?host=/run"),
            ("postgres:u:secret@h", "(hidden)"),
            ("mysql://u:secret@h/d", "(hidden)"),
            ("secret", "(hidden)"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
