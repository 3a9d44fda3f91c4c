//! Contacts and contact requests.

use domain::contact::{
    AnswerRequest, ContactRepository, Handle, NewRequest, RemoveContact, RequestAction, RequestStatus,
    SentFilter, WhichContact, WhichRequest,
};
use domain::id::{ContactId, ContactRequestId, ParticipantId};
use domain::store::OnCommit;
use domain::text::NamePart;
use domain::time::Timestamp;
use testkit::NOON;
use uuid::Uuid;

use super::{NUMBERED, Overheard, after};

/// Long before the first request.
const NEVER: i64 = 0;

#[tokio::test]
async fn lists_of_contacts_run_along_indexes() {
    let mut heard = Overheard::open();
    let (ann, ben) = (heard.world.user("ann").await, heard.world.user("ben").await);
    let bot = heard.world.agent(&ben, "Bot").await;
    heard.world.connect((ann.caller, "ann"), (ben.caller, "ben")).await;
    heard.world.ask(ann.caller, &bot.handle).await;
    heard.statements.lock().unwrap().clear();
    let (store, never) = (heard.store.clone(), Timestamp::from_micros(NEVER));
    let [ann_id, bot_id] = [ParticipantId::User(ann.id), ParticipantId::Agent(bot.id)];

    for page in [after(NOON + 1), NUMBERED] {
        for name in [None, NamePart::new("bo")] {
            store.list_contacts(ann_id, name, page.clone()).await.unwrap();
            heard.expect("contacts", &["contacts_listed"]);
        }
        store.list_received(bot_id, never, page.clone()).await.unwrap();
        heard.expect("received by an agent", &["contact_requests_received"]);
        store.list_received_by_all_of(ben.id, never, page.clone()).await.unwrap();
        heard.expect("received by all of a user", &["contact_requests_received_by_all"]);
        store.list_sent(ann_id, SentFilter::All, never, page.clone()).await.unwrap();
        heard.expect("sent", &["contact_requests_sent"]);
        for status in [RequestStatus::Pending, RequestStatus::Approved, RequestStatus::Cancelled] {
            store.list_sent(ann_id, SentFilter::Only(status), never, page.clone()).await.unwrap();
            heard.expect(&format!("sent {status:?}"), &["contact_requests_sent_by_status"]);
        }
        store.list_sent(ann_id, SentFilter::Only(RequestStatus::Expired), never, page.clone()).await.unwrap();
        heard.expect("sent and expired", &["contact_requests_sent"]);
    }
    store.are_contacts(ann_id, bot_id).await.unwrap();
    heard.expect("are contacts", &["contacts_pair"]);
    for handle in ["ben", "ben/bot"] {
        store.resolve(ann.caller.into(), Handle::new(handle).unwrap()).await.unwrap().unwrap();
        heard.expect("resolve", &["contacts_pair"]);
    }
}

#[tokio::test]
async fn changes_of_contacts_run_along_indexes() {
    let mut heard = Overheard::open();
    let (ann, ben) = (heard.world.user("ann").await, heard.world.user("ben").await);
    let (store, now) = (heard.store.clone(), Timestamp::from_micros(NOON));
    let ids = |number| [number, number + 1].map(|id| ContactId::new(Uuid::from_u128(id)));
    let never = Timestamp::from_micros(NEVER);
    heard.statements.lock().unwrap().clear();

    let new = NewRequest {
        id: ContactRequestId::new(Uuid::from_u128(1)),
        by: ann.caller.into(),
        to: Handle::new("ben").unwrap(),
        message: None,
        contacts: ids(10),
        now,
        expired_until: never,
    };
    let request = store.send(new, OnCommit::nothing()).await.unwrap().unwrap().request;
    heard.expect("send", &["contact_requests_pending", "contacts_pair"]);
    let answer = |which| AnswerRequest {
        by: ben.caller.into(),
        which,
        action: RequestAction::Reject,
        contacts: ids(20),
        now,
        expired_until: never,
    };
    let by_handle = WhichRequest::With(Handle::new("ann").unwrap());
    store.answer(answer(by_handle), OnCommit::nothing()).await.unwrap().unwrap();
    heard.expect("answer by handle", &["contact_requests_pending"]);
    store.answer(answer(WhichRequest::Id(request.id)), OnCommit::nothing()).await.unwrap().unwrap_err();
    heard.expect("answer by id", &[]);

    heard.world.ask(ann.caller, "ben").await;
    heard.statements.lock().unwrap().clear();
    assert_eq!(store.expire(now, 10, OnCommit::nothing()).await.unwrap().len(), 1);
    heard.expect("expire", &["contact_requests_overdue"]);

    heard.world.connect((ann.caller, "ann"), (ben.caller, "ben")).await;
    heard.statements.lock().unwrap().clear();
    let which = WhichContact::Id(ben.id.into());
    let remove = RemoveContact { by: ParticipantId::User(ann.id), which };
    store.remove(remove, OnCommit::nothing()).await.unwrap().unwrap();
    heard.expect("remove", &[]);
}

/// A page of requests takes the same number of statements, however many users and agents it names.
#[tokio::test]
async fn a_page_of_contacts_takes_a_fixed_number_of_statements() {
    let heard = Overheard::open();
    let ann = heard.world.user("ann").await;
    let (store, id) = (heard.store.clone(), ParticipantId::User(ann.id));
    let mut counts = Vec::new();
    for round in 0..2 {
        for number in 0..3 {
            let friend = heard.world.user(&format!("friend-{round}-{number}")).await;
            let bot = heard.world.agent(&friend, "Bot").await;
            heard.world.ask(ann.caller, &bot.handle).await;
            heard.world.connect((ann.caller, "ann"), (friend.caller, &friend.handle)).await;
        }
        heard.statements.lock().unwrap().clear();
        store.list_contacts(id, None, NUMBERED).await.unwrap();
        store.list_sent(id, SentFilter::All, Timestamp::from_micros(NEVER), NUMBERED).await.unwrap();
        counts.push(heard.statements.lock().unwrap().len());
    }
    assert_eq!(counts[0], counts[1]);
}
