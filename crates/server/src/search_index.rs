//! Keeps the index for searches, in the background.

use std::sync::Arc;
use std::time::Duration;

use domain::search::{IndexProgress, SearchService};
use measure::Outage;
use tokio::time::{Instant, sleep};

/// The pause when there is nothing to index: the delay that this adds before a new message can be found.
const IDLE: Duration = Duration::from_millis(250);

/// The pause after a step, in durations of the step: indexing takes a fifth of the time of the thread or connection that writes,
/// so that messages are hardly delayed.
const PAUSE: u32 = 4;

/// The shortest and the longest pause after a step.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_secs(1));

/// The number of messages to index above which the progress is logged.
const MANY: u64 = 10_000;

/// The time between two log lines about the progress.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// Indexes messages. Every server on the store runs this, and none indexes a message twice.
pub(crate) async fn keep_index(search: Arc<SearchService>) {
    let (mut outage, mut catching_up) = (Outage::default(), CatchingUp::default());
    loop {
        let begun = Instant::now();
        let step = search.index_some().await;
        outage.log(&step, "search indexing unavailable, retrying", "search indexing available again");
        let pause = match step {
            Ok(progress) => {
                measure::indexed(progress.messages);
                if let Some(behind) = progress.behind {
                    measure::search_behind(behind);
                }
                catching_up.note(progress);
                let (shortest, longest) = PAUSES;
                if progress.is_idle { IDLE } else { (begun.elapsed() * PAUSE).clamp(shortest, longest) }
            }
            Err(_) => Duration::from_secs(1),
        };
        sleep(pause).await;
    }
}

/// A long time of indexing what was there before, such as after an upgrade.
#[derive(Default)]
struct CatchingUp {
    /// Its beginning, and the time of the last line.
    since: Option<(Instant, Instant)>,
    indexed: u64,
}

impl CatchingUp {
    fn note(&mut self, progress: IndexProgress) {
        let now = Instant::now();
        let Some((since, logged)) = self.since else {
            if let Some(behind) = progress.behind.filter(|behind| *behind > MANY) {
                tracing::info!(messages = behind, "indexing messages for searches");
                *self = Self { since: Some((now, now)), indexed: 0 };
            }
            return;
        };
        self.indexed += progress.messages;
        if progress.behind.is_some_and(|behind| behind <= MANY) {
            let duration_ms = since.elapsed().as_millis();
            tracing::info!(messages = self.indexed, duration_ms, "messages indexed for searches");
            self.since = None;
        } else if logged.elapsed() >= LOG_EVERY {
            tracing::info!(messages = self.indexed, "still indexing messages for searches");
            self.since = Some((since, now));
        }
    }
}
