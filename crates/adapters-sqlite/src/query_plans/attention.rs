//! What waits for a human is found along indexes, whatever its state.

use domain::attention::{AttentionRepository, AttentionSearch, AttentionState};

use super::*;

#[tokio::test]
async fn what_waits_is_listed_along_indexes() {
    let mut heard = Overheard::open();
    let (ann, _, chat, message) = at_work(&heard).await;
    let (store, now) = (heard.store.clone(), Timestamp::from_micros(NOON));
    let all = AttentionSearch { user: ann.id, state: None, chat: None, after: None, now, limit: 11 };
    for (state, index) in [
        (Some(AttentionState::Open), "attention_open (chat_id=?)"),
        (Some(AttentionState::Answered), "attention_of_room (chat_id=?)"),
        (Some(AttentionState::Expired), "attention_of_room (chat_id=?)"),
        (None, "attention_of_room (chat_id=?)"),
    ] {
        for chat in [None, Some(chat)] {
            store.list_attention(AttentionSearch { state, chat, ..all }).await.unwrap();
            let steps = heard.steps();
            for (step, query) in &steps {
                // The items of one page.
                assert!(!step.starts_with("SCAN") || step == "SCAN item", "{state:?}: {step}\n{query}");
            }
            for wanted in ["participants_rooms (participant_id=?", index] {
                assert!(steps.iter().any(|(step, _)| step.contains(wanted)), "{wanted}: {steps:#?}");
            }
        }
    }
    store.find_attention(ann.id, message).await.unwrap();
    heard.expect("an item", &["sqlite_autoindex_attention_items_1"]);
}
