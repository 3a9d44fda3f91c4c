//! Messages from the bus, and which of them are accepted.

use std::time::Duration;

use async_nats::Message;
use domain::bus::PeerMessage;
use domain::id::NodeId;
use measure::BusDrop;

use crate::bus::NatsBus;
use crate::seal::{Head, Refused};
use crate::wire;

/// The maximum size of an accepted message; NATS has a limit of its own, mostly a smaller one.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// The assumed maximum delay of messages that arrive too late.
const HELD_UP: Duration = Duration::from_secs(5 * 60);

impl NatsBus {
    /// Publishes an event of another node to the local sockets, if it is one.
    pub(crate) fn take_event(&self, message: &Message) {
        let Some((head, body)) = self.open(message) else { return };
        if !wire::is_event(head.kind) {
            measure::bus_dropped(BusDrop::Malformed);
            return;
        }
        if !self.seen().is_first(head.node, head.number, self.now()) {
            measure::bus_dropped(BusDrop::Repeated);
            return;
        }
        match wire::decode(head.kind, body) {
            Ok(Some(event)) => {
                measure::bus_received();
                self.publish(event);
            }
            Ok(None) => measure::bus_dropped(BusDrop::Unknown),
            Err(wire::Malformed) => measure::bus_dropped(BusDrop::Malformed),
        }
    }

    /// The peer message of another node, if it is one.
    pub(crate) fn take_peer_message(&self, message: &Message) -> Option<(NodeId, PeerMessage)> {
        let (head, body) = self.open(message)?;
        if !wire::is_peer_message(head.kind) {
            measure::bus_dropped(BusDrop::Malformed);
            return None;
        }
        match wire::decode_peer_message(head.kind, body) {
            Ok(Some(peer_message)) => return Some((head.node, peer_message)),
            Ok(None) => measure::bus_dropped(BusDrop::Unknown),
            Err(wire::Malformed) => measure::bus_dropped(BusDrop::Malformed),
        }
        None
    }

    /// The head and the body, if another node of this installation has sent it.
    fn open<'a>(&self, message: &'a Message) -> Option<(Head, &'a [u8])> {
        if message.payload.len() > MOST_BYTES {
            measure::bus_dropped(BusDrop::TooLarge);
            return None;
        }
        match self.seal().open(&message.subject, &message.payload, self.now()) {
            Ok((head, _)) if head.node == self.node() => None,
            Ok(opened) => Some(opened),
            Err(refused) => {
                measure::bus_dropped(match refused {
                    Refused::Malformed => BusDrop::Malformed,
                    Refused::Unknown => BusDrop::Unknown,
                    Refused::Forged => BusDrop::Forged,
                    Refused::TooOld => {
                        // Its time proves nothing: it may be a recording of any age.
                        self.losses().unheard(self.now().minus(HELD_UP));
                        BusDrop::TooOld
                    }
                });
                None
            }
        }
    }
}
