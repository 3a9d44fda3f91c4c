//! Frequent statements are prepared once per connection, and planned once.

use domain::delivery::FailureText;

use super::*;

impl Overheard {
    /// Asserts that every statement since the last call is kept by its connection, and that its
    /// plan does not depend on a value: SQLite would plan it again for every new one.
    fn expect_kept(&self, what: &str) {
        let statements = std::mem::take(&mut *self.statements.lock().unwrap());
        assert!(!statements.is_empty(), "{what}: nothing was overheard");
        let kept = self.kept.lock().unwrap();
        for text in &statements {
            let text = text.split(" -- binds").next().unwrap().to_owned();
            assert!(kept.contains(&text), "{what}: prepared anew each time: {text}");
            let planned_anew = text.contains("LIMIT ?") && !text.contains("LIMIT ? + 0");
            assert!(!planned_anew, "{what}: planned anew each time: {text}");
        }
    }

    async fn step(&self, agent: AgentId, chat: ChatId, message: MessageId, step: DeliveryStep) {
        let now = Timestamp::from_micros(NOON);
        let command = AdvanceDelivery { agent, chat, message, step, now };
        self.store.advance(command, OnCommit::nothing()).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_messages_way_takes_statements_that_are_kept() {
    let heard = Overheard::open();
    let (ann, bot, chat, first) = at_work(&heard).await;
    let (world, store) = (&heard.world, heard.store.clone());
    let to = [ParticipantId::Agent(bot.id)];

    store.find_key(KeyDigest::new([1; 32])).await.unwrap();
    heard.expect_kept("a key");
    let sent = world.send(ann.caller, chat, "three", &to).await.id;
    heard.expect_kept("a user's message");
    world.send(bot.caller, chat, "four", &[ParticipantId::User(ann.id)]).await;
    heard.expect_kept("an agent's message");
    let now = Timestamp::from_micros(NOON);
    let taken = vec![DeliveryKey { message: sent, agent: bot.id }];
    store.mark_delivered(taken, now, Box::new(|_| true), OnCommit::nothing()).await.unwrap();
    heard.expect_kept("what a socket took");
    store.tell_delivered(vec![sent], Box::new(|_| true), OnCommit::nothing()).await.unwrap();
    heard.expect_kept("telling of it");
    store.next(bot.id, chat).await.unwrap().unwrap().message.unwrap();
    heard.expect_kept("next");
    let failure = FailureText::new("no".to_owned()).unwrap();
    for step in [DeliveryStep::Succeed, DeliveryStep::Begin, DeliveryStep::Fail(failure)] {
        heard.step(bot.id, chat, first, step).await;
        heard.expect_kept("a step");
    }
    store.context(bot.id, chat, after(0)).await.unwrap().unwrap();
    heard.expect_kept("context");
    let who = ParticipantId::Agent(bot.id);
    domain::chat::ChatRepository::membership(&*store, who, chat).await.unwrap().unwrap();
    heard.expect_kept("a membership");
}
