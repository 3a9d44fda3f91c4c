//! What is counted of budgets, for every active tree, room, agent, and organization.

use domain::budget::{Amount, Budget};
use domain::id::ParticipantId;
use domain::message::{EventContent, EventMetadata, MessageKind, PostEvent};
use domain::organization::Authority;
use serde_json::json;

use super::{Overheard, at_work};

#[tokio::test]
async fn budgets_are_counted_along_indexes() {
    let mut heard = Overheard::open();
    let (ann, bot, chat, _) = at_work(&heard).await;
    let budgets = Budget::ALL.map(|budget| (budget, Amount::new(1))).to_vec();
    heard.world.budgets.set(Authority::Admin(ann.caller), budgets).await.unwrap();
    heard.world.budgets.check().await.unwrap();
    heard.world.send(bot.caller, chat, "done", &[ParticipantId::User(ann.id)]).await;
    let metadata = json!({"band_usage": {"input_tokens": 7}}).as_object().unwrap().clone();
    let metadata = EventMetadata::new(metadata).unwrap();
    let content = EventContent::new("usage".to_owned()).unwrap();
    let report = PostEvent { kind: MessageKind::Task, content, metadata, in_reply_to: None };
    heard.world.messages.post_event(bot.caller, chat, report).await.unwrap();
    heard.statements.lock().unwrap().clear();
    heard.world.budgets.check().await.unwrap();
    heard.world.messages.notice_holds().await.unwrap();
    assert_eq!(heard.world.budgets.watch().events(), [0, 8], "all are exceeded");
    let steps = heard.steps();
    for index in [
        "tree_counts USING PRIMARY KEY (root_id=?)",
        "token_usage USING INDEX token_usage_of_tree (root_id=?)",
        "text_counts USING INDEX text_counts_of_room (chat_id=? AND day=?)",
        "token_usage USING INDEX token_usage_of_room (chat_id=? AND day=?)",
        "text_counts USING PRIMARY KEY (day=? AND organization_id=? AND sender_id=?)",
        "token_usage USING INDEX token_usage_of_owner (owner_id=? AND day=? AND organization_id=? AND agent_id=?)",
        "text_counts USING PRIMARY KEY (day=? AND organization_id=?)",
        "token_usage USING PRIMARY KEY (organization_id=? AND day=?)",
        "budget_levels_of_day",
        "budget_levels_to_notice",
    ] {
        assert!(steps.iter().any(|(step, _)| step.contains(index)), "{index} is not in {steps:#?}");
    }
    for (step, query) in &steps {
        let is_scan = ["messages", "token_usage", "text_counts", "tree_counts", "chats", "users", "agents"]
            .iter()
            .any(|table| step.starts_with(&format!("SCAN {table}")));
        assert!(!is_scan, "{step}\n{query}");
    }
}
