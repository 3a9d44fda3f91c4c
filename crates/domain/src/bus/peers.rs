//! What the other nodes listen to, as far as it is known.
//!
//! Invariant: what a node has told before it was last heard of is known, or the node counts as interested in everything
//! until it has told the whole.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::healing::Loss;
use super::note::Note;
use super::route::Interest;
use crate::id::NodeId;
use crate::time::Timestamp;

/// A node of which nothing was heard for so long has ended, or cannot be reached.
pub const SILENCE: Duration = Duration::from_secs(5);

/// How long it takes at most until every node that is there was heard of.
pub const BEAT: Duration = Duration::from_secs(1);

/// How long after it (again) hears others a node waits until it believes that it knows all of them.
const INTRODUCTION: Duration = Duration::from_secs(2);

/// For how long a node that fell silent may come back.
const MISSED: Duration = Duration::from_secs(60 * 60);

/// What a note is to be answered with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Telling the own interests as a whole.
    Tell,
    /// Asking this node for the whole.
    Ask(NodeId),
}

/// The other nodes.
#[derive(Debug)]
pub struct Peers {
    own: NodeId,
    others: HashMap<NodeId, Peer>,
    /// When those were heard last who fell silent without a farewell.
    missing: HashMap<NodeId, Timestamp>,
    /// Since when what another node has told, or was to be told, may be lost.
    lost: Loss,
    /// From when on those are all nodes of which was heard.
    complete_from: Timestamp,
    is_complete: bool,
}

#[derive(Debug)]
struct Peer {
    heard_at: Timestamp,
    /// `None` while it has not told the whole.
    revision: Option<u64>,
    interests: HashSet<Interest>,
    whole: Parts,
}

/// A whole that is being told.
#[derive(Debug, Default)]
struct Parts {
    revision: u64,
    told: HashMap<u32, Vec<Interest>>,
}

impl Peers {
    /// Nothing is known yet; others are heard from now on.
    pub fn new(own: NodeId, now: Timestamp) -> Self {
        let (others, missing) = (HashMap::new(), HashMap::new());
        Self {
            own,
            others,
            missing,
            lost: Loss::default(),
            complete_from: now.plus(INTRODUCTION),
            is_complete: false,
        }
    }

    /// For a while nobody was heard; others are heard again from now on. All of them should be asked.
    pub fn begin_again(&mut self, now: Timestamp) {
        for peer in self.others.values_mut() {
            peer.forget(now);
        }
        self.complete_from = now.plus(INTRODUCTION);
        self.is_complete = false;
    }

    /// Takes up what a node has told.
    pub fn hear(&mut self, from: NodeId, note: Note, now: Timestamp) -> Option<Answer> {
        if from == self.own {
            return None;
        }
        if note == Note::Gone {
            self.others.remove(&from);
            return None;
        }
        if let Some(since) = self.missing.remove(&from) {
            self.lost.note(since);
        }
        let peer = self.others.entry(from).or_insert_with(|| Peer::new(now));
        let known = peer.revision.map(|_| peer.heard_at);
        peer.heard_at = now;
        let answer = match note {
            Note::Here { revision } => peer.is_there(revision, from),
            Note::Changed { revision, begun, over } => peer.change(revision, begun, &over, from),
            Note::Whole { revision, part, parts, interests } => {
                peer.take_part(revision, part, parts, interests);
                None
            }
            Note::Ask { of } => of.is_none_or(|asked| asked == self.own).then_some(Answer::Tell),
            Note::Gone => None,
        };
        if let (Some(Answer::Ask(_)), Some(since)) = (answer, known) {
            // What it has begun to want was missed.
            self.lost.note(since);
        }
        answer
    }

    /// Time has passed: who was not heard is gone. To be called about twice a second while others can be heard.
    pub fn expire(&mut self, now: Timestamp) {
        let silent = self.others.extract_if(|_, peer| peer.heard_at.plus(SILENCE) <= now);
        let silent = silent.map(|(node, peer)| (node, peer.heard_at)).collect::<Vec<_>>();
        for (node, since) in silent {
            self.missing.insert(node, since);
            self.lost.note(since);
        }
        self.missing.retain(|_, since| since.plus(MISSED) > now);
        self.is_complete = self.complete_from <= now;
    }

    /// Since when something between this node and another may be lost, as one fell silent or was silent for a while;
    /// nothing until the next such loss.
    pub fn take_lost(&mut self) -> Option<Timestamp> {
        self.lost.take()
    }

    /// Whether another node is interested, or may be.
    pub fn want(&self, interest: Interest) -> bool {
        !self.is_complete || self.others.values().any(|peer| peer.wants(interest))
    }

    /// Whether there is another node, or may be.
    pub fn are_there(&self) -> bool {
        !self.is_complete || !self.others.is_empty()
    }

    /// How many others there are.
    pub fn count(&self) -> usize {
        self.others.len()
    }
}

impl Peer {
    fn new(now: Timestamp) -> Self {
        Self { heard_at: now, revision: None, interests: HashSet::new(), whole: Parts::default() }
    }

    fn forget(&mut self, now: Timestamp) {
        *self = Self::new(now);
    }

    fn wants(&self, interest: Interest) -> bool {
        self.revision.is_none() || self.interests.contains(&interest)
    }

    fn is_there(&mut self, revision: u64, from: NodeId) -> Option<Answer> {
        if self.holds(revision) {
            return None;
        }
        self.revision = None;
        Some(Answer::Ask(from))
    }

    /// Whether all is known that it has told up to this change. More may be known already.
    fn holds(&self, revision: u64) -> bool {
        self.revision.is_some_and(|known| known >= revision)
    }

    fn change(
        &mut self,
        revision: u64,
        begun: Vec<Interest>,
        over: &[Interest],
        from: NodeId,
    ) -> Option<Answer> {
        match self.revision {
            // It comes twice.
            Some(known) if known >= revision => None,
            Some(known) if known + 1 == revision => {
                self.interests.extend(begun);
                for interest in over {
                    self.interests.remove(interest);
                }
                self.revision = Some(revision);
                None
            }
            // The whole may be on its way; it is asked for as long as it does not come.
            _ => {
                self.revision = None;
                Some(Answer::Ask(from))
            }
        }
    }

    fn take_part(&mut self, revision: u64, part: u32, parts: u32, interests: Vec<Interest>) {
        if self.holds(revision) || part >= parts {
            return;
        }
        if self.whole.revision != revision {
            self.whole = Parts { revision, told: HashMap::new() };
        }
        self.whole.told.insert(part, interests);
        if self.whole.told.len() == parts as usize {
            let told = std::mem::take(&mut self.whole).told;
            self.interests = told.into_values().flatten().collect();
            self.revision = Some(revision);
        }
    }
}

#[cfg(test)]
mod tests;
