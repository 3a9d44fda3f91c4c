//! Connections as they are accepted: how long they may hang, and how many one address may have.

use std::any::Any;
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;
use http_wire::limit::{ConnectionLimit, Connections};
use socket2::SockRef;

use crate::config::Config;

/// How many connections an address may have where nobody has said.
const USUAL: u32 = 2000;

/// How long a peer may take nothing of what waits for it.
const STUCK_PEER: Duration = Duration::from_secs(30);

/// All that is said to somebody who has too many.
const REFUSAL: &[u8] =
    b"HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\ncontent-length: 0\r\nretry-after: 5\r\n\r\n";

/// The connections of one listener, none yet.
pub(crate) fn limited(config: &Config) -> Arc<Connections> {
    let given = config.http.per_address;
    Connections::new(ConnectionLimit {
        most: Some(given.unwrap_or(USUAL)).filter(|most| *most > 0),
        loopback: given.is_some(),
        exempt: config.rates.trusted_proxies.clone(),
    })
}

/// Takes in a connection, or ends it at once; what is put into `kept` goes with it.
pub(crate) fn accept(connections: &Arc<Connections>, connection: &dyn Any, kept: &mut Extensions) {
    let Some(stream) = connection.downcast_ref::<TcpStream>() else { return };
    let socket = SockRef::from(stream);
    give_up_on_stuck_peers(&socket);
    let Ok(peer) = stream.peer_addr() else { return };
    if let Some(connected) = connections.arrive(peer.ip()) {
        kept.insert(connected);
        return;
    }
    measure::connection_refused();
    tracing::debug!(address = %peer.ip(), "an address has too many connections");
    // Best effort: who does not hear it finds the connection closed.
    let _ = socket.send(REFUSAL);
    let _ = socket.shutdown(Shutdown::Both);
}

/// Lets the system end a connection whose peer takes nothing of what waits for it; without it a
/// client that never reads keeps its connection, and what the system holds for it, for ever.
fn give_up_on_stuck_peers(socket: &SockRef<'_>) {
    if let Err(error) = socket.set_tcp_user_timeout(Some(STUCK_PEER)) {
        tracing::debug!(error = %error, "a connection has no time-out for a stuck peer");
    }
}
