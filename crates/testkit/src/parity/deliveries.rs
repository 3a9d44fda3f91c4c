//! Deliveries, and the work of agents on them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::delivery::redelivery::{RedeliveryPolicy, RedeliverySchedule};
use domain::delivery::{
    AttemptNumber, DeliveryFilter, DeliveryKey, DeliveryStep, FailureText, Listening, SubscriptionId,
};
use domain::id::Sequence;
use domain::message::Message;
use domain::page::Order;
use domain::store::OnCommit;
use domain::time::Timestamp;

use super::cast::{Cast, Made, next};
use super::{Act, nothing, played};

/// The first delay of a redelivery.
const LATER: Duration = Duration::from_secs(1);

impl Cast {
    pub(super) fn deliveries(&mut self) -> Act {
        match self.rng.below(20) {
            0..4 => self.next_message(),
            4..13 => self.advance(),
            13..16 => self.list_deliveries(),
            16 => self.mark_delivered(),
            17 | 18 => self.due(),
            _ => self.report(),
        }
    }

    fn next_message(&mut self) -> Act {
        let chat = self.chat();
        let caller = self.member_agent(chat);
        act!("next", |world, caller, chat| {
            played(world.deliveries.next(caller, chat).await, |message| {
                message.map(|message| Made::Message(chat, message.id)).into_iter().collect()
            })
        })
    }

    fn advance(&mut self) -> Act {
        let (chat, message) = self.message();
        let text = self.text();
        let step = match (self.rng.below(6), FailureText::new(text)) {
            (0..3, _) | (_, Err(_)) => DeliveryStep::Begin,
            (3, _) => DeliveryStep::Succeed,
            (4, _) => DeliveryStep::Renew,
            (_, Ok(why)) => DeliveryStep::Fail(why),
        };
        let attempt = self.rng.of(&[None, None, None, AttemptNumber::new(1), AttemptNumber::new(2)]);
        let attempt = attempt.filter(|_| step != DeliveryStep::Begin);
        let caller = self.member_agent(chat);
        act!("advance", |world, caller, chat, message, step, attempt| {
            played(world.deliveries.advance_attempt(caller, chat, message, step, attempt).await, nothing)
        })
    }

    fn list_deliveries(&mut self) -> Act {
        let chat = self.chat();
        let filter = self.rng.of(&[
            DeliveryFilter::Open,
            DeliveryFilter::Pending,
            DeliveryFilter::Processing,
            DeliveryFilter::Processed,
            DeliveryFilter::Failed,
            DeliveryFilter::All,
        ]);
        let order = self.rng.of(&[Order::Ascending, Order::Descending]);
        let (caller, page) = (self.member_agent(chat), self.page("deliveries"));
        act!("list_deliveries", |world, caller, chat, filter, order, page| {
            played(world.deliveries.list(caller, chat, filter, order, page).await, next("deliveries"))
        })
    }

    fn mark_delivered(&mut self) -> Act {
        let mut taken = Vec::new();
        for _ in 0..self.rng.of(&[1, 1, 2, 6]) {
            let (chat, message) = self.message();
            taken.push(DeliveryKey { message, agent: self.member_agent(chat).agent });
        }
        act!("mark_delivered", |world, taken| played(world.deliveries.mark_delivered(taken).await, nothing))
    }

    /// Deliveries that are still new for subscribers, and their messages.
    fn due(&mut self) -> Act {
        let mut listening = Vec::new();
        for subscription in 0..self.rng.of(&[1, 3]) {
            let (chat, _) = self.message();
            let (agent, since) = (self.member_agent(chat).agent, self.rng.of(&[0, 0, 2, 9]));
            let (subscription, since) = (SubscriptionId::new(subscription), Sequence::new(since));
            listening.push(Listening {
                subscription,
                agent,
                chat,
                since,
                joined_at: Timestamp::from_micros(0),
            });
        }
        act!("due", |world, listening| {
            let mut schedule = RedeliverySchedule::new(RedeliveryPolicy::usual(LATER, LATER));
            let due = world.deliveries.due(&mut schedule, listening).await;
            let pushed = Arc::new(Mutex::new(Vec::new()));
            for one in due.iter().flatten() {
                let place = pushed.clone();
                let push = OnCommit::new(move |new: &Vec<Message>| place.lock().unwrap().push(new.clone()));
                world.deliveries.push_new(one, push).await.unwrap();
            }
            let pushed = pushed.lock().unwrap().clone();
            played(due.map(|due| (due, pushed)), nothing)
        })
    }

    fn report(&mut self) -> Act {
        let chat = self.chat();
        let (caller, working) = (self.member_agent(chat), self.rng.one_in(2));
        act!("report", |world, caller, chat, working| {
            played(world.activity.report(caller, chat, working).await, nothing)
        })
    }
}
