//! Checks that the store answers, has the right schema, and agrees about the time.

use std::sync::Arc;

use domain::ports::Clock;
use domain::store::StoreError;
use domain::time::Timestamp;
use domain::work::WorkFlag;

use super::{Finding, Outcome};
use crate::adapters::SystemClock;
use crate::config::Config;
use crate::output::count;
use crate::store::{self, Store, StoreAt, Unread};
use crate::wiring;

/// The accepted difference between the clocks of server and database. Times are the server's;
/// queries of the database compare with them.
const MICROS_APART: u64 = 2_000_000;

pub(super) async fn look(config: &Config) -> Vec<Finding> {
    match &config.store {
        StoreAt::Memory => {
            return vec![Finding::warning(
                "store",
                "it is in memory and disappears when the server stops",
                "set database_url to keep data",
            )];
        }
        StoreAt::File(path) if !path.exists() => {
            let whole = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            return vec![Finding::fault(
                "store",
                format!("there is none at {} yet; the first start creates it", whole.display()),
                "start the server or run `parlance migrate`; if there should be one, run this command with the server's \
                 settings (--env-file, --config, or the same flags)",
            )];
        }
        StoreAt::File(_) | StoreAt::Postgres(_) => {}
    }
    let opened = match store::read_as_it_is(config).await {
        Ok(opened) => opened,
        Err(unread) => return vec![unreadable(unread)],
    };
    let mut findings = look_into(&opened).await;
    // Settings of the database do not keep the work from being read.
    if findings.iter().all(|finding| finding.outcome != Outcome::Fault || finding.check == "durability") {
        findings.extend(overdue(config, &opened).await);
    }
    opened.close().await;
    findings
}

fn unreadable(unread: Unread) -> Finding {
    match unread {
        Unread::Behind(why) => {
            let next = "run `parlance migrate`, or start the server, which does the same";
            Finding::fault("schema", why, next)
        }
        Unread::Ahead(why) => {
            Finding::fault("schema", why.to_string(), "use the version that wrote it, or a newer one")
        }
        Unread::Unopened(why, _) => {
            let next = "check that it runs, and that database_url (or data_dir) is right: `parlance config show`; \
                 `parlance migrate` creates a store";
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
        (Err(error), _) | (_, Err(error)) => return vec![unanswered(error)],
    };
    let steps = Finding::well("schema", format!("all {} migrations are applied", store.steps().all.len()));
    let time = match clock.ok().flatten() {
        None => Finding::well("clock", "the store uses the clock of this machine"),
        Some(there) => clocks(there.micros().abs_diff(here)),
    };
    let mut findings = vec![answers, steps, time];
    findings.extend(whole(&store.unfinished_import().await));
    findings.extend(durability(&store.unsafe_settings().await));
    findings
}

/// Checks that no import is unfinished.
fn whole(begun: &Result<Option<Timestamp>, StoreError>) -> Option<Finding> {
    match begun {
        Ok(None) => None,
        Ok(Some(begun)) => {
            Some(Finding::fault("import", store::part_of_an_archive(*begun), store::FINISH_IMPORT))
        }
        Err(error) => Some(unanswered(error)),
    }
}

/// Checks that the database keeps acknowledged data.
fn durability(off: &Result<Vec<String>, StoreError>) -> Vec<Finding> {
    let off = match off {
        Ok(off) => off,
        Err(error) => return vec![unanswered(error)],
    };
    let fault = |setting: &String| {
        let found = format!("{setting} is off, so a crash of the database's machine can lose or damage data");
        let next = format!("set {setting} = on in postgresql.conf, and reload the database's settings");
        Finding::fault("durability", found, next)
    };
    if off.is_empty() {
        return vec![Finding::well("durability", "acknowledged data survives a crash")];
    }
    off.iter().map(fault).collect()
}

/// Checks for work of agents that has a flag, such as stuck or dead work.
async fn overdue(config: &Config, store: &Arc<dyn Store>) -> Vec<Finding> {
    let totals = match wiring::work(config, store.clone()).totals().await {
        Ok(totals) => totals,
        Err(error) => return vec![unanswered(&error)],
    };
    let flagged = totals.by_flag().into_iter().filter(|(_, number)| *number > 0);
    let findings = flagged.map(|(flag, number)| {
        let what = match flag {
            WorkFlag::Unanswered => "not begun by the agents that they mention",
            WorkFlag::Stuck => "in processing for too long",
            WorkFlag::Failing => "the last attempts all failed",
            WorkFlag::Dead => "taken out of the queue without being processed",
            WorkFlag::Held => "over a limit, and not offered until somebody retries them",
        };
        let found = format!("{} {}: {what}", count(number, "message"), flag.as_str());
        Finding::warning("work", found, format!("run `parlance work list --flag {}`", flag.as_str()))
    });
    let findings = findings.collect::<Vec<_>>();
    if findings.is_empty() { vec![Finding::well("work", "no message waits for too long")] } else { findings }
}

fn unanswered(error: &StoreError) -> Finding {
    let next = "check the log of the database, and try again";
    Finding::fault("store", format!("it does not respond: {error}"), next)
}

fn clocks(apart: u64) -> Finding {
    let (seconds, millis) = (apart / 1_000_000, apart / 1_000 % 1_000);
    let found = format!("the clocks of this machine and of the database differ by {seconds}.{millis:03} s");
    if apart <= MICROS_APART {
        return Finding::well("clock", found);
    }
    Finding::fault(
        "clock",
        found,
        "synchronize the clocks of both machines, for example by NTP (`timedatectl \
     status`)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_may_be_a_little_apart() {
        assert_eq!(clocks(2_000_000).outcome, Outcome::Well);
        let far = clocks(61_234_567);
        assert_eq!(far.outcome, Outcome::Fault);
        assert!(far.found.contains("61.234 s") && far.next.unwrap().contains("NTP"));
    }
}
