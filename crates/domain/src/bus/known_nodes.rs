//! The known interests of the other nodes.
//!
//! Invariant: everything that a node had sent before it was last heard is known, or the node counts
//! as interested in everything until it has sent the full list.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::peer_message::PeerMessage;
use super::resync_period::Loss;
use super::route::Interest;
use crate::id::NodeId;
use crate::time::Timestamp;

/// The time without a heartbeat after which a node counts as gone.
pub const SILENCE: Duration = Duration::from_secs(5);

/// The interval of heartbeats.
pub const BEAT: Duration = Duration::from_secs(1);

/// How long a node that has just connected waits until it counts all other nodes as known.
const INTRODUCTION: Duration = Duration::from_secs(2);

/// How long a silent node may return.
const MISSED: Duration = Duration::from_secs(60 * 60);

/// The answer that a message needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Send the full list of own interests.
    Tell,
    /// Ask this node for its full list.
    Ask(NodeId),
}

/// The other nodes.
#[derive(Debug)]
pub struct KnownNodes {
    own: NodeId,
    others: HashMap<NodeId, KnownNode>,
    /// The nodes that fell silent without a farewell, with the time of the last message.
    missing: HashMap<NodeId, Timestamp>,
    /// The time since which events from or for another node may be lost.
    lost: Loss,
    /// The time from which all other nodes are known.
    complete_from: Timestamp,
    is_complete: bool,
}

#[derive(Debug)]
struct KnownNode {
    heard_at: Timestamp,
    /// `None` until it has sent the full list.
    revision: Option<u64>,
    interests: HashSet<Interest>,
    whole: Parts,
}

/// A full list that is being received.
#[derive(Debug, Default)]
struct Parts {
    revision: u64,
    received: HashMap<u32, Vec<Interest>>,
}

impl KnownNodes {
    /// No node is known yet; messages arrive from now on.
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

    /// Starts over after a time without messages. All nodes should then be asked for their lists.
    pub fn begin_again(&mut self, now: Timestamp) {
        for peer in self.others.values_mut() {
            peer.forget(now);
        }
        self.complete_from = now.plus(INTRODUCTION);
        self.is_complete = false;
    }

    /// Applies a message of a node.
    pub fn hear(&mut self, from: NodeId, message: PeerMessage, now: Timestamp) -> Option<Answer> {
        if from == self.own {
            return None;
        }
        if message == PeerMessage::Leaving {
            self.others.remove(&from);
            return None;
        }
        if let Some(since) = self.missing.remove(&from) {
            self.lost.record(since);
        }
        let peer = self.others.entry(from).or_insert_with(|| KnownNode::new(now));
        let known = peer.revision.map(|_| peer.heard_at);
        peer.heard_at = now;
        let answer = match message {
            PeerMessage::Heartbeat { revision } => peer.is_there(revision, from),
            PeerMessage::InterestsChanged { revision, begun, over } => {
                peer.change(revision, begun, &over, from)
            }
            PeerMessage::AllInterests { revision, part, parts, interests } => {
                peer.take_part(revision, part, parts, interests);
                None
            }
            PeerMessage::AskInterests { of } => {
                of.is_none_or(|asked| asked == self.own).then_some(Answer::Tell)
            }
            PeerMessage::Leaving => None,
        };
        if let (Some(Answer::Ask(_)), Some(since)) = (answer, known) {
            // A new interest of it was missed.
            self.lost.record(since);
        }
        answer
    }

    /// Removes nodes whose heartbeat has stopped. Must be called about twice a second while messages
    /// can arrive. Returns whether from now on all other nodes are known.
    pub fn expire(&mut self, now: Timestamp) -> bool {
        let silent = self.others.extract_if(|_, peer| peer.heard_at.plus(SILENCE) <= now);
        let silent = silent.map(|(node, peer)| (node, peer.heard_at)).collect::<Vec<_>>();
        for (node, since) in silent {
            self.missing.insert(node, since);
            self.lost.record(since);
        }
        self.missing.retain(|_, since| since.plus(MISSED) > now);
        let was_complete = std::mem::replace(&mut self.is_complete, self.complete_from <= now);
        self.is_complete && !was_complete
    }

    /// The time since which events from or for another node may be lost, since one fell or was
    /// silent; `None` until the next such loss.
    pub fn take_lost(&mut self) -> Option<Timestamp> {
        self.lost.take()
    }

    /// Returns whether another node has the interest, or may have it.
    pub fn want(&self, interest: Interest) -> bool {
        !self.is_complete || self.others.values().any(|peer| peer.wants(interest))
    }

    /// Returns whether there is another node, or may be.
    pub fn are_there(&self) -> bool {
        !self.is_complete || !self.others.is_empty()
    }

    /// The number of other nodes.
    pub fn count(&self) -> usize {
        self.others.len()
    }
}

impl KnownNode {
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

    /// Returns whether everything up to this change is known. Later changes may be known already.
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
            // A repeated message.
            Some(known) if known >= revision => None,
            Some(known) if known + 1 == revision => {
                self.interests.extend(begun);
                for interest in over {
                    self.interests.remove(interest);
                }
                self.revision = Some(revision);
                None
            }
            // The full list may be on its way; it is requested as long as it does not arrive.
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
            self.whole = Parts { revision, received: HashMap::new() };
        }
        self.whole.received.insert(part, interests);
        if self.whole.received.len() == parts as usize {
            let received = std::mem::take(&mut self.whole).received;
            self.interests = received.into_values().flatten().collect();
            self.revision = Some(revision);
        }
    }
}

#[cfg(test)]
mod tests;
