//! Finding what is to be pushed again.

use super::again::{Listening, PushAgain, StillNew};
use super::service::DeliveryService;
use crate::message::Message;
use crate::store::{Announce, StoreError};
use crate::time::Timestamp;

/// What is to be pushed to one listener now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Due {
    /// To whom.
    pub listening: Listening,
    /// The places of the messages, oldest first.
    pub places: Vec<i64>,
    /// The instant for which that holds.
    pub at: Timestamp,
}

impl DeliveryService {
    /// What is to be pushed to these listeners now, as [`PushAgain`] decides; those without anything
    /// are left out.
    pub async fn due(
        &self,
        again: &mut PushAgain,
        listening: Vec<Listening>,
    ) -> Result<Vec<Due>, StoreError> {
        let met = listening.iter().map(|one| again.meet(*one)).collect::<Vec<_>>();
        let limit = again.rule().in_flight;
        let found = self.deliveries.still_new(met, limit).await?;
        let at = self.clock.now();
        let mut found = found.into_iter().peekable();
        let mut all = Vec::new();
        for (place, listening) in listening.into_iter().enumerate() {
            let mut new = Vec::<StillNew>::new();
            while let Some((_, one)) = found.next_if(|(of, _)| *of == place) {
                new.push(one);
            }
            let places = again.due(listening.stay, &new, at);
            if !places.is_empty() {
                all.push(Due { listening, places, at });
            }
        }
        Ok(all)
    }

    /// Hands the messages of `due` that are still new to `push`, as their agent sees them; perhaps the
    /// first ones only, if they are large. It is called in the order of the commits, as events are
    /// published: no step on such a message, and no edit, is told before it is offered as new.
    pub async fn push_new(&self, due: &Due, push: Announce<Vec<Message>>) -> Result<(), StoreError> {
        let Listening { agent, chat, .. } = due.listening;
        self.deliveries.new_messages(agent, chat, due.places.clone(), push).await
    }
}
