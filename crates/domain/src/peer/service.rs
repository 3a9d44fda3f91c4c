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

/// A peer with its presence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedPeer {
    /// The peer.
    pub peer: Peer,
    /// Set if a socket of it is open; a platform agent is always present.
    pub online: bool,
}

impl PeerService {
    /// Wires the area to its ports.
    pub fn new(peers: Arc<dyn PeerRepository>, presence: Arc<dyn Presence>) -> Self {
        Self { peers, presence }
    }

    pub(super) fn with_presence(&self, page: Page<Peer>) -> Page<ListedPeer> {
        page.map(|peer| {
            let online = self.presence.is_present(peer.id, peer.is_external);
            ListedPeer { peer, online }
        })
    }
}
