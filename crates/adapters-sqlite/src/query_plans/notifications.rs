//! The searches for what is to be sent use indexes, however much is stored.

use testkit::notification_walk::walk;

use super::*;

#[tokio::test]
async fn notifications_are_found_along_indexes() {
    let mut heard = Overheard::open();
    let world = World::on(Stores::of(&heard.store, SqliteStore::close));
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    heard.statements.lock().unwrap().clear();
    let mut all = Vec::new();
    walk(&world, &ann, &bot, chat, async |what| {
        let steps = heard.steps().into_iter().filter(|(_, query)| query.contains("notification"));
        let steps = steps.collect::<Vec<_>>();
        for (step, query) in &steps {
            // A user has few channels, and a server not many more: those that are on are all looked at.
            let is_of_channels = step.starts_with("SCAN notification_channels")
                && (what == "make those of all rooms" || what == "are there any");
            let is_made_up = step == "SCAN CONSTANT ROW"
                || (step.starts_with("SCAN one ") && step.contains("VIRTUAL TABLE"));
            assert!(is_of_channels || is_made_up || !step.starts_with("SCAN"), "{what}: {step}\n{query}");
        }
        all.push((what, steps));
    })
    .await;
    for (what, term) in [
        ("make those of all rooms", "participants_ever (participant_id=?)"),
        ("make those of all rooms", "attention_of_room (chat_id=?"),
        ("make those of all rooms", "messages_order (chat_id=? AND sequence>?)"),
        ("make those of a room", "notification_channels_of_user (user_id=?)"),
        ("find what is due", "notification_channels_due (next_at<?)"),
        ("take", "notifications_waiting (channel_id=? AND due_at<?)"),
        ("list", "notifications_of_user (user_id=?)"),
        ("forget", "notifications_ended (ended_at<?)"),
    ] {
        let steps = all.iter().filter(|(name, _)| *name == what).flat_map(|(_, steps)| steps);
        let steps = steps.collect::<Vec<_>>();
        assert!(steps.iter().any(|(step, _)| step.contains(term)), "{what}: {term} is not in {steps:#?}");
    }
}
