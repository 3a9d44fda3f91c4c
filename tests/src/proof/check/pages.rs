//! Checks the order of messages in a room, and the content of pages.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Check, Fault};
use crate::proof::history::{Call, Operation, Outcome, Row};

/// The messages of a room that have a place at the end, and between which of them the deleted ones were seen.
struct Room {
    /// From this time on the message at a place or a later one has to be seen.
    visible_from: Vec<u64>,
    /// By the place before them: the place after them, and the message.
    deleted: BTreeMap<usize, Vec<(usize, String)>>,
}

impl<'a> Check<'a> {
    /// The order at the end keeps to real time, and agrees with every page that was read.
    pub(super) fn order(&mut self) {
        let mut faults = Vec::new();
        for room in &self.history.rooms {
            // From the end: when the earliest of all later messages was there.
            let mut earliest = (u64::MAX, "");
            for last in room.iter().rev() {
                let Some(message) = self.messages.get(last.row.id.as_str()) else { continue };
                if earliest.0 < message.begun {
                    faults.push(format!("{} was there before {} was sent", earliest.1, last.row.id));
                }
                if message.visible < earliest.0 {
                    earliest = (message.visible, &last.row.id);
                }
            }
        }
        let mut edges = HashMap::<&str, HashSet<&str>>::new();
        let mut add = |rows: Vec<&'a str>| {
            for pair in rows.windows(2) {
                edges.entry(pair[0]).or_default().insert(pair[1]);
            }
        };
        for call in &self.history.calls {
            if let Outcome::Page { rows, .. } = &call.outcome {
                add(rows.iter().map(|row| row.id.as_str()).collect());
            }
        }
        for room in &self.history.rooms {
            add(room.iter().map(|last| last.row.id.as_str()).collect());
        }
        if let Some(id) = on_a_circle(&edges) {
            faults.push(format!("not all who saw {id} saw the same order"));
        }
        for what in faults {
            self.report(Fault::Disordered, what);
        }
    }

    pub(super) fn pages(&mut self) {
        let rooms = (0..self.history.rooms.len()).map(|room| self.room(room)).collect::<Vec<_>>();
        let mut faults = Vec::new();
        for call in &self.history.calls {
            let Operation::Read { room, .. } = call.operation else { continue };
            let Outcome::Page { rows, newest, oldest } = &call.outcome else { continue };
            self.page(&rooms[room], call, rows, *newest, *oldest, &mut faults);
        }
        for (fault, what) in faults {
            self.report(fault, what);
        }
    }

    fn room(&self, room: usize) -> Room {
        let mut visible_from = vec![u64::MAX];
        for last in self.history.rooms[room].iter().rev() {
            let visible = self.messages.get(last.row.id.as_str()).map_or(u64::MAX, |message| message.visible);
            visible_from.push(visible.min(visible_from[visible_from.len() - 1]));
        }
        visible_from.reverse();
        let mut between = HashMap::<&str, (Option<usize>, Option<usize>)>::new();
        for call in &self.history.calls {
            let (Operation::Read { room: read, .. }, Outcome::Page { rows, .. }) =
                (&call.operation, &call.outcome)
            else {
                continue;
            };
            if *read != room {
                continue;
            }
            let mut before = None;
            for row in rows {
                before = self.place(row).or(before);
                if self.place(row).is_none() {
                    let known = between.entry(&row.id).or_default();
                    known.0 = known.0.max(before);
                }
            }
            let mut after = None;
            for row in rows.iter().rev() {
                after = self.place(row).or(after);
                if self.place(row).is_none() && after.is_some() {
                    let known = between.entry(&row.id).or_default();
                    known.1 = known.1.map_or(after, |known| after.map(|after| after.min(known)));
                }
            }
        }
        let mut deleted = BTreeMap::<_, Vec<_>>::new();
        for (id, known) in between {
            if let (Some(before), Some(after)) = known {
                deleted.entry(before).or_default().push((after, id.to_owned()));
            }
        }
        Room { visible_from, deleted }
    }

    fn place(&self, row: &Row) -> Option<usize> {
        self.messages.get(row.id.as_str())?.place
    }

    fn page(
        &self,
        room: &Room,
        call: &Call,
        rows: &[Row],
        newest: bool,
        oldest: bool,
        faults: &mut Vec<(Fault, String)>,
    ) {
        let described = || format!("{} between {} and {}", call.actor, call.begin, call.end);
        let ids = rows.iter().map(|row| row.id.as_str()).collect::<HashSet<_>>();
        if ids.len() < rows.len() {
            faults.push((Fault::Doubled, format!("a page has a message twice: {}", described())));
        }
        for row in rows {
            if self.messages.get(row.id.as_str()).is_some_and(|message| message.deleted < call.begin) {
                faults.push((
                    Fault::Resurrected,
                    format!("{} was deleted and read by {}", row.id, described()),
                ));
            }
        }
        let places = rows.iter().filter_map(|row| self.place(row)).collect::<Vec<_>>();
        if let (Some(low), Some(high)) = (places.iter().min().copied(), places.iter().max().copied()) {
            if high - low + 1 != places.len() {
                faults.push((Fault::Gap, format!("from place {low} to {high}: {}", described())));
            }
            if oldest && low > 0 {
                faults.push((Fault::Gap, format!("before place {low}, the oldest: {}", described())));
            }
            for (after, id) in room.deleted.range(low..=high).flat_map(|(_, all)| all) {
                let message = &self.messages[id.as_str()];
                let must_be = message.visible < call.begin && message.deletion > call.end;
                if *after <= high && must_be && !ids.contains(id.as_str()) {
                    faults.push((Fault::Gap, format!("{id} was not deleted yet: {}", described())));
                }
            }
        }
        if newest && (rows.is_empty() || !places.is_empty()) {
            let next = places.iter().max().map_or(0, |high| high + 1);
            if room.visible_from[next] < call.begin {
                faults.push((Fault::Stale, format!("nothing from place {next} on: {}", described())));
            }
        }
    }
}

/// A message that, by the pairs of neighbours that were seen, comes before itself.
fn on_a_circle<'a>(edges: &HashMap<&'a str, HashSet<&'a str>>) -> Option<&'a str> {
    let mut comes_after = HashMap::<&str, usize>::new();
    for (one, others) in edges {
        comes_after.entry(one).or_default();
        for other in others {
            *comes_after.entry(other).or_default() += 1;
        }
    }
    let first = comes_after.iter().filter(|(_, count)| **count == 0);
    let mut free = first.map(|(id, _)| *id).collect::<Vec<_>>();
    while let Some(id) = free.pop() {
        comes_after.remove(id);
        for other in edges.get(id).into_iter().flatten() {
            if let Some(count) = comes_after.get_mut(other) {
                *count -= 1;
                if *count == 0 {
                    free.push(other);
                }
            }
        }
    }
    comes_after.into_keys().min()
}
