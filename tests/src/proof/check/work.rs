//! Checks the work of agents: which messages are offered to them, and how attempts are numbered.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Check, Fault};
use crate::proof::history::{Call, Operation, Outcome, Work};

/// The calls of one agent on one message.
#[derive(Default)]
struct Steps<'a> {
    begins: Vec<&'a Call>,
    finishes: Vec<&'a Call>,
    fails: Vec<&'a Call>,
}

impl Steps<'_> {
    /// The start of the first call that may have processed the message.
    fn finish(&self) -> u64 {
        self.finishes.iter().map(|call| call.begin).min().unwrap_or(u64::MAX)
    }

    /// Returns whether the message is processed for good at this moment: its end was acknowledged, and no attempt that
    /// may have begun later has opened it again.
    fn is_processed_at(&self, moment: u64) -> bool {
        let answered =
            self.finishes.iter().filter(|call| call.latest() < moment).map(|call| call.begin).max();
        answered.is_some_and(|finish| {
            !self.begins.iter().any(|begin| begin.begin < moment && begin.latest() > finish)
        })
    }
}

impl Check<'_> {
    fn steps(&self) -> HashMap<(usize, &str), Steps<'_>> {
        let mut steps = HashMap::<_, Steps<'_>>::new();
        for call in self.history.calls.iter().filter(|call| call.is_possible()) {
            match &call.operation {
                Operation::Begin { agent, id } => {
                    steps.entry((*agent, id.as_str())).or_default().begins.push(call);
                }
                Operation::Finish { agent, id } => {
                    steps.entry((*agent, id.as_str())).or_default().finishes.push(call);
                }
                Operation::Fail { agent, id } => {
                    steps.entry((*agent, id.as_str())).or_default().fails.push(call);
                }
                _ => {}
            }
        }
        steps
    }

    /// Returns whether another call may have ended or superseded the open attempt.
    pub(super) fn is_contended(&self, call: &Call, agent: usize, id: &str) -> bool {
        let is_other = |other: &&Call| {
            let is_its = matches!(&other.operation,
                Operation::Finish { agent: its, id: on } | Operation::Fail { agent: its, id: on }
                    if *its == agent && on == id);
            is_its && other.is_possible() && other.begin < call.end && other.latest() > call.begin
        };
        self.history.calls.iter().any(|other| is_other(&other))
    }

    pub(super) fn work(&mut self) {
        let steps = self.steps();
        let mut faults = Vec::new();
        for agent in 0..self.history.agents.len() {
            self.offers(agent, &steps, &mut faults);
            self.at_the_end(agent, &steps, &mut faults);
        }
        for ((agent, id), steps) in &steps {
            self.numbers(*agent, id, steps, &mut faults);
        }
        faults.sort();
        for (fault, what) in faults {
            self.report(fault, what);
        }
    }

    fn offers(
        &self,
        agent: usize,
        steps: &HashMap<(usize, &str), Steps<'_>>,
        faults: &mut Vec<(Fault, String)>,
    ) {
        let is_its = |call: &&Call| matches!(call.operation, Operation::Next { agent: its } if its == agent);
        let mut offers = self.history.calls.iter().filter(is_its).collect::<Vec<_>>();
        offers.sort_by_key(|call| call.end);
        // What mentions it: when it was there, from when on it need not be offered, and where it stands.
        let for_it = self.messages.iter().filter(|(_, message)| message.agents.contains(&agent));
        let for_it = for_it.filter_map(|(id, message)| {
            let finish = steps.get(&(agent, *id)).map_or(u64::MAX, Steps::finish);
            Some((message.visible, finish.min(message.deletion), message.place?, *id))
        });
        let mut coming = for_it.collect::<Vec<_>>();
        let mut going = coming.clone();
        coming.sort_unstable_by_key(|(visible, ..)| *visible);
        going.sort_unstable_by_key(|(_, settled, ..)| *settled);
        let (mut coming, mut going) = (coming.into_iter().peekable(), going.into_iter().peekable());
        let (mut open, mut gone) = (BTreeMap::new(), BTreeSet::new());
        for call in offers {
            let Outcome::Offered(offered) = &call.outcome else { continue };
            while let Some((_, _, place, _)) = going.next_if(|(_, settled, ..)| *settled < call.end) {
                open.remove(&place);
                gone.insert(place);
            }
            while let Some((visible, _, place, id)) = coming.next_if(|(visible, ..)| *visible < call.begin) {
                if !gone.contains(&place) {
                    open.insert(place, (visible, id));
                }
            }
            let answered = || format!("agent {agent} between {} and {}", call.begin, call.end);
            let mut place = Some(usize::MAX);
            if let Some(row) = offered {
                let message = self.messages.get(row.id.as_str());
                if !message.is_some_and(|message| message.agents.contains(&agent)) {
                    faults.push((Fault::Phantom, format!("{} is not for {}", row.id, answered())));
                    continue;
                }
                place = message.and_then(|message| message.place);
                if message.is_some_and(|message| message.deleted < call.begin) {
                    faults.push((
                        Fault::Resurrected,
                        format!("{} was deleted and offered to {}", row.id, answered()),
                    ));
                }
                if steps.get(&(agent, row.id.as_str())).is_some_and(|steps| steps.is_processed_at(call.begin))
                {
                    faults.push((Fault::Reoffered, format!("{} to {}", row.id, answered())));
                }
            }
            if let (Some(place), Some((first, (visible, id)))) = (place, open.first_key_value()) {
                // Offers overlap only where a call was given up, and then it offered nothing.
                if *first < place && *visible < call.begin {
                    faults.push((Fault::Withheld, format!("{id} from {}", answered())));
                }
            }
        }
    }

    fn at_the_end(
        &self,
        agent: usize,
        steps: &HashMap<(usize, &str), Steps<'_>>,
        faults: &mut Vec<(Fault, String)>,
    ) {
        let none = Work::default();
        let mut waiting = Vec::new();
        for last in &self.history.rooms[self.history.agents[agent]] {
            let id = last.row.id.as_str();
            let Some(message) = self.messages.get(id) else { continue };
            if !message.agents.contains(&agent) {
                continue;
            }
            let work = last.work.get(&agent).unwrap_or(&none);
            let steps = steps.get(&(agent, id));
            if !work.processed {
                waiting.push(id);
            }
            let must_be = steps.is_some_and(|steps| steps.is_processed_at(u64::MAX));
            let may_be = steps.is_some_and(|steps| steps.finish() < u64::MAX);
            if (must_be && !work.processed) || (work.processed && !may_be) {
                faults.push((Fault::WrongState, format!("{id} at agent {agent}: {work:?}")));
            }
            let begins = steps.map_or(0, |steps| steps.begins.len());
            if work.attempts.len() > begins {
                let what = format!("{id} at agent {agent}: {:?} of {begins}", work.attempts);
                faults.push((Fault::Misnumbered, what));
            }
        }
        if waiting != self.history.waiting[agent] {
            let what = format!("{waiting:?} wait for agent {agent}, shown {:?}", self.history.waiting[agent]);
            faults.push((Fault::WrongState, what));
        }
    }

    fn numbers(&self, agent: usize, id: &str, steps: &Steps<'_>, faults: &mut Vec<(Fault, String)>) {
        let Some(message) = self.messages.get(id) else { return };
        let number = |call: &&Call| match call.outcome {
            Outcome::Attempt(number) => Some((number, call.begin, call.end)),
            _ => None,
        };
        let mut begun = steps.begins.iter().filter_map(number).collect::<Vec<_>>();
        begun.sort_unstable();
        let mut is_wrong = begun.windows(2).any(|pair| pair[0].0 == pair[1].0 || pair[1].2 < pair[0].1);
        if let Some(last) = message.place.map(|place| &self.history.rooms[message.room][place]) {
            let shown = last.work.get(&agent).map_or(&[][..], |work| &work.attempts);
            let ended = steps.finishes.iter().chain(&steps.fails).filter_map(number);
            let is_shown = |number: u64| shown.contains(&number);
            is_wrong |= shown.iter().zip(1..).any(|(shown, number)| *shown != number);
            is_wrong |= !begun.iter().copied().chain(ended).all(|(number, ..)| is_shown(number));
        }
        if is_wrong {
            faults.push((Fault::Misnumbered, format!("{id} at agent {agent}: {begun:?}")));
        }
    }
}
