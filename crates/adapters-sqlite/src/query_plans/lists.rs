//! Lists use an index whatever their filters, and their parts take a fixed number of statements.

use super::*;
use domain::account::AgentSort;
use domain::audit::{AuditAction, AuditFilter, AuditRepository, AuditScope};
use domain::chat::{
    ChatKind, ChatParts, ChatRepository, ChatSort, ChatStatus, ChatTitle, ParticipantRepository,
};
use domain::control::ControlRepository;
use domain::delivery::DeliveryStatus;
use domain::id::{Sequence, SubjectId};
use domain::message::{Anchor, Kinds, MessageKind, MessageRepository};
use domain::text::NamePart;
use domain::usage::{Day, UsageFilter, UsageGroup};
use domain::work::{FindWork, FlagCondition, WorkRepository, WorkScope, WorkSearch};

/// Every combination of filters and orders for a list of chats.
fn room_listings(sort: ChatSort) -> Vec<ChatListing> {
    let mut listings = Vec::new();
    for agent_rooms in [false, true] {
        for order in [Order::Ascending, Order::Descending] {
            for status in [None, Some(ChatStatus::Archived)] {
                for kind in [None, Some(ChatKind::Group)] {
                    let parts = ChatParts::default();
                    listings.push(ChatListing { agent_rooms, status, kind, sort, order, parts });
                }
            }
        }
    }
    listings
}

#[tokio::test]
async fn rooms_run_along_indexes_whatever_the_filter() {
    let mut heard = Overheard::open();
    let (ann, ..) = at_work(&heard).await;
    let (store, viewer) = (heard.store.clone(), ParticipantId::User(ann.id));
    for listing in room_listings(ChatSort::Created) {
        let index = if listing.agent_rooms { "participants_rooms_of_account" } else { "participants_rooms" };
        for page in [after(NOON), NUMBERED] {
            ChatRepository::list(&*store, viewer, listing, page.clone()).await.unwrap();
            heard.expect(&format!("{listing:?}"), &[index]);
        }
    }
    // Sorted by change, a list reads the viewer's own chats only.
    for listing in room_listings(ChatSort::Updated) {
        for page in [after(NOON), NUMBERED] {
            ChatRepository::list(&*store, viewer, listing, page.clone()).await.unwrap();
            heard.expect_no_table_scans(&format!("{listing:?}"));
        }
    }
}

#[tokio::test]
async fn work_runs_along_the_indexes_of_what_is_open() {
    let mut heard = Overheard::open();
    let (ann, bot, chat, message) = at_work(&heard).await;
    let store = heard.store.clone();
    let any = WorkSearch {
        scope: WorkScope::OwnedBy(ann.id),
        agent: None,
        chat: None,
        root: None,
        state: None,
        flag: None,
        written_by: None,
        min_attempts: 0,
        error: None,
    };
    let admin = WorkScope::Of(Authority::Admin(ann.caller));
    let (waiting, begun) = ("deliveries_open", "deliveries_at_work");
    let now = Timestamp::from_micros(NOON);
    for (search, rows, indexes) in [
        (any.clone(), 2, &[waiting, begun][..]),
        (WorkSearch { scope: admin, ..any.clone() }, 2, &[waiting, begun, "users_of_organization"]),
        (WorkSearch { agent: Some(bot.id), ..any.clone() }, 2, &[waiting, begun]),
        (WorkSearch { chat: Some(chat), ..any.clone() }, 2, &[waiting, begun]),
        (WorkSearch { state: Some(DeliveryStatus::New), ..any.clone() }, 1, &[waiting]),
        (WorkSearch { state: Some(DeliveryStatus::Dead), ..any.clone() }, 0, &["deliveries_dead"]),
        (WorkSearch { min_attempts: 1, error: None, ..any.clone() }, 1, &[begun]),
        (WorkSearch { error: Some("x".to_owned()), ..any.clone() }, 0, &[begun]),
        (WorkSearch { flag: Some(FlagCondition::Failing(1)), ..any.clone() }, 0, &[begun]),
        (WorkSearch { flag: Some(FlagCondition::Stuck(now)), ..any }, 1, &[begun]),
    ] {
        let what = format!("{search:?}");
        let summarized = search.clone();
        let page = store.list_work(search, FIRST).await.unwrap().unwrap();
        assert_eq!(page.rows.len(), rows, "{what}");
        let flags = WorkThresholds::default().at(now);
        let counts = store.summarize_work(summarized, flags).await.unwrap().unwrap();
        let counted = counts.items.iter().map(|counted| counted.items.number).sum::<u64>();
        assert_eq!((counted, counts.is_cut), (rows as u64, false), "{what}");
        let statements = heard.statements.lock().unwrap().len();
        assert!(statements < 14, "{what} takes {statements} statements");
        let steps = heard.steps();
        for (step, query) in &steps {
            // Queues, and the open deliveries of one of them, are tables that the statement makes.
            // So are what a summary examines and counts.
            let made_up = [
                "SCAN queues",
                "SCAN deliveries",
                "SCAN CONSTANT ROW",
                "SCAN (subquery",
                "SCAN examined",
                "SCAN queue",
                "SCAN size",
                "SCAN counted LEFT-JOIN",
                "SCAN bounds",
            ];
            let is_made_up = made_up.iter().any(|start| step == start) || is_list(step);
            assert!(!step.starts_with("SCAN") || is_made_up, "{what}: {step}\n{query}");
            let by_key = step.strip_prefix("SEARCH deliveries USING PRIMARY KEY ");
            assert!(by_key.is_none_or(|terms| terms.contains("sequence=?")), "{what}: {step}\n{query}");
        }
        for index in indexes {
            assert!(
                steps.iter().any(|(step, _)| step.contains(index)),
                "{what}: {index} is not in {steps:#?}"
            );
        }
    }
    let wanted = FindWork { scope: admin, message, agent: bot.id };
    assert!(store.find_work(wanted).await.unwrap().unwrap().is_some());
    heard.expect_no_table_scans("one item");
}

#[tokio::test]
async fn receipts_run_along_the_index_of_what_is_open() {
    let mut heard = Overheard::open();
    let (ann, _, chat, message) = at_work(&heard).await;
    let (store, viewer) = (heard.store.clone(), ParticipantId::User(ann.id));
    for _ in 0..2 {
        assert_eq!(store.receipts(viewer, chat, message).await.unwrap().unwrap().len(), 1);
    }
    let statements = heard.statements.lock().unwrap().clone();
    heard.expect_no_table_scans("receipts");
    *heard.statements.lock().unwrap() = statements;
    let steps = heard.steps();
    let counts = |step: &str| step.contains("earlier") && step.contains("deliveries_open (");
    assert!(steps.iter().any(|(step, _)| counts(step)), "{steps:#?}");
}

#[tokio::test]
async fn texts_with_deadlines_are_found_by_their_index() {
    let mut heard = Overheard::open();
    at_work(&heard).await;
    let now = Timestamp::from_micros(NOON);
    for after in [None, Some((now, MessageId::NIL))] {
        heard.store.due_texts(now, after, 100).await.unwrap();
        heard.expect("due texts", &["messages_with_deadline"]);
    }
}

/// All sums that match are read, but no others; then those of one page are joined to their names.
#[tokio::test]
async fn usage_runs_along_the_indexes_of_its_sums() {
    let mut heard = Overheard::open();
    let (ann, bot, chat, message) = at_work(&heard).await;
    let expect = |heard: &mut Overheard, index: &str| {
        let steps = heard.steps();
        for (step, query) in &steps {
            let is_made_up =
                ["counted", "pages", "(", "listed"].iter().any(|of| step.starts_with(&format!("SCAN {of}")));
            assert!(!step.starts_with("SCAN") || is_made_up || is_list(step), "{step}\n{query}");
        }
        assert!(steps.iter().any(|(step, _)| step.contains(index)), "{index}: {steps:#?}");
    };
    let (own, admin) = (WorkScope::OwnedBy(ann.id), WorkScope::Of(Authority::Admin(ann.caller)));
    let filter = UsageFilter { since: Some(Day::new(0)), agent: Some(bot.id), ..UsageFilter::default() };
    let (of_owner, of_organization) =
        ("token_usage_of_owner (owner_id=? AND day>?", "PRIMARY KEY (organization_id=? AND day>?");
    for (scope, index) in [(own, of_owner), (admin, of_organization)] {
        for group in UsageGroup::ALL {
            heard.world.usage.list(scope, filter, group, FIRST).await.unwrap();
            expect(&mut heard, index);
        }
    }
    heard.world.usage.of_tree(chat, message).await.unwrap();
    expect(&mut heard, "token_usage_of_tree (root_id=? AND chat_id=?)");
}

#[tokio::test]
async fn the_parts_of_rooms_are_found_by_indexes() {
    let mut heard = Overheard::open();
    let (ann, bot, chat, _) = at_work(&heard).await;
    let (store, viewer) = (heard.store.clone(), ParticipantId::User(ann.id));
    let listing = ChatListing { parts: ChatParts::ALL, ..ChatListing::default() };
    let found = ChatRepository::list(&*store, viewer, listing, NUMBERED).await.unwrap();
    assert!(found.rows[0].last_message.is_some());
    heard.expect("a room's parts", &["deliveries_at_work", "participants_of_account", "messages_order"]);
    store.find_with_details(ann.id, chat, ChatParts::ALL, true).await.unwrap().unwrap();
    heard.expect("a room", &["participants_of_account", "messages_events", "deliveries_at_work"]);
    store.list_some(ann.id, vec![chat], ChatParts::ALL).await.unwrap();
    heard.expect("some rooms", &["participants_of_account", "deliveries_at_work", "messages_order"]);
    heard.world.chats.mark_all_read(ann.caller).await.unwrap();
    heard.expect("mark all rooms", &["participants_rooms"]);
    for viewer in [viewer, ParticipantId::Agent(bot.id)] {
        store.entrance(viewer, chat).await.unwrap();
        heard.expect("entrance", &[]);
    }
    for page in [FIRST, after(NOON)] {
        store.executions(ann.id, bot.id, page).await.unwrap().unwrap();
        heard.expect("executions", &["participants_rooms", "deliveries_at_work", "deliveries_open"]);
    }
    store.memberships_among(Some(ann.caller.organization), vec![(bot.id, chat)]).await.unwrap();
    heard.expect_no_table_scans("stopped among");
    let title = ChatTitle::renamed("Plan").unwrap();
    heard.world.chats.rename(ann.caller, chat, title).await.unwrap();
    heard.expect("rename", &["participants_of_account"]);
    heard.world.chats.delete(ann.caller, chat).await.unwrap();
    heard.expect("delete", &["participants_of_account"]);
}

#[tokio::test]
async fn history_runs_along_indexes_whatever_the_filter() {
    let mut heard = Overheard::open();
    let (ann, _, chat, message) = at_work(&heard).await;
    let (store, viewer) = (heard.store.clone(), ParticipantId::User(ann.id));
    let some = Kinds::of(&[MessageKind::Text, MessageKind::Thought]);
    let begin = Timestamp::from_micros(NOON - 1);
    let since = Some(begin);
    for (kinds, since, indexes) in [
        (Kinds::ALL, since, vec!["messages_order"]),
        (some, None, vec!["messages_events", "messages_order"]),
        (some, since, vec!["messages_events", "messages_order"]),
        (Kinds::ALL.without(some), None, vec!["messages_events"]),
    ] {
        let filter = HistoryFilter { kinds, since, ..HistoryFilter::default() };
        for page in [FIRST, NUMBERED] {
            store.history(viewer, chat, filter, page).await.unwrap().unwrap();
            heard.expect(&format!("{filter:?}"), &indexes);
        }
    }
    let from = Anchor::From(Sequence::new(2));
    for anchor in
        [Anchor::After(message), Anchor::Before(message), Anchor::Around(message), Anchor::At(begin), from]
    {
        for (kinds, index) in [(Kinds::ALL, "messages_order"), (some, "messages_events")] {
            store.surroundings(viewer, chat, anchor, kinds, 10).await.unwrap().unwrap();
            heard.expect(&format!("{anchor:?}"), &[index]);
        }
    }
}

#[tokio::test]
async fn agents_run_along_indexes_whatever_the_filter() {
    let mut heard = Overheard::open();
    let (ann, bot, ..) = at_work(&heard).await;
    let behind = Position { key: NOON, text: "Bot".to_owned(), id: bot.id.into() };
    let pages =
        [PageRequest { slice: Slice::After { after: Some(behind), limit: 10 }, count: false }, NUMBERED];
    for (sort, index) in [
        (AgentSort::Created, "agents_by_owner"),
        (AgentSort::Name, "agents_by_name"),
        (AgentSort::Updated, "agents_by_change"),
    ] {
        for order in [Order::Ascending, Order::Descending] {
            for (name, flag) in [(None, None), (NamePart::new("bo"), Some(true)), (None, Some(false))] {
                for page in pages.clone() {
                    let name = name.clone();
                    let listing =
                        AgentListing { name, is_external: flag, listed_in_directory: flag, sort, order };
                    heard.store.list_agents(ann.id, listing, page).await.unwrap();
                    heard.expect(&format!("{sort:?} {order:?}"), &[index]);
                }
            }
        }
    }
}

/// A page of chats with all parts takes the same number of statements, however many chats it has
/// and however many participants they have.
#[tokio::test]
async fn rooms_with_all_parts_take_a_fixed_number_of_statements() {
    let heard = Overheard::open();
    let (ann, bot, ..) = at_work(&heard).await;
    let listing = ChatListing { agent_rooms: true, parts: ChatParts::ALL, ..ChatListing::default() };
    let page = PageRequest { slice: Slice::Numbered { number: 1, size: 100 }, count: true };
    let (mut counts, mut rooms) = (Vec::new(), 1);
    for more in [1, 20] {
        rooms += more;
        for number in 0..more {
            let chat = heard.world.chat(ann.caller, &[bot.id.into()]).await;
            let id = heard.world.send(ann.caller, chat, "hi", &[ParticipantId::Agent(bot.id)]).await.id;
            begin(&heard, bot.id, chat, id).await;
            let other = heard.world.agent(&ann, &format!("other {more} {number}")).await;
            heard.world.add(ann.caller, chat, other.id.into(), Role::Member).await;
        }
        heard.statements.lock().unwrap().clear();
        let viewer = ParticipantId::User(ann.id);
        let found = ChatRepository::list(&*heard.store, viewer, listing, page.clone()).await.unwrap();
        assert_eq!(found.rows.len(), rooms);
        counts.push(heard.statements.lock().unwrap().len());
    }
    assert_eq!(counts[0], counts[1]);
    assert!(counts[1] <= 14, "{counts:?}");
}

#[tokio::test]
async fn the_audit_log_runs_along_an_index_whatever_the_filter() {
    let mut heard = Overheard::open();
    let (ann, bot, ..) = at_work(&heard).await;
    let own = AuditScope::Of(Authority::Admin(ann.caller));
    let (since, until) = (Some(Timestamp::from_micros(NOON)), Some(Timestamp::from_micros(NOON + 9)));
    let (actor, subject) = (Some(SubjectId::new(ann.id.uuid())), Some(bot.id.into()));
    let action = Some(AuditAction::ChatCreated);
    let of = |scope| AuditFilter { since, until, ..AuditFilter::of(scope) };
    let all = of(own);
    let by = |column: &str| format!("audit_of_organization_{column}");
    for (filter, index) in [
        (of(AuditScope::Everything), "audit_by_age".to_owned()),
        (all.clone(), "audit_of_organization".to_owned()),
        (AuditFilter { action, ..all.clone() }, by("action")),
        (AuditFilter { actor, ..all.clone() }, by("actor")),
        (AuditFilter { actor, action, ..all.clone() }, by("actor")),
        (AuditFilter { subject, action, ..all.clone() }, by("subject")),
        (AuditFilter { subject, actor, action, ..all }, by("subject")),
    ] {
        for page in [FIRST, after(NOON + 1), NUMBERED] {
            heard.store.list_audit(filter.clone(), page).await.unwrap().unwrap();
            heard.expect(&format!("{filter:?}"), &[&index]);
        }
    }
}
