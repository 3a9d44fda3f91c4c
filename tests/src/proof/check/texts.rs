//! Texts: each message is a register that its sender and its editors write, and that all readers read.
//!
//! As no two writes have the same text, it is known which write each reader saw. A write and its reads form a cluster,
//! and the clusters of a register can be put in an order exactly when no two of those that surely lasted for a time
//! lasted at the same time, and none that surely was short lies within one that lasted (Gibbons and Korach, "Testing
//! Shared Memories", 1997).

use std::collections::{HashMap, HashSet};

use super::{Check, Fault};
use crate::proof::history::Operation;

/// A write and those who read it.
struct Cluster<'a> {
    text: &'a str,
    begun: u64,
    /// The earliest end.
    first_end: u64,
    /// The latest beginning.
    last_begin: u64,
    is_read: bool,
    is_sure: bool,
}

impl Check<'_> {
    pub(super) fn texts(&mut self) {
        let edited = self.history.calls.iter().filter_map(|call| match &call.operation {
            Operation::Edit { id, .. } if call.is_possible() => Some(id.as_str()),
            _ => None,
        });
        let edited = edited.collect::<HashSet<_>>();
        let mut registers = HashMap::<&str, HashMap<&str, Cluster<'_>>>::new();
        for id in edited {
            let Some(message) = self.messages.get(id) else { continue };
            let first = Cluster {
                text: &message.text,
                begun: message.begun,
                first_end: message.visible,
                last_begin: message.begun,
                is_read: false,
                is_sure: true,
            };
            registers.entry(id).or_default().insert(&message.text, first);
        }
        for call in self.history.calls.iter().filter(|call| call.is_possible()) {
            let Operation::Edit { id, text } = &call.operation else { continue };
            let Some(register) = registers.get_mut(id.as_str()) else { continue };
            let cluster = Cluster {
                text,
                begun: call.begin,
                first_end: call.latest(),
                last_begin: call.begin,
                is_read: false,
                is_sure: !call.is_unclear(),
            };
            register.insert(text, cluster);
        }
        let over = self.history.calls.iter().map(|call| call.end).max().unwrap_or(0) + 1;
        let last = self.history.rooms.iter().flatten().map(|last| (&last.row, over, over));
        let seen = self.sights().flat_map(|sight| {
            let (begin, end) = (sight.call.begin, sight.call.end);
            sight.rows.into_iter().map(move |row| (row, begin, end))
        });
        let mut faults = Vec::new();
        for (row, begin, end) in seen.chain(last) {
            let Some(register) = registers.get_mut(row.id.as_str()) else { continue };
            let Some(cluster) = register.get_mut(row.text.as_str()) else { continue };
            if end < cluster.begun {
                faults.push(format!("{} had the text {:?} before it was written", row.id, row.text));
            }
            cluster.first_end = cluster.first_end.min(end);
            cluster.last_begin = cluster.last_begin.max(begin);
            cluster.is_read = true;
        }
        for (id, register) in registers {
            let clusters = register.into_values().filter(|cluster| cluster.is_read || cluster.is_sure);
            if let Some((one, other)) = contradiction(clusters.collect()) {
                faults.push(format!("{id}: {one:?} and {other:?} cannot have been in any order"));
            }
        }
        faults.sort();
        for what in faults {
            self.report(Fault::StaleEdit, what);
        }
    }
}

/// Two writes that no order explains.
fn contradiction(mut clusters: Vec<Cluster<'_>>) -> Option<(String, String)> {
    let texts_of = |one: &Cluster<'_>, other: &Cluster<'_>| (one.text.to_owned(), other.text.to_owned());
    clusters.sort_by_key(|cluster| cluster.first_end.min(cluster.last_begin));
    let (lasting, short) =
        clusters.iter().partition::<Vec<_>, _>(|cluster| cluster.first_end < cluster.last_begin);
    for pair in lasting.windows(2) {
        if pair[1].first_end < pair[0].last_begin {
            return Some(texts_of(pair[0], pair[1]));
        }
    }
    for one in short {
        // Those that last do not overlap, so the one that began last before it is the only one that can hold it.
        let before = lasting.partition_point(|long| long.first_end < one.last_begin);
        if let Some(long) = before.checked_sub(1).map(|index| lasting[index])
            && one.first_end < long.last_begin
        {
            return Some(texts_of(long, one));
        }
    }
    None
}
