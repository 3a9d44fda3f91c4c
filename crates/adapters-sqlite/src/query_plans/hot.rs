//! Frequent statements are prepared once per connection, planned once, and reviewed as text.

use domain::delivery::{ClaimLease, FailureText};

use super::*;

impl Overheard {
    /// The statements since the last call.
    fn all_statements(&self) -> Vec<String> {
        let statements = std::mem::take(&mut *self.statements.lock().unwrap());
        statements.iter().map(|text| text.split(" -- binds").next().unwrap().to_owned()).collect()
    }

    /// The statements since the last call. Asserts that each is kept by its connection, and that its
    /// plan does not depend on a value: SQLite would plan it again for every new one.
    fn kept_statements(&self) -> Vec<String> {
        let texts = self.all_statements();
        let kept = self.kept.lock().unwrap();
        for text in &texts {
            assert!(kept.contains(text), "prepared again each time: {text}");
            let planned_anew = text.contains("LIMIT ?") && !text.contains("LIMIT ? + 0");
            assert!(!planned_anew, "planned again each time: {text}");
        }
        texts
    }

    async fn step(&self, agent: AgentId, chat: ChatId, message: MessageId, step: DeliveryStep) {
        let now = Timestamp::from_micros(NOON);
        let command =
            AdvanceDelivery { agent, chat, message, step, attempt: None, lease: ClaimLease::default(), now };
        self.store.advance(command, OnCommit::nothing()).await.unwrap().unwrap();
    }
}

/// The statements are those of `hot.sql`, where they are reviewed.
#[tokio::test]
async fn a_messages_way_takes_statements_that_are_kept_and_reviewed() {
    let heard = Overheard::open();
    let (ann, bot, chat, first) = at_work(&heard).await;
    let (world, store) = (&heard.world, heard.store.clone());
    let to = [ParticipantId::Agent(bot.id)];
    let mut sql = Vec::new();

    store.find_key(KeyDigest::new([1; 32])).await.unwrap();
    sql.push(("find a key", heard.kept_statements()));
    let sent = world.send(ann.caller, chat, "three", &to).await.id;
    sql.push(("a user sends a message", heard.kept_statements()));
    world.send(bot.caller, chat, "four", &[ParticipantId::User(ann.id)]).await;
    sql.push(("an agent sends a message", heard.kept_statements()));
    let now = Timestamp::from_micros(NOON);
    let taken = vec![DeliveryKey { message: sent, agent: bot.id }];
    store.mark_delivered(taken, now, Box::new(|_| true), OnCommit::nothing()).await.unwrap();
    sql.push(("mark as delivered", heard.kept_statements()));
    store.announce_delivered(vec![sent], Box::new(|_| true), OnCommit::nothing()).await.unwrap();
    sql.push(("announce as delivered", heard.kept_statements()));
    store.next(bot.id, chat, now).await.unwrap().unwrap().message.unwrap();
    sql.push(("next message", heard.kept_statements()));
    let failure = FailureText::new("no".to_owned()).unwrap();
    for (what, step) in [
        ("succeed", DeliveryStep::Succeed),
        ("begin", DeliveryStep::Begin),
        ("fail", DeliveryStep::Fail(failure)),
    ] {
        heard.step(bot.id, chat, first, step).await;
        sql.push((what, heard.kept_statements()));
    }
    store.context(bot.id, chat, after(0)).await.unwrap().unwrap();
    sql.push(("context", heard.kept_statements()));
    let viewer = ParticipantId::User(ann.id);
    store.history(viewer, chat, HistoryFilter::default(), FIRST).await.unwrap().unwrap();
    sql.push(("a page of messages", heard.all_statements()));
    let who = ParticipantId::Agent(bot.id);
    domain::chat::ParticipantRepository::membership(&*store, who, chat).await.unwrap().unwrap();
    sql.push(("a membership", heard.kept_statements()));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/query_plans/hot.sql");
    testkit::sql::compare(file.as_ref(), &sql);
}
