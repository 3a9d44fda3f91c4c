//! Configurations of push notifications are found however many there are.

use domain::push::PushTask;
use testkit::push_walk::walk;

use super::*;

#[tokio::test]
async fn push_configurations_are_found_along_indexes() {
    let mut heard = Overheard::open();
    let world = World::on(Stores::of(&heard.store, SqliteStore::close));
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    let first = world.send(ann.caller, chat, "hello", &[ParticipantId::Agent(bot.id)]).await.id;
    heard.statements.lock().unwrap().clear();
    let mut all = Vec::new();
    walk(&world, &ann, PushTask { chat, first, agent: bot.id }, async |what| {
        let steps = heard.steps().into_iter().filter(|(_, query)| query.contains("push_configs"));
        let steps = steps.collect::<Vec<_>>();
        assert!(!steps.is_empty(), "{what}");
        for (step, query) in &steps {
            // What is due is sorted by whose turn it is.
            let is_made_up =
                step.starts_with("SCAN due") || step.starts_with("SCAN (subquery") || is_list(step);
            assert!(is_made_up || !step.starts_with("SCAN"), "{what}: {step}\n{query}");
        }
        all.push((what, steps));
    })
    .await;
    for (what, term) in [
        ("list", "push_configs_of_task (chat_id=? AND message_id=? AND agent_id=?"),
        ("count those of a user", "push_configs_of_user (user_id=?)"),
        ("find what is due", "push_configs_due (next_at<?)"),
        ("wake", "push_configs_of_task (chat_id=?)"),
    ] {
        let (_, steps) = all.iter().find(|(name, _)| *name == what).unwrap();
        assert!(steps.iter().any(|(step, _)| step.contains(term)), "{what}: {term} is not in {steps:#?}");
    }
}
