//! Whether the store answers, has the right schema, and agrees about the time.

use std::sync::Arc;

use domain::ports::Clock;

use super::Finding;
use crate::config::Config;
use crate::ports::SystemClock;
use crate::store::{self, Store, StoreAt, Unread};

/// So far the clocks of server and database may be apart. Instants are the server's; a database is asked for
/// what a server has found out by its own.
const MICROS_APART: u64 = 2_000_000;

pub(super) async fn look(config: &Config) -> Vec<Finding> {
    match &config.store {
        StoreAt::Memory => {
            return vec![Finding::warning(
                "store",
                "it is in memory, and gone with the server",
                "set database_url for data that is to stay",
            )];
        }
        StoreAt::File(path) if !path.exists() => {
            let found = format!("{} is not there yet; the first start makes it", path.display());
            return vec![Finding::well("store", found)];
        }
        StoreAt::File(_) | StoreAt::Postgres(_) => {}
    }
    let opened = match store::read_as_it_is(config).await {
        Ok(opened) => opened,
        Err(unread) => return vec![unreadable(unread)],
    };
    let findings = look_into(&opened).await;
    opened.close();
    findings
}

fn unreadable(unread: Unread) -> Finding {
    match unread {
        Unread::Behind(why) => {
            let next = "`parlance migrate` brings it up to date, and so does the next start of the server";
            Finding::fault("schema", why, next)
        }
        Unread::Ahead(why) => {
            Finding::fault("schema", why.to_string(), "use the version that wrote it, or a newer one")
        }
        Unread::Unopened(why) => {
            let next =
                "see that it runs, and that database_url (or data_dir) names it: `parlance config show`";
            Finding::fault("store", why.to_string(), next)
        }
    }
}

async fn look_into(store: &Arc<dyn Store>) -> Vec<Finding> {
    let before = SystemClock.now();
    let clock = store.clock().await;
    let here = SystemClock.now().micros().midpoint(before.micros());
    let answers = match (&store.ping().await, &clock) {
        (Ok(()), Ok(_)) => Finding::well("store", "it answers"),
        (Err(error), _) | (_, Err(error)) => {
            let next = "see the database's own log, and try again";
            return vec![Finding::fault("store", format!("it does not answer: {error}"), next)];
        }
    };
    let steps = Finding::well("schema", format!("all {} steps are taken", store.steps().all.len()));
    let time = match clock.ok().flatten() {
        None => Finding::well("clock", "the store has this machine's own"),
        Some(there) => clocks(there.micros().abs_diff(here)),
    };
    vec![answers, steps, time]
}

fn clocks(apart: u64) -> Finding {
    let (seconds, millis) = (apart / 1_000_000, apart / 1_000 % 1_000);
    let found = format!("it and the database's are {seconds}.{millis:03} s apart");
    if apart <= MICROS_APART {
        return Finding::well("clock", found);
    }
    Finding::fault("clock", found, "keep the clocks of both machines right, as by NTP (`timedatectl status`)")
}

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;

    #[test]
    fn clocks_may_be_a_little_apart() {
        assert_eq!(clocks(2_000_000).outcome, Outcome::Well);
        let far = clocks(61_234_567);
        assert_eq!(far.outcome, Outcome::Fault);
        assert!(far.found.contains("61.234 s") && far.next.unwrap().contains("NTP"));
    }
}
