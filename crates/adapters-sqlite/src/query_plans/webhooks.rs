//! Webhooks: what is sent, and what is forgotten, is found however much was sent before.

use super::*;
use testkit::webhook_walk::{PREPARED, walk, walk_events};

/// Along indexes, and without sorting. The statements and their plans are those of `webhooks.sql`.
#[tokio::test]
async fn webhooks_are_sent_along_indexes() {
    let mut heard = Overheard::open();
    let world = World::on(Stores::of(&heard.store, SqliteStore::close));
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    world.webhooks.set_url(ann.id.into(), ann.id, bot.id, "https://hooks.example/").await.unwrap();
    heard.statements.lock().unwrap().clear();
    let mut sql = Vec::new();
    let mut note = async |what: &'static str| {
        let steps = heard.steps();
        if what == PREPARED {
            return;
        }
        let mut texts = Vec::<String>::new();
        for (step, query) in steps.into_iter().filter(|(_, query)| query.contains("webhook")) {
            // The agents and organizations with a webhook, and the rooms of a walk.
            let made_up = [
                "SCAN webhooks",
                "SCAN organization_webhooks",
                "SCAN CONSTANT ROW",
                "SCAN room",
                "SCAN fresh",
                "SCAN again",
            ];
            let is_made_up = made_up.iter().any(|start| step.starts_with(start)) || is_list(&step);
            assert!(is_made_up || !step.starts_with("SCAN"), "{what}: {step}\n{query}");
            // The few that fail are sorted by a time of two.
            let is_sorted = step.contains("TEMP B-TREE") && what != "find failing webhooks";
            assert!(!is_sorted, "{what}: {step}\n{query}");
            if !texts.contains(&query) {
                texts.push(query);
            }
            texts.push(format!("-- {}", step.replace(" AND ", ", ")));
        }
        sql.push((what, texts));
    };
    walk(&world, &ann, &bot, chat, &mut note).await;
    walk_events(&world, &ann, &mut note).await;
    for (what, term) in [
        ("take a new message", "deliveries_open (agent_id=?, chat_id=?, sequence>?)"),
        ("take a new message", "deliveries_offered_again (agent_id=?, chat_id=?)"),
        ("find rooms that are due", "webhook_deliveries_due (agent_id=?, next_attempt_at<?)"),
        ("find rooms with new messages", "deliveries_open (agent_id=?, chat_id>?)"),
        ("find old deliveries", "webhook_deliveries_of_agent (agent_id=?, created_at<?)"),
        ("find failing webhooks", "webhooks_failing"),
        ("find old deliveries", "organization_webhook_deliveries_ended (ended_at<?)"),
        ("find old deliveries", "organization_webhook_deliveries_of_entry (organization_id=?, number<?)"),
        ("find organizations with events", "audit_of_organization_by_number (organization_id=?, number>?)"),
    ] {
        let (_, texts) = sql.iter().find(|(name, _)| *name == what).unwrap();
        assert!(texts.iter().any(|text| text.contains(term)), "{what}: {term} is not in {texts:#?}");
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/query_plans/webhooks.sql");
    testkit::sql::compare(file.as_ref(), &sql);
}
