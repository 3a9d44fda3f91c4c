//! Whether this server is one of several on its store.

use super::key::Key;
use super::values::Values;
use crate::store::StoreAt;

/// How many servers work on the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClusterMode {
    /// One server.
    Single,
    /// Several servers.
    Multi,
}

pub(super) fn read(values: &mut Values, store: &StoreAt) -> ClusterMode {
    values.section("Several servers");
    let key = Key::text(
        "cluster_mode",
        "single|multi",
        "single",
        "`single` if this is the only server on its database. `multi` on each server if there are several, which then \
         agree on each agent's live socket and on presence. See [scaling.md](scaling.md).",
    );
    let mode = values.read(key, mode_of);
    if mode == ClusterMode::Multi && !matches!(store, StoreAt::Postgres(_)) {
        let problem =
            "several servers need PostgreSQL; set database_url to postgres://…, or cluster_mode to single";
        values.refuse("cluster_mode", problem.to_owned());
    }
    mode
}

fn mode_of(text: &str) -> Result<ClusterMode, String> {
    match text {
        "single" => Ok(ClusterMode::Single),
        "multi" => Ok(ClusterMode::Multi),
        _ => Err(format!("'{text}' is neither single nor multi")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::with_file;

    const DATABASE: (&str, &str) = ("PARLANCE_DATABASE_URL", "postgres://u@h/d");
    const MULTI: (&str, &str) = ("PARLANCE_CLUSTER_MODE", "multi");

    #[test]
    fn one_of_several_needs_a_database_that_several_can_use() {
        for (variables, faults) in [
            (&[MULTI][..], 1),
            (&[MULTI, ("PARLANCE_DATABASE_URL", "sqlite::memory:")], 1),
            (&[MULTI, DATABASE], 0),
            (&[("PARLANCE_CLUSTER_MODE", "two"), DATABASE], 1),
            (&[DATABASE], 0),
        ] {
            let found = with_file(&[], &[variables, &[("PARLANCE_MAX_FILE_BYTES", "0")]].concat(), "").faults;
            assert_eq!(found.len(), faults, "{found:?}");
            assert!(found.iter().all(|fault| fault.key == "cluster_mode"), "{found:?}");
        }
    }

    #[test]
    fn who_is_one_of_several_takes_time_to_stop() {
        let drain = |variables: &[(&str, &str)]| {
            let config = with_file(&[], variables, "").config;
            (config.is_one_of_several(), config.drain())
        };
        assert_eq!(drain(&[DATABASE]), (false, Duration::ZERO));
        assert_eq!(drain(&[DATABASE, MULTI]), (true, Duration::from_secs(5)));
        let own = ("PARLANCE_DRAIN_MS", "70");
        assert_eq!(drain(&[DATABASE, own]), (false, Duration::from_millis(70)));
        assert_eq!(drain(&[DATABASE, MULTI, own]), (true, Duration::from_millis(70)));
    }
}
