//! Reading from a server again and again, with the same pauses in every command.

use std::fmt;
use std::time::Duration;

use ::client::{Backoff, ClientError, Feed, POLL_INTERVAL, Session, Shown};
use tokio::sync::Notify;

/// What the person is told about the connection to the server.
#[derive(Debug)]
pub(super) enum Contact {
    /// The server does not answer. The person is told once for each loss.
    Lost(ClientError),
    /// The server answers again.
    Regained,
}

impl fmt::Display for Contact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(error) => write!(f, "{error}; trying again until it answers"),
            Self::Regained => f.write_str("connected again"),
        }
    }
}

/// The pauses between reads.
#[derive(Default)]
pub(super) struct Polling(Backoff);

impl Polling {
    /// The pause after a read; `None` if there is more to read. A failure that will not pass is returned.
    pub(super) fn after(
        &mut self,
        read: Result<bool, ClientError>,
        session: &Session,
        notice: impl FnOnce(Contact),
    ) -> Result<Option<Duration>, ClientError> {
        match read {
            Ok(has_more) => {
                if self.0.end() {
                    notice(Contact::Regained);
                }
                Ok((!has_more).then_some(POLL_INTERVAL))
            }
            Err(error) => {
                let is_first = !self.0.is_failing();
                let Some(pause) = session.pause(&mut self.0, &error) else { return Err(error) };
                if is_first {
                    notice(Contact::Lost(error));
                }
                Ok(Some(pause))
            }
        }
    }
}

/// Passes on the messages of each read of a feed, even if there are none, and changes of the connection. `wake` ends a pause.
/// Returns a failure that will not pass.
pub(super) async fn follow(
    session: &mut Session,
    mut feed: Feed,
    wake: &Notify,
    mut show: impl FnMut(Vec<Shown>),
    mut notice: impl FnMut(Contact),
) -> ClientError {
    let mut polling = Polling::default();
    loop {
        let read = feed.read(session).await;
        let new = std::iter::from_fn(|| feed.take()).collect::<Vec<_>>();
        if read.is_ok() || !new.is_empty() {
            show(new);
        }
        match polling.after(read, session, &mut notice) {
            Ok(None) => {}
            Ok(Some(pause)) => pause_until(pause, wake).await,
            Err(error) => return error,
        }
    }
}

/// Pauses for this long, or until something was done.
pub(super) async fn pause_until(pause: Duration, wake: &Notify) {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = wake.notified() => {}
    }
}
