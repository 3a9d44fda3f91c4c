//! Searches and the index for them run along indexes.

use domain::ports::Clock;
use domain::search::{INDEXED_AT_ONCE, MessageSearch, SearchQuery, SearchRepository};

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

/// The numbers of indexed messages, and of their entries in the full-text index.
fn entries(heard: &mut Overheard) -> (i64, i64) {
    let mut count = |table: &str| {
        let count = diesel::dsl::sql::<diesel::sql_types::BigInt>(&format!("(SELECT count(*) FROM {table})"));
        diesel::select(count).get_result::<i64>(&mut heard.explainer).unwrap()
    };
    (count("search_texts"), count("search_index_docsize"))
}

/// Entries of messages that retention has erased go with them.
#[tokio::test]
async fn retention_erases_entries() {
    let mut heard = Overheard::open();
    let (_, _, chat, _) = at_work(&heard).await;
    heard.store.index_rooms(vec![chat], INDEXED_AT_ONCE).await.unwrap();
    assert_eq!(entries(&mut heard), (2, 2));
    heard.world.clock.advance(Duration::from_secs(3 * 24 * 60 * 60));
    let (mut walk, now) = (domain::message::Retention::days(Ageing::Texts, 2), heard.world.clock.now());
    while heard.world.messages.erase_old(&mut walk, now).await.unwrap().is_some() {}
    assert_eq!(entries(&mut heard), (0, 0));
}

#[tokio::test]
async fn searches_run_along_indexes() {
    let mut heard = Overheard::open();
    let (ann, bot, chat, message) = at_work(&heard).await;
    let store = heard.store.clone();
    store.rooms_behind(None).await.unwrap();
    let rooms = ["sqlite_autoindex_chats_1 (id>?)", "sqlite_autoindex_search_rooms_1 (chat_id=?)"];
    expect(&mut heard, "rooms that are behind", &rooms);
    assert_eq!(store.index_rooms(vec![chat], INDEXED_AT_ONCE).await.unwrap().messages, 2);
    expect(&mut heard, "indexing", &["messages_order (chat_id=? AND sequence>? AND sequence<?)"]);
    let viewers = [
        (ParticipantId::User(ann.id), "participants_of_account (chat_id=? AND account_id=?)"),
        (
            ParticipantId::Agent(bot.id),
            "participants EXISTS USING PRIMARY KEY (chat_id=? AND participant_id=?)",
        ),
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
    assert_eq!(entries(&mut heard), (2, 2));
    let text = domain::message::MessageContent::new("other".to_owned()).unwrap();
    heard.world.messages.edit(ann.caller, chat, message, text).await.unwrap();
    assert_eq!(entries(&mut heard), (2, 2));
    heard.world.messages.delete(ann.caller, chat, message).await.unwrap();
    assert_eq!(entries(&mut heard), (1, 1), "an entry goes with its message");
    let entry = "search_texts_of_message (chat_id=? AND sequence=?)";
    assert!(heard.steps().iter().any(|(step, _)| step.contains(entry)));
    heard.world.chats.delete(ann.caller, chat).await.unwrap();
    heard.steps();
    while store.erase_entries().await.unwrap() {}
    assert_eq!(entries(&mut heard), (0, 0), "entries go with their room");
    expect(&mut heard, "erasing", &["search_rooms_deleted", "search_texts_of_message (chat_id=?)"]);
}
