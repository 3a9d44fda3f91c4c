//! Texts that are sent later: what is due, and what somebody sees.

use std::time::Duration;

use domain::message::SendHeaders;
use domain::ports::Clock;
use domain::reminder::{ReminderFilter, ReminderRepository, ReminderState};
use testkit::contract::reminders::note;

use super::*;

/// A reminder for every fourth text, which was due when it was written; nine of ten have ended.
const FILL: &str = "INSERT INTO reminders (id, chat_id, sender_id, sender_kind, sender_handle, content, mentions, created_at, \
         first_at, due_at, number, sent, follows_foreign, outcome, ended_at) \
     SELECT id, chat_id, sender_id, sender_kind, 'ann', repeat('x', 200), '[]', created_at, created_at, created_at, 1, 0, FALSE, \
         CASE WHEN sequence % 40 > 0 THEN 'finished' END, CASE WHEN sequence % 40 > 0 THEN created_at END \
     FROM messages WHERE kind = 'text' AND sequence % 4 = 0; \
     SELECT pg_stat_force_next_flush()";

impl Watched {
    /// What is open is read without what has ended.
    pub(super) async fn reminders(&mut self) {
        if !self.is_analysed {
            self.client.batch_execute(FILL).await.unwrap();
        }
        let (store, now) = (self.store.clone(), self.world.clock.now());
        let due = self.costs("what is due", 500, store.due_reminders(now, None, 100)).await.unwrap();
        assert_eq!(due.len(), 100);
        let next = store.due_reminders(now, due.last().copied(), 100);
        assert_eq!(self.costs("what is due after", 500, next).await.unwrap().len(), 100);
        let (rooms, all) = (self.size.rooms / 10, self.size.messages);
        for (state, rows) in [
            (Some(ReminderState::Scheduled), all / 10),
            (Some(ReminderState::Ended), all / 2),
            (None, all / 2),
        ] {
            for viewer in [self.viewer(), ParticipantId::Agent(self.bot.id)] {
                let listing = store.list_reminders(viewer, ReminderFilter { state, chat: None }, FIRST);
                self.costs(&format!("{viewer:?} {state:?}"), 2000 + 30 * rooms + rows, listing)
                    .await
                    .unwrap();
            }
        }
        let reading = store.find_reminder(self.viewer(), due[0].id);
        self.costs("a reminder", 60, reading).await.unwrap();
        let (command, by) = (note(&self.world, &self.bot), self.bot.caller);
        let reminders = self.world.reminders.clone();
        let scheduling = reminders.schedule(by, self.chat, command, SendHeaders::default());
        let made = self.costs("schedule", all / 10 + 1000, scheduling).await.unwrap();
        self.costs("cancel", 100, reminders.cancel(by, made.id)).await.unwrap();
        let old = now.minus(Duration::from_secs(900));
        let forgetting = store.forget_reminders(old, 100);
        assert_eq!(self.costs("forget", 1000, forgetting).await.unwrap(), 100);
    }
}
