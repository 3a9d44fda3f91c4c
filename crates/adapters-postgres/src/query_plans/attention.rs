//! What waits for a human, in all rooms.

use domain::attention::{AttentionRepository, AttentionSearch, AttentionState};
use domain::ports::Clock;

use super::Watched;

/// An item of every text; each tenth is open, and each twentieth has expired.
const FILL: &str = "INSERT INTO attention_items (message_id, chat_id, sender_id, kind, is_blocking, created_at, expires_at, \
         outcome, ended_at) \
     SELECT id, chat_id, sender_id, 'question', sequence % 3 = 0, created_at, \
         CASE WHEN sequence % 20 = 1 THEN created_at END, \
         CASE WHEN sequence % 20 = 1 THEN 'expired' WHEN sequence % 10 > 0 THEN 'answered' END, CASE WHEN sequence % 10 > 0 THEN created_at END \
     FROM messages WHERE kind = 'text'; \
     SELECT pg_stat_force_next_flush()";

impl Watched {
    /// A page reads of each room no more than it shows.
    pub(super) async fn attention(&mut self) {
        if !self.is_analysed {
            self.client.batch_execute(FILL).await.unwrap();
        }
        let (store, now) = (self.store.clone(), self.world.clock.now());
        let first =
            AttentionSearch { user: self.ann.id, state: None, chat: None, after: None, now, limit: 51 };
        let rooms = self.size.rooms / 10;
        for state in [Some(AttentionState::Open), Some(AttentionState::Answered), None] {
            let search = AttentionSearch { state, ..first };
            let page =
                self.costs(&format!("{state:?}"), 5_000 + 60 * rooms, store.list_attention(search)).await;
            let page = page.unwrap();
            assert_eq!(page.len(), 51);
            let after = Some(domain::attention::AttentionLine::Item(page[50].clone()).place());
            let next = AttentionSearch { after, ..search };
            let what = format!("{state:?} after");
            let next = self.costs(&what, 5_000 + 60 * rooms, store.list_attention(next)).await.unwrap();
            assert_ne!(next[0], page[50]);
            let found = store.find_attention(self.ann.id, page[0].message);
            assert!(self.costs("an item", 60, found).await.unwrap().is_some());
        }
    }
}
