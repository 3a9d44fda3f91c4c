//! Whether this server is one of several on its store.

use super::key::Key;
use super::values::Values;
use crate::store::StoreAt;

/// How many servers there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nodes {
    /// This one alone.
    One,
    /// Others work on the same store.
    Several,
}

pub(super) fn read(values: &mut Values, store: &StoreAt) -> Nodes {
    values.section("Several servers");
    let key = Key::text(
        "nodes",
        "one|several",
        "one",
        "Whether this server is the only one on its database, `one`, or one of `several`, which then agree on each \
         agent's live socket and on who is there; all of them have to say so. See [scaling.md](scaling.md).",
    );
    let nodes = values.read(key, nodes_of);
    if nodes == Nodes::Several && !matches!(store, StoreAt::Postgres(_)) {
        let problem = "several servers need PostgreSQL; set database_url to postgres://…, or nodes to one";
        values.refuse("nodes", problem.to_owned());
    }
    nodes
}

fn nodes_of(text: &str) -> Result<Nodes, String> {
    match text {
        "one" => Ok(Nodes::One),
        "several" => Ok(Nodes::Several),
        _ => Err(format!("'{text}' is neither one nor several")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::with_file;

    const DATABASE: (&str, &str) = ("PARLANCE_DATABASE_URL", "postgres://u@h/d");
    const SEVERAL: (&str, &str) = ("PARLANCE_NODES", "several");

    #[test]
    fn one_of_several_needs_a_database_that_several_can_use() {
        for (variables, faults) in [
            (&[SEVERAL][..], 1),
            (&[SEVERAL, ("PARLANCE_DATABASE_URL", "sqlite::memory:")], 1),
            (&[SEVERAL, DATABASE], 0),
            (&[("PARLANCE_NODES", "two"), DATABASE], 1),
            (&[DATABASE], 0),
        ] {
            let found = with_file(&[], variables, "").faults;
            assert_eq!(found.len(), faults, "{found:?}");
            assert!(found.iter().all(|fault| fault.key == "nodes"), "{found:?}");
        }
    }

    #[test]
    fn who_is_one_of_several_takes_time_to_stop() {
        let drain = |variables: &[(&str, &str)]| {
            let config = with_file(&[], variables, "").config;
            (config.is_one_of_several(), config.drain())
        };
        assert_eq!(drain(&[DATABASE]), (false, Duration::ZERO));
        assert_eq!(drain(&[DATABASE, SEVERAL]), (true, Duration::from_secs(5)));
        let own = ("PARLANCE_DRAIN_MS", "70");
        assert_eq!(drain(&[DATABASE, own]), (false, Duration::from_millis(70)));
        assert_eq!(drain(&[DATABASE, SEVERAL, own]), (true, Duration::from_millis(70)));
    }
}
