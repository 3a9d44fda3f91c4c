//! Answers that are kept for a moment: counting gets more expensive as the server grows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::operator::Overview;
use domain::page::{Page, PageRequest};
use domain::ports::Clock;
use domain::store::StoreError;
use domain::time::Timestamp;
use domain::work::AgentWork;
use tokio::sync::Mutex;

/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(3);

/// The last answers of this server to what operators ask.
pub struct RecentAnswers {
    pub(super) overview: Recent<(), Overview>,
    /// Only first pages are kept.
    pub(super) work: Recent<PageRequest, Page<AgentWork>>,
}

impl RecentAnswers {
    /// None yet.
    pub fn new(clock: &Arc<dyn Clock>) -> Self {
        Self { overview: Recent::new(clock.clone()), work: Recent::new(clock.clone()) }
    }
}

/// The last answer to one kind of question. The store is read for one question at a time. Whoever asks the same meanwhile
/// shares its answer, or its failure.
pub(super) struct Recent<Q, A> {
    clock: Arc<dyn Clock>,
    /// The number of reads that are finished.
    reads: AtomicU64,
    kept: Mutex<Option<Kept<Q, A>>>,
}

struct Kept<Q, A> {
    question: Q,
    answer: Result<Arc<A>, StoreError>,
    /// The number of the read.
    read: u64,
    /// By the steady clock.
    until: Timestamp,
}

impl<Q: PartialEq, A> Recent<Q, A> {
    fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, reads: AtomicU64::new(0), kept: Mutex::new(None) }
    }

    /// The kept answer, or that of `read`, which replaces it if it `is_kept`.
    pub(super) async fn get(
        &self,
        question: Q,
        is_kept: bool,
        read: impl AsyncFnOnce(&Q) -> Result<A, StoreError>,
    ) -> Result<Arc<A>, StoreError> {
        let reads_before = self.reads.load(Ordering::Acquire);
        // Held during the read: others wait for it.
        let mut kept = self.kept.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| kept.question == question) {
            match &kept.answer {
                Ok(answer) if self.clock.steady() < kept.until => return Ok(answer.clone()),
                Err(error) if kept.read > reads_before => return Err(copy(error)),
                _ => {}
            }
        }
        let answer = read(&question).await.map(Arc::new);
        let read = self.reads.fetch_add(1, Ordering::AcqRel) + 1;
        let until = self.clock.steady().plus(KEPT);
        if is_kept {
            let answer = answer.as_ref().map(Arc::clone).map_err(copy);
            *kept = Some(Kept { question, answer, read, until });
        }
        answer
    }
}

/// The failure for another caller.
fn copy(error: &StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(cause) => StoreError::Unavailable(cause.to_string().into()),
        StoreError::Broken(cause) => StoreError::Broken(cause.to_string().into()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::future::join_all;
    use testkit::World;
    use tokio::task::yield_now;

    use super::*;

    /// Questions from 10 are not kept; the fourth and fifth read fail.
    struct Scene {
        recent: Recent<u8, u32>,
        reads: Cell<u32>,
    }

    impl Scene {
        async fn ask(&self, question: u8) -> Result<u32, String> {
            let answer = self.recent.get(question, question < 10, async |_: &u8| {
                self.reads.set(self.reads.get() + 1);
                let mine = self.reads.get();
                yield_now().await;
                if matches!(mine, 4 | 5) {
                    Err(StoreError::Unavailable("it is away".into()))
                } else {
                    Ok(mine)
                }
            });
            answer.await.map(|answer| *answer).map_err(|error| format!("{error:?}"))
        }
    }

    #[actix_web::test]
    async fn who_asks_meanwhile_or_soon_after_gets_the_same_answer() {
        let clock = World::new().clock;
        let scene = Scene { recent: Recent::new(clock.clone()), reads: Cell::new(0) };
        assert_eq!(join_all([scene.ask(1), scene.ask(1), scene.ask(1)]).await, [Ok(1), Ok(1), Ok(1)]);
        clock.advance(Duration::from_secs(2));
        assert_eq!(scene.ask(1).await, Ok(1));
        assert_eq!(scene.ask(10).await, Ok(2), "another question");
        assert_eq!(scene.ask(1).await, Ok(1), "an answer that is not kept does not replace the kept one");
        assert_eq!(scene.ask(2).await, Ok(3));
        clock.advance(Duration::from_secs(3));
        // A failure is shared with those who wait, and not kept for those who ask later.
        let away = || Err("StoreError::Unavailable(it is away)".to_owned());
        assert_eq!(join_all([scene.ask(2), scene.ask(2), scene.ask(2)]).await, [away(), away(), away()]);
        assert_eq!(scene.reads.get(), 4);
        assert_eq!((scene.ask(2).await, scene.ask(2).await), (away(), Ok(6)));
    }
}
