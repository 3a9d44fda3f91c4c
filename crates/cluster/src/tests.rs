//! Sockets, and what they have received.

use std::sync::Arc;

use domain::caller::Caller;
use domain::node::OnConflict;
use futures_util::future::join;
use testkit::bus::BARE;
use ws_gateway::inbox::{InboxItem, Reader};
use ws_gateway::other_nodes::PendingClaim;
use ws_gateway::{Hub, SocketClaim};

use crate::LocalNode;

/// Opens a socket on a node whose claims no store decides.
pub(crate) async fn open(node: &LocalNode, hub: &Arc<Hub>, caller: Caller) -> (SocketClaim, Reader) {
    let decided = async {
        let claims = node.take_pending().into_iter().flat_map(|batch| batch.claims);
        claims.for_each(PendingClaim::open);
    };
    let (opened, ()) = join(hub.open(caller, BARE, OnConflict::Supersede), decided).await;
    opened.map_err(|refused| format!("{refused:?}")).unwrap()
}

/// The names of the received events; `!end` is the end of a subscription.
pub(crate) fn received(reader: &mut Reader) -> Vec<&'static str> {
    let mut all = Vec::new();
    for received in reader {
        match received {
            InboxItem::Event(event) => all.push(event.payload.event),
            InboxItem::End { .. } => all.push("!end"),
            received => panic!("{received:?}"),
        }
    }
    all
}
