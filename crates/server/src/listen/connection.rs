//! One connection, as the framework reads and writes it, with a limit in time for the head of every request
//! but the first.
//!
//! The framework has a clock for the first head, and one for a connection on which nothing is said. A client
//! that has begun another head is under neither. So while it is the client's turn, this looks at the time
//! whenever nothing is there to be read: the head must be whole in time, from its first byte on. A first byte
//! that came along with the request before is not seen here, so the wait for one is limited too, generously.
//!
//! An answer that is on its way, to a client that takes it slowly, is no fault of the head: the time begins
//! anew with every part that goes out, and stands still while one waits to.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_wire::limit::Connected;
use http_wire::turn::Turn;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_rustls::server::TlsStream;

/// One connection.
pub(super) struct Connection {
    stream: Stream,
    clock: HeadClock,
    /// Counts as one of its address until it is dropped.
    _counted: Connected,
}

/// What goes in and out, encrypted or not.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For the head of a request.
    pub(super) head: Duration,
    /// Without a request.
    pub(super) idle: Duration,
}

impl Connection {
    pub(super) fn new(stream: Stream, counted: Connected, patience: Patience) -> Self {
        Self { stream, clock: HeadClock::new(patience), _counted: counted }
    }

    /// Where it is told whose turn it is.
    pub(super) fn turn(&self) -> Turn {
        self.clock.turn.clone()
    }
}

/// The time that the client has for the next head.
struct HeadClock {
    turn: Turn,
    patience: Patience,
    /// When it ends; `None` before the first answer.
    due: Option<Instant>,
    /// The next head has begun.
    begun: bool,
    /// Something waits for the client to take it.
    stuck: bool,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl HeadClock {
    fn new(patience: Patience) -> Self {
        Self { turn: Turn::default(), patience, due: None, begun: false, stuck: false, alarm: None }
    }

    /// The end of the time, while it runs.
    fn running(&self) -> Option<Instant> {
        self.due.filter(|_| !self.stuck && !self.turn.is_ours())
    }

    /// Something was read.
    fn heard(&mut self) {
        if self.running().is_some() && !self.begun {
            self.begun = true;
            self.due = Some(Instant::now() + self.patience.head);
        }
    }

    /// A part of an answer went out.
    fn told(&mut self) {
        self.stuck = false;
        self.begun = false;
        self.due = Some(Instant::now() + self.patience.idle + self.patience.head);
    }

    /// Ready when the time is over; wakes the task then.
    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(due) = self.running() else { return Poll::Pending };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(due)));
        // One that goes off too early is set again; to be early costs less than to set it for each request.
        if alarm.deadline() > due {
            alarm.as_mut().reset(due);
        }
        loop {
            ready!(alarm.as_mut().poll(context));
            if Instant::now() >= due {
                return Poll::Ready(());
            }
            alarm.as_mut().reset(due);
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, clock, .. } = self.get_mut();
        let before = into.filled().len();
        let read = match stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, into),
        };
        match read {
            Poll::Ready(read) => {
                let over = clock.running().is_some_and(|due| Instant::now() >= due);
                if over && into.filled().len() > before {
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
                clock.heard();
                Poll::Ready(read)
            }
            Poll::Pending => match clock.poll_over(context) {
                Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                Poll::Pending => Poll::Pending,
            },
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Self { stream, clock, .. } = self.get_mut();
        let written = match stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        };
        match &written {
            Poll::Ready(_) => clock.told(),
            Poll::Pending => clock.stuck = true,
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, clock, .. } = self.get_mut();
        let flushed = match stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        };
        match &flushed {
            Poll::Ready(_) if clock.stuck => clock.told(),
            Poll::Ready(_) => {}
            Poll::Pending => clock.stuck = true,
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
