//! Many connections that ask, as fast as they are answered or at a given rate.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::task::JoinHandle;
use tokio::time::sleep_until;

use crate::flock::{STAMP, STAMP_DIGITS};
use crate::http::Connection;
use crate::stats::{per_second, wait, wait_quantile};

/// What one connection asks, one after the other.
pub(crate) struct Asker {
    requests: Vec<Request>,
    next: usize,
}

/// The bytes of a request, and where in them the time stands at which it was due.
#[derive(Clone)]
pub(crate) struct Request {
    bytes: Vec<u8>,
    stamp: Option<usize>,
}

/// What came of it.
pub(crate) struct Ran {
    /// Microseconds from when a request was due until its answer was there.
    pub(crate) waits: Vec<u32>,
    /// How long it was measured.
    pub(crate) elapsed: Duration,
    /// How many were answered in all, those of warming up with them.
    pub(crate) asked: u64,
}

impl Ran {
    /// Answers a second.
    pub(crate) fn rate(&self) -> f64 {
        per_second(self.waits.len(), self.elapsed)
    }

    /// The wait below which this share lies, in milliseconds.
    pub(crate) fn wait(&self, share: f64) -> f64 {
        wait_quantile(&self.waits, share)
    }
}

/// A text of a message: the stamp that is filled in when it is sent, and as many bytes as are wanted.
pub(crate) fn stamped_text(bytes: usize) -> String {
    let begin = format!("{STAMP}{:0STAMP_DIGITS$}. ", 0);
    format!("{begin}{}", "x".repeat(bytes - begin.len()))
}

impl Request {
    /// A request; a stamp in it is found.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let stamp = bytes.windows(STAMP.len()).position(|part| part == STAMP.as_bytes());
        Self { bytes, stamp: stamp.map(|at| at + STAMP.len()) }
    }

    /// Says when it was due, counted from the origin.
    fn due(&mut self, due: Duration) {
        if let Some(at) = self.stamp {
            let text = format!("{:0STAMP_DIGITS$}", due.as_micros());
            self.bytes[at..at + STAMP_DIGITS].copy_from_slice(text.as_bytes());
        }
    }
}

impl Asker {
    /// Asks these in turn, again and again.
    pub(crate) fn of(requests: Vec<Vec<u8>>) -> Self {
        Self { requests: requests.into_iter().map(Request::new).collect(), next: 0 }
    }

    async fn ask(&mut self, connection: &mut Connection, due: Duration) {
        let place = self.next % self.requests.len();
        self.next += 1;
        let request = &mut self.requests[place];
        request.due(due);
        let answer = connection.ask(&request.bytes).await;
        assert!(
            (200..300).contains(&answer.status),
            "{}: {}",
            answer.status,
            String::from_utf8_lossy(answer.body)
        );
    }
}

/// Each asks when its last answer has come, for so long. What is answered in the time of warming up does not
/// count. Stamps count from `origin`.
pub(crate) async fn closed(
    address: &str,
    askers: Vec<Asker>,
    origin: Instant,
    warm: Duration,
    time: Duration,
) -> Ran {
    let connections = join_all(askers.iter().map(|_| Connection::open(address))).await;
    let from = Instant::now() + warm;
    let until = from + time;
    let tasks = askers.into_iter().zip(connections).map(|(mut asker, mut connection)| {
        tokio::spawn(async move {
            let (mut waits, mut asked) = (Vec::new(), 0);
            loop {
                let begun = Instant::now();
                if begun >= until {
                    return (waits, asked);
                }
                asked += 1;
                asker.ask(&mut connection, begun - origin).await;
                if begun >= from {
                    waits.push(wait(begun.elapsed()));
                }
            }
        })
    });
    let tasks = tasks.collect::<Vec<_>>();
    collect(tasks, time).await
}

/// Each at its times, all together at this rate, whatever became of those before: who is late asks at once, and
/// the wait counts from when the request was due, so that a slow answer hides no other.
pub(crate) async fn open(
    address: &str,
    askers: Vec<Asker>,
    origin: Instant,
    rate: f64,
    time: Duration,
) -> Ran {
    let connections = join_all(askers.iter().map(|_| Connection::open(address))).await;
    let step = Duration::from_secs_f64(1.0 / rate);
    let from = Instant::now() + Duration::from_millis(100);
    let turns = u32::try_from(askers.len()).unwrap();
    let tasks = (0_u32..).zip(askers).zip(connections).map(|((turn, mut asker), mut connection)| {
        tokio::spawn(async move {
            let (mut waits, mut asked, mut due) = (Vec::new(), 0, from + step * turn);
            while due < from + time {
                asked += 1;
                sleep_until(due.into()).await;
                asker.ask(&mut connection, due - origin).await;
                waits.push(wait(due.elapsed()));
                due += step * turns;
            }
            (waits, asked)
        })
    });
    let tasks = tasks.collect::<Vec<_>>();
    collect(tasks, time).await
}

async fn collect(tasks: Vec<JoinHandle<(Vec<u32>, u64)>>, elapsed: Duration) -> Ran {
    let mut ran = Ran { waits: Vec::new(), elapsed, asked: 0 };
    for task in tasks {
        let (waits, asked) = task.await.unwrap();
        ran.waits.extend(waits);
        ran.asked += asked;
    }
    ran
}
