//! The peer area's ports in one place.

use std::sync::Arc;

use super::port::{Peer, PeerRepository};
use crate::page::Page;
use crate::ports::Presence;

/// Use cases on peers.
pub struct PeerService {
    pub(super) peers: Arc<dyn PeerRepository>,
    presence: Arc<dyn Presence>,
}

/// A peer, and whether it is there right now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedPeer {
    /// The peer.
    pub peer: Peer,
    /// Whether a socket of it is open; an agent that the service itself runs is always there.
    pub online: bool,
}

impl PeerService {
    /// Wires the area to its ports.
    pub fn new(peers: Arc<dyn PeerRepository>, presence: Arc<dyn Presence>) -> Self {
        Self { peers, presence }
    }

    pub(super) fn with_presence(&self, page: Page<Peer>) -> Page<ListedPeer> {
        page.map(|peer| {
            let online = self.presence.is_there(peer.id, peer.is_external);
            ListedPeer { peer, online }
        })
    }
}
