//! Checks that a history has no lost, duplicated, reordered, or missed messages, and names the anomalies.
//!
//! Each call takes effect at one moment between its beginning and its end; if its outcome is unknown, at any later
//! moment or never. What this cannot explain is an anomaly.

mod pages;
mod texts;
mod work;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::history::{Call, History, Operation, Outcome, Row};

/// A kind of anomaly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A message was acknowledged and is not there.
    Lost,
    /// A message that was read is missing, although no call deleted it.
    Vanished,
    /// One text, sent once or under one key, is two messages.
    Doubled,
    /// A message that was never sent, or whose send was refused.
    Phantom,
    /// A message stands before another one that was there before it was sent, or two readers saw two orders.
    Disordered,
    /// A page shows what is before and after a message, but not the message.
    Gap,
    /// The newest page lacks what was there before it was asked for.
    Stale,
    /// A text that was overwritten is read, or is read before it was written.
    StaleEdit,
    /// A message is there after its deletion was acknowledged.
    Resurrected,
    /// A message is offered to an agent that was told that it is processed.
    Reoffered,
    /// A message that waits for an agent is not offered, though a later one or nothing is.
    Withheld,
    /// Attempts on a message have a gap, the same number twice, or another order than their calls.
    Misnumbered,
    /// The shown state of the work on a message differs from the acknowledged one.
    WrongState,
    /// A call was refused that must not be.
    WronglyRefused,
}

/// One thing that went wrong.
#[derive(Clone, Debug)]
pub struct Anomaly {
    /// The kind of the anomaly.
    pub fault: Fault,
    /// The evidence.
    pub what: String,
}

/// A message with all that is known of its sending.
struct Message {
    room: usize,
    text: String,
    agents: Vec<usize>,
    /// The start of its first call.
    begun: u64,
    /// The time from which all readers must see it, because it was acknowledged or read.
    visible: u64,
    /// Set if its send was acknowledged.
    acknowledged: bool,
    /// The start of the first deletion that may have taken effect.
    deletion: u64,
    /// The time of the first acknowledgement.
    deleted: u64,
    /// Its place in its room when all was over.
    place: Option<usize>,
}

/// The messages of a room that a reader saw at some moment of a call.
struct Sight<'a> {
    call: &'a Call,
    rows: Vec<&'a Row>,
}

struct Check<'a> {
    history: &'a History,
    messages: HashMap<&'a str, Message>,
    anomalies: Vec<Anomaly>,
}

/// All that is wrong with a history.
pub fn check(history: &History) -> Vec<Anomaly> {
    let mut check = Check { history, messages: HashMap::new(), anomalies: Vec::new() };
    check.identify();
    check.find_refusals();
    check.compare_with_the_end();
    check.texts();
    check.order();
    check.pages();
    check.work();
    check.anomalies
}

impl<'a> Check<'a> {
    fn report(&mut self, fault: Fault, what: String) {
        self.anomalies.push(Anomaly { fault, what });
    }

    /// Everything that was seen before the end.
    fn sights(&self) -> impl Iterator<Item = Sight<'a>> + use<'a> {
        self.history.calls.iter().filter_map(|call| match &call.outcome {
            Outcome::Page { rows, .. } => Some(Sight { call, rows: rows.iter().collect() }),
            Outcome::Offered(Some(row)) => Some(Sight { call, rows: vec![row] }),
            _ => None,
        })
    }

    /// Finds out which id belongs to which sending, by the answers and by the texts that were seen.
    fn identify(&mut self) {
        let mut sendings = HashMap::<&str, Vec<&Call>>::new();
        let mut edits = HashMap::<&str, &Call>::new();
        let mut ids = BTreeMap::<&str, BTreeSet<&str>>::new();
        for call in &self.history.calls {
            match &call.operation {
                Operation::Send { text, .. } => {
                    sendings.entry(text).or_default().push(call);
                    if let Outcome::Sent(id) = &call.outcome {
                        ids.entry(text).or_default().insert(id);
                    }
                }
                Operation::Edit { text, .. } => {
                    edits.insert(text, call);
                }
                _ => {}
            }
        }
        let last = self.history.rooms.iter().flatten().map(|last| &last.row);
        let mut phantoms = BTreeSet::new();
        for row in self.sights().flat_map(|sight| sight.rows).chain(last) {
            if sendings.contains_key(row.text.as_str()) {
                ids.entry(&row.text).or_default().insert(&row.id);
            } else {
                let edit = edits.get(row.text.as_str());
                let is_its = edit.is_some_and(|call| {
                    call.is_possible()
                        && matches!(&call.operation, Operation::Edit { id, .. } if *id == row.id)
                });
                if !is_its {
                    phantoms.insert(format!("{} with the text {:?}", row.id, row.text));
                }
            }
        }
        for phantom in phantoms {
            self.report(Fault::Phantom, format!("nobody wrote {phantom}"));
        }
        for (text, ids) in ids {
            let calls = &sendings[text];
            if ids.len() > 1 {
                self.report(Fault::Doubled, format!("{text:?} is {ids:?}"));
            }
            if !calls.iter().any(|call| call.is_possible()) {
                self.report(Fault::Phantom, format!("{text:?} was refused and is {ids:?}"));
            }
            let Operation::Send { room, agents, .. } = &calls[0].operation else { continue };
            for id in ids {
                let answered = calls.iter().filter(|call| matches!(&call.outcome, Outcome::Sent(_)));
                let message = Message {
                    room: *room,
                    text: text.to_owned(),
                    agents: agents.clone(),
                    begun: calls.iter().map(|call| call.begin).min().unwrap_or(0),
                    visible: answered.clone().map(|call| call.end).min().unwrap_or(u64::MAX),
                    acknowledged: answered.count() > 0,
                    deletion: u64::MAX,
                    deleted: u64::MAX,
                    place: None,
                };
                self.messages.insert(id, message);
            }
        }
        for sight in self.sights() {
            for row in sight.rows {
                if let Some(message) = self.messages.get_mut(row.id.as_str()) {
                    message.visible = message.visible.min(sight.call.end);
                }
            }
        }
        for call in self.history.calls.iter().filter(|call| call.is_possible()) {
            let Operation::Delete { id } = &call.operation else { continue };
            let Some(message) = self.messages.get_mut(id.as_str()) else { continue };
            message.deletion = message.deletion.min(call.begin);
            message.deleted = message.deleted.min(call.latest());
        }
    }

    /// Only what a deletion, or a step that was taken already, explains may be refused.
    fn find_refusals(&mut self) {
        for call in &self.history.calls {
            let Outcome::Refused(status) = call.outcome else { continue };
            let is_deleted = |id: &String| {
                self.messages.get(id.as_str()).is_some_and(|message| message.deletion < call.end)
            };
            let explained = match &call.operation {
                Operation::Edit { id, .. } | Operation::Delete { id } | Operation::Begin { id, .. } => {
                    status == 404 && is_deleted(id)
                }
                Operation::Read { before: Some(before), .. } => status == 404 && is_deleted(before),
                Operation::Finish { agent, id } | Operation::Fail { agent, id } => {
                    (status == 404 && is_deleted(id))
                        || (status == 422 && self.is_contended(call, *agent, id))
                }
                _ => false,
            };
            if !explained {
                self.report(Fault::WronglyRefused, format!("{call:?}"));
            }
        }
    }

    /// Every message that was acknowledged or read exists once at the end, unless it was deleted.
    fn compare_with_the_end(&mut self) {
        let mut twice = Vec::new();
        for (number, room) in self.history.rooms.iter().enumerate() {
            for (place, last) in room.iter().enumerate() {
                let id = last.row.id.as_str();
                let Some(message) = self.messages.get_mut(id) else { continue };
                if message.room != number {
                    twice.push(format!("{id} of room {} stands in room {number}", message.room));
                }
                if message.place.replace(place).is_some() {
                    twice.push(format!("{id} stands in the room twice"));
                }
            }
        }
        for what in twice {
            self.report(Fault::Doubled, what);
        }
        let mut faults = Vec::new();
        for (id, message) in &self.messages {
            let what = format!("{id}, {:?}", message.text);
            match message.place {
                None if message.deletion == u64::MAX => {
                    let fault = if message.acknowledged { Fault::Lost } else { Fault::Vanished };
                    faults.push((fault, what));
                }
                Some(_) if message.deleted < u64::MAX => faults.push((Fault::Resurrected, what)),
                _ => {}
            }
        }
        faults.sort();
        for (fault, what) in faults {
            self.report(fault, what);
        }
    }
}
