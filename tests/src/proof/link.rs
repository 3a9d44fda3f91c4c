//! A network link on the loopback address that tests can cut.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The state of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// It arrives.
    None,
    /// Nothing arrives in either direction until the link is whole again; then all of it does.
    Stalled,
    /// Requests arrive, but responses are held back until the link is restored.
    Mute,
    /// Connections are broken, and new ones are broken at once.
    Broken,
}

/// A port through which a server reaches something else.
pub(super) struct Link {
    port: u16,
    cut: Arc<watch::Sender<Cut>>,
}

impl Link {
    /// Leads to a port of the loopback address.
    pub(super) async fn to(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new(watch::channel(Cut::None).0);
        tokio::spawn(accept(listener, SocketAddr::from(([127, 0, 0, 1], target)), cut.clone()));
        Self { port, cut }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn cut(&self, cut: Cut) {
        self.cut.send_replace(cut);
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, cut: Arc<watch::Sender<Cut>>) {
    loop {
        let Ok((near, _)) = listener.accept().await else { return };
        let cut = cut.subscribe();
        tokio::spawn(async move {
            if *cut.borrow() == Cut::Broken {
                return;
            }
            let Ok(far) = TcpStream::connect(target).await else { return };
            let (near_in, near_out) = near.into_split();
            let (far_in, far_out) = far.into_split();
            let broken = async |mut cut: watch::Receiver<Cut>| {
                // The sender lives as long as the link; without it there is nothing to wait for.
                let _ = cut.wait_for(|cut| *cut == Cut::Broken).await;
            };
            // Whichever ends first ends both directions.
            tokio::select! {
                () = copy(near_in, far_out, cut.clone(), &[Cut::None, Cut::Mute]) => {}
                () = copy(far_in, near_out, cut.clone(), &[Cut::None]) => {}
                () = broken(cut) => {}
            }
        });
    }
}

/// Passes on while the link lets it through.
async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut cut: watch::Receiver<Cut>, open: &[Cut]) {
    let mut piece = vec![0; 16 * 1024];
    while let Ok(bytes @ 1..) = from.read(&mut piece).await {
        if cut.wait_for(|cut| open.contains(cut)).await.is_err()
            || to.write_all(&piece[..bytes]).await.is_err()
        {
            return;
        }
    }
}
