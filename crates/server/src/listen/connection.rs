//! One connection, as the framework reads and writes it, with a time limit for the head of every
//! request after the first.
//!
//! The framework limits the time of the first head, and of an idle connection. A client that has
//! begun another head is under neither limit. While it is the client's turn, this therefore checks
//! the time whenever nothing can be read: the head must be complete in time from its first byte on.
//! A first byte that came along with the previous request is not seen here, so the wait for one is
//! limited too, generously.
//!
//! A client that reads a response slowly is not charged with the time: it starts over with every
//! part that is written, and stops while one waits to be. That wait is limited by [`Stall`]; data
//! sent ahead of the response waits in [`Intake`].

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_wire::limit::ConnectionPermit;
use http_wire::turn::Turn;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_rustls::server::TlsStream;

use super::intake::{Intake, Wanted};
use super::stall::Stall;

/// One connection.
pub(super) struct Connection {
    stream: Stream,
    clock: HeadClock,
    intake: Intake,
    stall: Stall,
    /// Set if readable data was left, for which no other wake-up will come.
    is_unheard: bool,
    /// Counts the connection for its address until it is dropped.
    _counted: ConnectionPermit,
}

/// The stream, encrypted or not.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// The TCP connection below.
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }

    /// Closes the sending side.
    fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    /// Returns whether data can be read; if not, the task is woken when that changes.
    fn is_readable(&self, context: &mut Context<'_>) -> bool {
        let is_decrypted = match self {
            Self::Plain(_) => false,
            Self::Tls(stream) => !stream.get_ref().1.wants_read(),
        };
        is_decrypted || self.tcp().poll_read_ready(context).is_ready()
    }
}

/// The time limits of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For the head of a request.
    pub(super) head: Duration,
    /// Without a request.
    pub(super) idle: Duration,
}

impl Connection {
    pub(super) fn new(stream: Stream, counted: ConnectionPermit, patience: Patience, stall: Stall) -> Self {
        let intake = Intake::default();
        let clock = HeadClock::new(patience, intake.turn.clone());
        Self { stream, clock, intake, stall, is_unheard: false, _counted: counted }
    }

    /// The turn of the connection.
    pub(super) fn turn(&self) -> Turn {
        self.intake.turn.clone()
    }

    /// Reads nothing, but the clock continues.
    fn read_nothing(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.clock.poll_over(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Records that so many bytes wait for the client. A socket has limits of its own.
    fn stuck(&mut self, bytes: usize, context: &mut Context<'_>) -> io::Result<()> {
        self.clock.stuck = true;
        if self.intake.turn.is_server_turn() {
            return Ok(());
        }
        self.stall.stuck(bytes, context).inspect_err(|_| {
            // The data in the system's buffer is dropped as well.
            let _ = SockRef::from(self.stream.tcp()).set_linger(Some(Duration::ZERO));
        })
    }
}

/// The time limit for the next head.
struct HeadClock {
    turn: Turn,
    patience: Patience,
    /// The end of the limit; `None` before the first response.
    due: Option<Instant>,
    /// Set if the next head has begun.
    begun: bool,
    /// Set while data waits for the client to read it.
    stuck: bool,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl HeadClock {
    fn new(patience: Patience, turn: Turn) -> Self {
        Self { turn, patience, due: None, begun: false, stuck: false, alarm: None }
    }

    /// The end of the limit, while it runs.
    fn running(&self) -> Option<Instant> {
        let is_of_server = self.stuck || self.turn.is_server_turn() || self.turn.is_sending();
        self.due.filter(|_| !is_of_server)
    }

    /// Records that data was read.
    fn heard(&mut self) {
        if self.running().is_some() && !self.begun {
            self.begun = true;
            self.due = Some(Instant::now() + self.patience.head);
        }
    }

    /// Records that a part of a response was written.
    fn on_progress(&mut self) {
        self.stuck = false;
        self.begun = false;
        self.due = Some(Instant::now() + self.patience.idle + self.patience.head);
    }

    /// Resolves when the time is over; wakes the task then.
    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(due) = self.running() else { return Poll::Pending };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(due)));
        // An early alarm is set again, which costs less than setting it for each request.
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
        let this = self.get_mut();
        match this.intake.wanted() {
            Wanted::More => {}
            Wanted::Look => {
                if this.intake.holds() || this.stream.is_readable(context) {
                    context.waker().wake_by_ref();
                }
                return this.read_nothing(context);
            }
            Wanted::Nothing => {
                this.is_unheard |= this.intake.holds() || this.stream.is_readable(context);
                return this.read_nothing(context);
            }
        }
        if this.intake.holds() {
            this.intake.give(into);
            this.clock.heard();
            return Poll::Ready(Ok(()));
        }
        let before = into.filled().len();
        let read = match &mut this.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, into),
        };
        let Poll::Ready(read) = read else { return this.read_nothing(context) };
        let is_over = this.clock.running().is_some_and(|due| Instant::now() >= due);
        if is_over && into.filled().len() > before {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        this.clock.heard();
        this.intake.took(into, before);
        Poll::Ready(read)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.stall.writes();
        let written = match &mut this.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        };
        match &written {
            Poll::Ready(written) => {
                this.clock.on_progress();
                this.stall.moved(*written.as_ref().unwrap_or(&0));
            }
            Poll::Pending => this.stuck(bytes.len(), context)?,
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = match &mut this.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        };
        if flushed.is_pending() {
            this.stuck(0, context)?;
            return flushed;
        }
        if this.clock.stuck {
            this.clock.on_progress();
        }
        this.stall.flushed();
        if this.intake.turn.is_socket_over() {
            // The framework still reads for a moment, as the client may be sending; but a client
            // that has sent its last frame waits for the end of the connection.
            let _ = this.stream.poll_shutdown(context);
        }
        this.intake.turn.written();
        if this.intake.turn.is_client_turn() {
            this.stall.over();
            if std::mem::take(&mut this.is_unheard) {
                context.waker().wake_by_ref();
            }
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream.poll_shutdown(context)
    }
}
