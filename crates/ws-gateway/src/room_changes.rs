//! Changes of rooms for the lists of humans who have not opened them, in rounds.
//!
//! What has happened in a room since the last round is one event for each human who listens: the row of the room as
//! REST lists it, read after the last of its changes. So a burst costs one read, and its last state is always pushed.

use std::sync::Arc;
use std::time::Duration;

use domain::activity::ActivityService;
use domain::chat::{ChatParts, ChatService};
use domain::id::{ChatId, UserId};
use domain::store::StoreError;
use measure::Outage;
use tokio::time::{Instant, sleep};

use crate::hub::Hub;

/// The minimum time between two rounds, and the pause as a multiple of the duration of a round; the longer one applies.
/// However many rooms change and people listen, four fifths of one reader stay free.
const EVERY: Duration = Duration::from_secs(1);
const RESTS: u32 = 4;

/// The rooms of one read.
const ROOMS: usize = 50;

/// The parts of a row.
pub(crate) const PARTS: ChatParts =
    ChatParts { details: true, participants: false, last_message: true, membership: true, unread: true };

/// The background task that pushes the changes.
pub struct RoomChanges {
    hub: Arc<Hub>,
    chats: Arc<ChatService>,
    activity: Arc<ActivityService>,
    outage: Outage,
}

impl RoomChanges {
    /// Pushes to the sockets of `hub`.
    pub fn new(hub: Arc<Hub>, chats: Arc<ChatService>, activity: Arc<ActivityService>) -> Self {
        Self { hub, chats, activity, outage: Outage::default() }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        loop {
            let began = Instant::now();
            self.round().await;
            sleep(EVERY.max(began.elapsed() * RESTS)).await;
        }
    }

    /// Pushes what has changed since the last round. What could not be read is part of the next round.
    pub async fn round(&mut self) {
        let mut outcome = None;
        for (user, rooms) in self.hub.take_changed_rooms() {
            let mut rest = rooms.as_slice();
            let pushed = self.push(user, &mut rest).await;
            self.hub.note_unread_rooms(user, rest);
            if !matches!(outcome, Some(Err(_))) {
                outcome = Some(pushed);
            }
        }
        self.hub.changed_rooms_are_read();
        if let Some(outcome) = outcome {
            let works_again = "room list updates available again";
            self.outage.log(&outcome, "room list updates unavailable, retrying", works_again);
        }
    }

    /// Takes the rooms that were read from `rooms`.
    async fn push(&self, user: UserId, rooms: &mut &[ChatId]) -> Result<(), StoreError> {
        while !rooms.is_empty() {
            let asked = &rooms[..rooms.len().min(ROOMS)];
            let page = self.chats.list_some(user, asked.to_vec(), PARTS).await?;
            let last = page.rows.last().filter(|_| page.next.is_some()).map(|listed| listed.chat.id);
            let answered = last.and_then(|last| asked.iter().position(|chat| *chat == last));
            let (answered, rest) = rooms.split_at(answered.map_or(asked.len(), |index| index + 1));
            for chat in answered {
                if !page.rows.iter().any(|listed| listed.chat.id == *chat) {
                    self.hub.unlist_room(user, *chat);
                }
            }
            for listed in page.rows {
                let work = self.activity.work_status(listed.chat.id, listed.details());
                self.hub.push_changed_room(user, listed, work);
            }
            *rooms = rest;
        }
        Ok(())
    }
}
