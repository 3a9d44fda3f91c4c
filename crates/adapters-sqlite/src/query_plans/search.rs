//! Searches and the index for them run along indexes.

use domain::search::{MessageSearch, SearchQuery, SearchRepository};

use super::*;

/// Asserts that only lists, the full-text index, and the rooms of a walk are scanned, and that each of `wanted` is in a plan.
fn expect(heard: &mut Overheard, what: &str, wanted: &[&str]) {
    let steps = heard.steps();
    for (step, query) in &steps {
        let fine = !step.starts_with("SCAN") || is_list(step) || step.contains("search_rooms_deleted");
        assert!(fine, "{what}: {step}\n{query}");
    }
    for wanted in wanted {
        assert!(steps.iter().any(|(step, _)| step.contains(wanted)), "{what}: {wanted} is not in {steps:#?}");
    }
}

#[tokio::test]
async fn searches_run_along_indexes() {
    let mut heard = Overheard::open();
    let (ann, bot, chat, message) = at_work(&heard).await;
    let store = heard.store.clone();
    store.rooms_behind(None).await.unwrap();
    let rooms = ["sqlite_autoindex_chats_1 (id>?)", "sqlite_autoindex_search_rooms_1 (chat_id=?)"];
    expect(&mut heard, "rooms that are behind", &rooms);
    assert_eq!(store.index_rooms(vec![chat]).await.unwrap().messages, 2);
    expect(&mut heard, "indexing", &["messages_order (chat_id=? AND sequence>? AND sequence<?)"]);
    let viewers = [
        (ParticipantId::User(ann.id), "participants_of_account (chat_id=? AND account_id=?)"),
        (ParticipantId::Agent(bot.id), "participants USING"),
    ];
    for (viewer, membership) in viewers {
        for (query, room) in
            [("one", None), (&*format!("one in:{chat}"), None), ("one in:Title", Some("participants_rooms"))]
        {
            let query = SearchQuery::parse(query).unwrap();
            let is_titled = room.is_some();
            let search = MessageSearch { viewer, query, after: None, limit: 20 };
            let found = store.search_messages(search).await.unwrap();
            assert_eq!(found.rows.len(), usize::from(!is_titled));
            let mut wanted = room.into_iter().collect::<Vec<_>>();
            if !is_titled {
                let candidates = "SCAN search_index VIRTUAL TABLE INDEX";
                let texts = "search_texts USING INTEGER PRIMARY KEY (rowid=?)";
                wanted.extend([candidates, texts, "messages_order (chat_id=? AND sequence=?)", membership]);
            }
            expect(&mut heard, "a search", &wanted);
        }
    }
    let text = domain::message::MessageContent::new("other".to_owned()).unwrap();
    heard.world.messages.edit(ann.caller, chat, message, text).await.unwrap();
    heard.world.messages.delete(ann.caller, chat, message).await.unwrap();
    let entry = "search_texts_of_message (chat_id=? AND sequence=?)";
    assert!(heard.steps().iter().any(|(step, _)| step.contains(entry)));
    heard.world.chats.delete(ann.caller, chat).await.unwrap();
    heard.steps();
    while store.erase_entries().await.unwrap() {}
    expect(&mut heard, "erasing", &["search_rooms_deleted", "search_texts_of_message (chat_id=?)"]);
}
