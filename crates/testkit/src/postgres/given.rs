//! An external server: the one in `PARLANCE_TEST_DATABASE_URL`.
//!
//! It is not stopped after the tests, so the next process must find the databases that a killed test process
//! left there. The names of all databases of one process contain its number, and while it lives, it holds an
//! advisory lock with that number. Databases whose number is not locked are left over.

use tokio_postgres::{Client, Config, NoTls};

use super::server::{ConnectionSettings, Server};
use super::{administration, programs, random};

/// First key of the locks; the second is the number of the process.
const LOCK: i32 = 0x7061_726c;

/// The prefix of the names of all test databases.
const PREFIX: &str = "parlance_test";

/// Uses the server, and clears away what processes that are gone have left on it.
pub(super) fn server(url: &str) -> Server {
    let administrator: Config = url
        .parse()
        .unwrap_or_else(|error| panic!("PARLANCE_TEST_DATABASE_URL: {}", administration::chain(&error)));
    // With its highest bits set like this it is positive and has eight digits in hexadecimal.
    let process = i32::try_from(random() >> 34 | 0x4000_0000).expect("31 bits");
    hold_lock(administrator.clone(), process);
    clear(&administrator).unwrap_or_else(|error| panic!("PARLANCE_TEST_DATABASE_URL: {error}"));
    let url = around_database(url)
        .expect("PARLANCE_TEST_DATABASE_URL has the form postgres://role:password@host:port/database");
    Server::new(ConnectionSettings {
        administrator,
        owner: None,
        url,
        prefix: prefix_of(process),
        kept: None,
    })
}

fn prefix_of(process: i32) -> String {
    format!("{PREFIX}_{process:08x}")
}

/// Takes the lock of this process on a connection that stays open until its end.
fn hold_lock(administrator: Config, process: i32) {
    let (held, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        administration::runtime().block_on(async {
            let (client, connection) = match administrator.connect(NoTls).await {
                Ok(connected) => connected,
                Err(error) => return held.send(Err(administration::chain(&error))).unwrap_or_default(),
            };
            let connection = tokio::spawn(connection);
            let lock = client.execute("SELECT pg_advisory_lock($1, $2)", &[&LOCK, &process]).await;
            held.send(lock.map(|_| ()).map_err(|error| administration::chain(&error))).unwrap_or_default();
            connection.await.ok();
            drop(client);
        });
    });
    let result = wait.recv().expect("the thread tells how it went");
    result.unwrap_or_else(|error| panic!("PARLANCE_TEST_DATABASE_URL: {error}"));
}

/// Drops the databases of processes that hold their lock no more. A server that is too old is refused.
fn clear(administrator: &Config) -> Result<(), String> {
    administration::with_client(administrator, async |client: &Client| {
        let version = client.query_one("SELECT current_setting('server_version_num')::int", &[]).await?;
        let version: i32 = version.get(0);
        assert!(version.unsigned_abs() / 10_000 >= programs::OLDEST, "PostgreSQL {version} is too old");
        // Locks are read after the list of databases, and are taken before the first database is made.
        let abandoned = "SELECT datname::text FROM pg_database WHERE datname ~ $1 \
             AND pg_get_userbyid(datdba) = current_user AND NOT EXISTS (SELECT FROM pg_locks \
             WHERE locktype = 'advisory' AND classid::int8 = $2 \
             AND datname LIKE '%\\_' || to_hex(objid::int8) || '\\_%')";
        let pattern = format!("^{PREFIX}_[0-9a-f]{{8}}_[0-9a-f]{{16}}$");
        for row in client.query(abandoned, &[&pattern, &i64::from(LOCK)]).await? {
            let name: String = row.get(0);
            // Another process may be clearing as well: what is gone is gone.
            client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
        }
        Ok(())
    })
}

/// A URL without its database: what stands before `/` and the name, and what after it.
fn around_database(url: &str) -> Option<(String, String)> {
    let authority = url.find("://")? + 3;
    let end = authority + url[authority..].find(['/', '?']).unwrap_or(url.len() - authority);
    let query = url[end..].find('?').map_or("", |at| &url[end + at..]);
    Some((url[..end].to_owned(), query.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_in_a_url_is_replaced_and_the_rest_stays() {
        let around = |url| around_database(url).map(|(before, after)| format!("{before}/new{after}"));
        let cases = [
            (
                "postgres://ann:pw@db.example:5433/old?sslmode=prefer",
                "postgres://ann:pw@db.example:5433/new?sslmode=prefer",
            ),
            ("postgresql://localhost/old", "postgresql://localhost/new"),
            ("postgres://localhost", "postgres://localhost/new"),
            ("postgres://localhost?user=ann", "postgres://localhost/new?user=ann"),
        ];
        for (url, expected) in cases {
            assert_eq!(around(url).as_deref(), Some(expected));
        }
        assert_eq!(around("host=localhost dbname=old"), None);
    }
}
