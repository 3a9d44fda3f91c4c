//! Contacts and contact requests.

use std::sync::Arc;
use std::time::Duration;

use domain::caller::Caller;
use domain::contact::{
    Acquaintance, AnswerRequestError, ContactRequest, Handle, RemoveContactError, RequestAction,
    RequestMessage, RequestStatus, SendRefused, SendRequest, SendRequestError, SentFilter, WhichContact,
    WhichRequest,
};
use domain::event::DomainEvent;
use domain::id::{ContactRequestId, ParticipantId};
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use uuid::Uuid;

use crate::{TestAgent, TestUser, World};

const FIRST: PageRequest = PageRequest { slice: Slice::Numbered { number: 1, size: 50 }, count: true };

/// The time until a request expires.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

const PENDING: SentFilter = SentFilter::Only(RequestStatus::Pending);

/// Ann with One, Ben with Two: two tenants.
async fn people(world: &World) -> (TestUser, TestAgent, TestUser, TestAgent) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let (one, two) = (world.agent(&ann, "One").await, world.agent(&ben, "Two").await);
    world.publisher.take();
    (ann, one, ben, two)
}

async fn try_ask(world: &World, by: impl Into<Caller>, handle: &str) -> Result<ContactRequest, SendRefused> {
    let command = SendRequest { to: Handle::new(handle).unwrap(), message: None };
    world.contacts.send(by, command).await.map_err(|error| match error {
        SendRequestError::Refused { refused, .. } => refused,
        SendRequestError::Foreign(_) | SendRequestError::Store(_) => panic!("{error}"),
    })
}

/// The outcome of a request in a word: a status, or the refusal.
async fn answer(
    world: &World,
    by: impl Into<Caller>,
    which: impl Into<WhichRequest>,
    action: RequestAction,
) -> &'static str {
    match world.contacts.answer(by, which.into(), action).await {
        Ok(request) => request.status.as_str(),
        Err(AnswerRequestError::NotFound) => "not found",
        Err(AnswerRequestError::OtherSide) => "other side",
        Err(AnswerRequestError::Settled(_)) => "settled",
        Err(AnswerRequestError::Foreign(_)) => "foreign",
        Err(AnswerRequestError::Store(error)) => panic!("{error}"),
    }
}

fn by_id(id: ContactRequestId) -> WhichRequest {
    WhichRequest::Id(id)
}

fn by_handle(handle: &str) -> WhichRequest {
    WhichRequest::With(Handle::new(handle).unwrap())
}

async fn sent(world: &World, by: impl Into<Caller>, filter: SentFilter) -> Vec<RequestStatus> {
    let page = world.contacts.sent(by, filter, FIRST).await.unwrap();
    assert_eq!(page.total, Some(page.rows.len() as u64));
    page.rows.iter().map(|request| request.status).collect()
}

async fn contacts_of(world: &World, who: impl Into<Caller>) -> Vec<String> {
    let page = world.contacts.list(who, None, FIRST).await.unwrap();
    assert_eq!(page.total, Some(page.rows.len() as u64));
    page.rows.into_iter().map(|listed| listed.contact.with.handle).collect()
}

/// Every status, every action, by every side: only what is pending moves, and each move is told.
pub async fn requests_walk_through_their_states(world: World) {
    let (ann, one, ben, two) = people(&world).await;
    let (approve, reject, cancel) = (RequestAction::Approve, RequestAction::Reject, RequestAction::Cancel);
    let everybody: [Caller; 4] = [ann.caller.into(), one.caller.into(), ben.caller.into(), two.caller.into()];

    for (action, answering) in [(reject, 3), (cancel, 1), (reject, 2), (cancel, 0), (approve, 2)] {
        let request = world.ask(one.caller, &two.handle).await;
        assert_eq!((request.status, request.responded_at), (RequestStatus::Pending, None));
        let other_side = if action == cancel { [2, 3] } else { [0, 1] };
        for by in other_side {
            assert_eq!(answer(&world, everybody[by], by_id(request.id), action).await, "other side");
        }
        world.clock.advance(Duration::from_secs(1));
        world.publisher.take();
        let by = everybody[answering];
        let answered = world.contacts.answer(by, by_id(request.id), action).await.unwrap();
        assert_eq!((answered.status, answered.responded_at), (action.outcome(), Some(world.clock.now())));
        let published = world.publisher.take();
        assert!(
            matches!(&published[0], DomainEvent::ContactRequestUpdated { request } if *request == answered)
        );
        assert_eq!(published.len(), if action == approve { 3 } else { 1 });
        for (by, action) in [(2, approve), (3, reject), (0, cancel), (1, cancel)] {
            assert_eq!(answer(&world, everybody[by], by_id(request.id), action).await, "settled");
        }
        assert_eq!(world.publisher.take().len(), 0);
    }
    let all = sent(&world, one.caller, SentFilter::All).await;
    assert_eq!(all.len(), 5);
    assert_eq!(all[0], RequestStatus::Approved, "newest first");
    for (status, count) in [
        (RequestStatus::Pending, 0),
        (RequestStatus::Approved, 1),
        (RequestStatus::Rejected, 2),
        (RequestStatus::Cancelled, 2),
        (RequestStatus::Expired, 0),
    ] {
        assert_eq!(sent(&world, one.caller, SentFilter::Only(status)).await, vec![status; count]);
    }
    assert_eq!(contacts_of(&world, one.caller).await, [two.handle.as_str()]);
    assert_eq!(contacts_of(&world, two.caller).await, [one.handle.as_str()]);
    assert_eq!(
        (contacts_of(&world, ann.caller).await, contacts_of(&world, ben.caller).await),
        (vec![], vec![])
    );
}

/// Approve and reject take the requester's handle, cancel the recipient's.
pub async fn handles_name_pending_requests(world: World) {
    let (ann, one, ben, two) = people(&world).await;
    let (approve, reject, cancel) = (RequestAction::Approve, RequestAction::Reject, RequestAction::Cancel);
    world.ask(one.caller, &two.handle).await;
    for action in [approve, reject] {
        assert_eq!(answer(&world, one.caller, by_handle(&two.handle), action).await, "not found");
    }
    assert_eq!(answer(&world, two.caller, by_handle(&one.handle), cancel).await, "not found");
    assert_eq!(answer(&world, two.caller, by_handle("nobody"), approve).await, "not found");
    assert_eq!(answer(&world, two.caller, by_handle(&ann.handle), approve).await, "not found");
    assert_eq!(answer(&world, ben.caller, by_handle(&one.handle), approve).await, "not found");
    assert_eq!(answer(&world, one.caller, by_handle(&two.handle), cancel).await, "cancelled");
    assert_eq!(answer(&world, one.caller, by_handle(&two.handle), cancel).await, "not found");
    world.ask(one.caller, &two.handle).await;
    assert_eq!(answer(&world, two.caller, by_handle(&one.handle), reject).await, "rejected");
    world.ask(one.caller, &two.handle).await;
    assert_eq!(answer(&world, two.caller, by_handle(&one.handle), approve).await, "approved");
    assert_eq!(answer(&world, two.caller, by_handle(&one.handle), approve).await, "not found");
}

/// Inverse requests become a contact immediately, and nothing stays pending.
pub async fn inverse_requests_are_approved(world: World) {
    let (ann, one, ben, _) = people(&world).await;
    let first = world.ask(ann.caller, "ben").await;
    let asked = world.publisher.take();
    assert!(matches!(&asked[..], [DomainEvent::ContactRequestReceived { request }] if *request == first));
    let second = world.ask(ben.caller, "ann").await;
    assert_eq!(second.status, RequestStatus::Approved);
    let published = world.publisher.take();
    let [
        DomainEvent::ContactRequestUpdated { request },
        DomainEvent::ContactAdded { contact: ann_has },
        DomainEvent::ContactAdded { contact: ben_has },
    ] = &published[..]
    else {
        panic!("{published:?}")
    };
    assert_eq!((request.id, request.status), (first.id, RequestStatus::Approved));
    let [ann_id, ben_id] = [&ann, &ben].map(|user| ParticipantId::User(user.id));
    assert_eq!((ann_has.owner, ann_has.contact.with.id), (ann_id, ben_id));
    assert_eq!((ben_has.owner, ben_has.contact.with.id), (ben_id, ann_id));
    assert_ne!(ann_has.contact.id, ben_has.contact.id);
    assert_eq!(ann_has.contact.request, Some(first.id));
    assert_eq!(world.contacts.list(ann.caller, None, FIRST).await.unwrap().rows[0].contact, ann_has.contact);
    assert_eq!(world.contacts.list(ben.caller, None, FIRST).await.unwrap().rows[0].contact, ben_has.contact);
    for user in [&ann, &ben] {
        assert_eq!(sent(&world, user.caller, SentFilter::All).await, [RequestStatus::Approved]);
        assert_eq!(world.contacts.received_by_user(user.caller, FIRST).await.unwrap().total, Some(0));
    }
    for (by, handle) in [(ann.caller, "ben"), (ben.caller, "ann")] {
        assert_eq!(try_ask(&world, by, handle).await, Err(SendRefused::AlreadyContact));
    }
    // Not even among siblings or with the owner is anything approved by itself.
    assert_eq!(world.ask(one.caller, "ann").await.status, RequestStatus::Pending);
    assert_eq!(world.ask(ann.caller, &one.handle).await.status, RequestStatus::Approved);
}

/// Twenty at once, ten in each direction: one contact, nothing pending.
pub async fn inverse_requests_at_the_same_moment_end_in_one_contact(world: World) {
    let (_, one, _, two) = people(&world).await;
    let contacts = Arc::clone(&world.contacts);
    let attempts = (0..20).map(|number| {
        let contacts = contacts.clone();
        let (by, to) = if number % 2 == 0 { (one.caller, &two.handle) } else { (two.caller, &one.handle) };
        let command = SendRequest { to: Handle::new(to).unwrap(), message: None };
        tokio::spawn(async move { contacts.send(by, command).await.ok().map(|request| request.status) })
    });
    let mut accepted = Vec::new();
    for attempt in attempts.collect::<Vec<_>>() {
        accepted.extend(attempt.await.unwrap());
    }
    accepted.sort_by_key(|status| status.as_str());
    assert_eq!(accepted, [RequestStatus::Approved, RequestStatus::Pending]);
    assert_eq!(contacts_of(&world, one.caller).await, [two.handle.as_str()]);
    assert_eq!(contacts_of(&world, two.caller).await, [one.handle.as_str()]);
    for agent in [&one, &two] {
        assert_eq!(sent(&world, agent.caller, PENDING).await, []);
        assert_eq!(world.contacts.received_by_agent(agent.caller, FIRST).await.unwrap().total, Some(0));
    }
}

/// The same request many times at once is one request; and many answers at once are one answer.
pub async fn duplicates_at_the_same_moment_are_refused(world: World) {
    let (ann, _, ben, _) = people(&world).await;
    let contacts = Arc::clone(&world.contacts);
    let attempts = (0..10).map(|_| {
        let contacts = contacts.clone();
        let command = SendRequest { to: Handle::new("ben").unwrap(), message: None };
        tokio::spawn(async move { contacts.send(ann.caller, command).await })
    });
    let mut requests = Vec::new();
    for attempt in attempts.collect::<Vec<_>>() {
        match attempt.await.unwrap() {
            Ok(request) => requests.push(request.id),
            Err(SendRequestError::Refused { refused, .. }) => assert_eq!(refused, SendRefused::AlreadyAsked),
            Err(error) => panic!("{error}"),
        }
    }
    let [request] = requests[..] else { panic!("{requests:?}") };
    let answers = (0..12).map(|number| {
        let contacts = contacts.clone();
        let (by, action) = match number % 3 {
            0 => (ben.caller, RequestAction::Approve),
            1 => (ben.caller, RequestAction::Reject),
            _ => (ann.caller, RequestAction::Cancel),
        };
        tokio::spawn(async move { contacts.answer(by, WhichRequest::Id(request), action).await })
    });
    let mut accepted = 0;
    for answer in answers.collect::<Vec<_>>() {
        match answer.await.unwrap() {
            Ok(_) => accepted += 1,
            Err(AnswerRequestError::Settled(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(accepted, 1);
}

/// By either side, by any of its names; both records go, and asking again is possible at once.
pub async fn removal_is_for_both_sides(world: World) {
    let (ann, one, ben, two) = people(&world).await;
    let remove = async |by: Caller, which| match world.contacts.remove(by, which).await {
        Ok(()) => true,
        Err(RemoveContactError::NotFound) => false,
        Err(RemoveContactError::Store(error)) => panic!("{error}"),
    };
    let handle = |text: &str| WhichContact::With(Handle::new(text).unwrap());
    let stranger = world.user("eve").await;
    for round in 0..4 {
        world.connect((one.caller, one.handle.as_str()), (two.caller, two.handle.as_str())).await;
        let own = world.contacts.list(one.caller, None, FIRST).await.unwrap().rows.remove(0).contact.id;
        let theirs = world.contacts.list(two.caller, None, FIRST).await.unwrap().rows.remove(0).contact.id;
        // Neither a stranger nor an owner, nor by the id of the other side's record.
        for by in [Caller::from(stranger.caller), ann.caller.into(), ben.caller.into()] {
            for which in [WhichContact::Id(own.into()), WhichContact::Id(two.id.into()), handle(&two.handle)]
            {
                assert!(!remove(by, which).await);
            }
        }
        assert!(!remove(one.caller.into(), WhichContact::Id(theirs.into())).await);
        assert!(!remove(one.caller.into(), handle("nobody")).await);
        assert!(world.stores.contacts.are_contacts(agent(&one), agent(&two)).await.unwrap());
        assert!(world.stores.contacts.are_contacts(agent(&two), agent(&one)).await.unwrap());
        world.publisher.take();
        let (by, which) = match round {
            0 => (one.caller, WhichContact::Id(own.into())),
            1 => (one.caller, WhichContact::Id(two.id.into())),
            2 => (one.caller, handle(&two.handle)),
            _ => (two.caller, WhichContact::Id(theirs.into())),
        };
        assert!(remove(by.into(), which.clone()).await);
        let mut published = world.publisher.take();
        published.sort_by_key(|event| !matches!(event, DomainEvent::ContactRemoved { id, .. } if *id == own));
        assert!(matches!(published[..], [
            DomainEvent::ContactRemoved { owner: first, id: first_id },
            DomainEvent::ContactRemoved { owner: second, id: second_id },
        ] if (first, first_id, second, second_id) == (agent(&one), own, agent(&two), theirs)));
        assert!(!remove(by.into(), which).await, "once is enough");
        assert_eq!(
            (contacts_of(&world, one.caller).await, contacts_of(&world, two.caller).await),
            (vec![], vec![])
        );
        assert!(!world.stores.contacts.are_contacts(agent(&one), agent(&two)).await.unwrap());
    }
}

fn agent(agent: &TestAgent) -> ParticipantId {
    ParticipantId::Agent(agent.id)
}

/// After thirty days a request is expired for every reader, written down or not.
pub async fn requests_expire(world: World) {
    let (ann, one, ben, two) = people(&world).await;
    let request = world.ask(one.caller, &two.handle).await;
    let expired = SentFilter::Only(RequestStatus::Expired);
    let a_moment = Duration::from_micros(1);
    world.clock.advance(LIFETIME.checked_sub(a_moment).unwrap());
    assert_eq!(world.contacts.expire(world.clock.now()).await.unwrap(), 0);
    assert_eq!(sent(&world, one.caller, PENDING).await.len(), 1);
    assert_eq!(world.contacts.received_by_agent(two.caller, FIRST).await.unwrap().rows[0].id, request.id);
    assert_eq!(try_ask(&world, one.caller, &two.handle).await, Err(SendRefused::AlreadyAsked));

    world.clock.advance(a_moment);
    assert_eq!(sent(&world, one.caller, PENDING).await, []);
    assert_eq!(sent(&world, one.caller, SentFilter::All).await, [RequestStatus::Expired]);
    assert_eq!(sent(&world, one.caller, expired).await, [RequestStatus::Expired]);
    assert_eq!(world.contacts.received_by_agent(two.caller, FIRST).await.unwrap().total, Some(0));
    assert_eq!(world.contacts.received_by_user(ben.caller, FIRST).await.unwrap().total, Some(0));
    world.publisher.take();
    let approve = RequestAction::Approve;
    assert_eq!(answer(&world, two.caller, by_handle(&one.handle), approve).await, "not found");
    assert_eq!(answer(&world, two.caller, by_id(request.id), approve).await, "settled");
    let published = world.publisher.take();
    assert!(
        matches!(&published[..], [DomainEvent::ContactRequestUpdated { request }] if request.status == RequestStatus::Expired),
        "told once, when it was written down: {published:?}"
    );
    assert_eq!(contacts_of(&world, two.caller).await, Vec::<String>::new());
    assert_eq!(sent(&world, one.caller, expired).await, [RequestStatus::Expired]);

    // A new one may be sent in either direction, over one that is over age but not written down.
    world.ask(one.caller, &two.handle).await;
    world.clock.advance(LIFETIME);
    world.publisher.take();
    let inverse = world.ask(two.caller, &one.handle).await;
    assert_eq!(inverse.status, RequestStatus::Pending, "nobody is asking any more");
    assert_eq!(world.publisher.take().len(), 2, "one has expired, one was received");
    world.clock.advance(LIFETIME);
    assert_eq!(world.ask(two.caller, &one.handle).await.status, RequestStatus::Pending);

    // Subscribers are notified without a request.
    world.ask(ann.caller, "ben").await;
    world.clock.advance(LIFETIME);
    world.publisher.take();
    assert_eq!(world.contacts.expire(world.clock.now()).await.unwrap(), 2);
    assert_eq!(world.publisher.take().len(), 2);
    assert_eq!(world.contacts.expire(world.clock.now()).await.unwrap(), 0);
    assert_eq!(sent(&world, ann.caller, expired).await.len(), 1);
}

/// A user's list holds what was sent to the user's agents; an agent's holds its own.
pub async fn requests_are_listed_for_their_recipients(world: World) {
    let (ann, one, ben, two) = people(&world).await;
    let sibling = world.agent(&ben, "Three").await;
    let mut expected = Vec::new();
    for (by, to) in [
        (Caller::from(ann.caller), "ben".to_owned()),
        (ann.caller.into(), two.handle.clone()),
        (one.caller.into(), two.handle.clone()),
        (one.caller.into(), sibling.handle.clone()),
    ] {
        let command = SendRequest {
            to: Handle::new(&format!("@{}", to.to_uppercase())).unwrap(),
            message: RequestMessage::given(Some(format!("hello {to}"))).unwrap(),
        };
        expected.insert(0, world.contacts.send(by, command).await.unwrap());
        world.clock.advance(Duration::from_secs(1));
    }
    world.ask(ben.caller, &one.handle).await;
    assert_eq!(expected[0].message.as_deref(), Some("hello ben/three"));
    assert_eq!((expected[0].requester.id, expected[0].recipient.id), (agent(&one), agent(&sibling)));
    assert_eq!(world.contacts.received_by_user(ben.caller, FIRST).await.unwrap().rows, expected);
    assert_eq!(world.contacts.received_by_agent(two.caller, FIRST).await.unwrap().rows, expected[1..3]);
    assert_eq!(world.contacts.received_by_agent(one.caller, FIRST).await.unwrap().total, Some(1));
    assert_eq!(world.contacts.received_by_user(ann.caller, FIRST).await.unwrap().total, Some(1));

    // The same by pages, and by position.
    let page = |slice| PageRequest { slice, count: true };
    let second = page(Slice::Numbered { number: 2, size: 3 });
    let listed = world.contacts.received_by_user(ben.caller, second).await.unwrap();
    assert_eq!((&listed.rows[..], listed.total), (&expected[3..], Some(4)));
    let first = page(Slice::After { after: None, limit: 1 });
    let next = world.contacts.received_by_user(ben.caller, first).await.unwrap().next;
    let rest = page(Slice::After { after: next, limit: 9 });
    assert_eq!(world.contacts.received_by_user(ben.caller, rest).await.unwrap().rows, expected[1..]);
}

/// Callers can neither see nor change requests of others.
pub async fn strangers_find_nothing(world: World) {
    let (ann, one, ben, two) = people(&world).await;
    let sibling = world.agent(&ann, "Sibling").await;
    let eve = world.user("eve").await;
    let evil = world.agent(&eve, "Evil").await;
    let request = world.ask(one.caller, &two.handle).await;
    let strangers: [Caller; 3] = [eve.caller.into(), evil.caller.into(), sibling.caller.into()];
    for by in strangers {
        for action in [RequestAction::Approve, RequestAction::Reject, RequestAction::Cancel] {
            assert_eq!(answer(&world, by, by_id(request.id), action).await, "not found");
        }
        assert_eq!(sent(&world, by, SentFilter::All).await, []);
        assert_eq!(contacts_of(&world, by).await, Vec::<String>::new());
    }
    let unknown = by_id(ContactRequestId::new(Uuid::from_u128(7)));
    assert_eq!(answer(&world, ben.caller, unknown, RequestAction::Approve).await, "not found");
    assert_eq!(world.contacts.received_by_user(eve.caller, FIRST).await.unwrap().total, Some(0));
    assert_eq!(world.contacts.received_by_agent(evil.caller, FIRST).await.unwrap().total, Some(0));
    assert_eq!(world.contacts.received_by_agent(sibling.caller, FIRST).await.unwrap().total, Some(0));
    assert_eq!(try_ask(&world, eve.caller, "nobody").await, Err(SendRefused::Unknown));
    assert_eq!(try_ask(&world, eve.caller, "eve/nobody").await, Err(SendRefused::Unknown));
    assert_eq!(try_ask(&world, eve.caller, "EVE").await, Err(SendRefused::Oneself));
    assert_eq!(try_ask(&world, evil.caller, "@eve/evil").await, Err(SendRefused::Oneself));
    assert_eq!(answer(&world, ben.caller, by_id(request.id), RequestAction::Approve).await, "approved");
}

/// Contacts are newest first, with what is known of them and whether they are there.
pub async fn contacts_are_listed_newest_first(world: World) {
    let (ann, one, ben, two) = people(&world).await;
    world.connect((ann.caller, "ann"), (ben.caller, "ben")).await;
    world.clock.advance(Duration::from_secs(1));
    world.connect((ann.caller, "ann"), (two.caller, &two.handle)).await;
    world.presence.connect(agent(&two));
    let rows = world.contacts.list(ann.caller, None, FIRST).await.unwrap().rows;
    let names = rows.iter().map(|row| (row.contact.with.name.as_str(), row.online)).collect::<Vec<_>>();
    assert_eq!(names, [("Two", true), ("ben Example", false)]);
    let (agent_row, user_row) = (&rows[0].contact.with, &rows[1].contact.with);
    assert_eq!((agent_row.description.as_deref(), agent_row.is_external), (Some("Two of ben"), Some(true)));
    assert_eq!((agent_row.email.as_deref(), agent_row.listed_in_directory), (None, Some(false)));
    assert_eq!((user_row.email.as_deref(), &user_row.description), (Some("ben@example.org"), &None));
    let first = PageRequest { slice: Slice::After { after: None, limit: 1 }, count: false };
    let next = world.contacts.list(ann.caller, None, first).await.unwrap().next;
    let rest = PageRequest { slice: Slice::After { after: next, limit: 9 }, count: false };
    let rest = world.contacts.list(ann.caller, None, rest).await.unwrap();
    assert_eq!((rest.rows.len(), rest.rows[0].contact.id, rest.total), (1, rows[1].contact.id, None));
    assert_eq!(contacts_of(&world, one.caller).await, Vec::<String>::new());

    let known = async |by: Caller, handle: &str| {
        let resolved = world.contacts.resolve(by, Handle::new(handle).unwrap()).await.unwrap();
        (resolved.profile.name, resolved.acquaintance)
    };
    let two_of_ben = "@Ben/TWO";
    assert_eq!(known(ann.caller.into(), two_of_ben).await, ("Two".to_owned(), Acquaintance::Contact));
    assert_eq!(known(one.caller.into(), two_of_ben).await, ("Two".to_owned(), Acquaintance::Stranger));
    assert_eq!(known(ben.caller.into(), two_of_ben).await, ("Two".to_owned(), Acquaintance::Household));
    assert_eq!(known(one.caller.into(), "ben").await.1, Acquaintance::Stranger);
    assert!(world.contacts.resolve(ann.caller, Handle::new("nobody").unwrap()).await.is_err());
}

/// With a deleted agent its contacts and its pending requests end, for those on the other side too.
pub async fn a_deleted_agent_is_nobodys_contact(world: World) {
    let (ann, one, ben, two) = people(&world).await;
    world.connect((one.caller, &one.handle), (two.caller, &two.handle)).await;
    world.connect((one.caller, &one.handle), (ann.caller, "ann")).await;
    let sent = world.ask(one.caller, "ben").await.id;
    let eve = world.user("eve").await;
    let received = world.ask(eve.caller, &one.handle).await.id;
    let others = world.ask(eve.caller, &two.handle).await.id;
    let record = world.contacts.list(two.caller, None, FIRST).await.unwrap().rows[0].contact.id;
    world.clock.advance(Duration::from_secs(1));
    world.publisher.take();

    world.accounts.delete_agent(ann.caller, one.id, false).await.unwrap();
    let published = world.publisher.take();
    let removed = |event: &&DomainEvent| matches!(event, DomainEvent::ContactRemoved { .. });
    assert_eq!(published.iter().filter(removed).count(), 2);
    let mut ended = Vec::new();
    for event in &published {
        match event {
            DomainEvent::ContactRemoved { owner, id } if *owner == agent(&two) => assert_eq!(*id, record),
            DomainEvent::ContactRequestUpdated { request } => {
                assert_eq!(
                    (request.status, request.responded_at),
                    (RequestStatus::Cancelled, Some(world.clock.now()))
                );
                ended.push(request.id);
            }
            _ => {}
        }
    }
    ended.sort();
    assert_eq!(ended, [sent, received]);
    for who in [Caller::from(ann.caller), two.caller.into()] {
        assert_eq!(contacts_of(&world, who).await, Vec::<String>::new());
    }
    assert_eq!(world.contacts.received_by_user(ben.caller, FIRST).await.unwrap().rows[0].id, others);
    assert_eq!(answer(&world, ben.caller, by_id(sent), RequestAction::Approve).await, "settled");
    assert_eq!(try_ask(&world, eve.caller, &one.handle).await, Err(SendRefused::Unknown));
    let all = world.contacts.sent(eve.caller, SentFilter::All, FIRST).await.unwrap().rows;
    assert_eq!(all[1].recipient.handle, one.handle, "what was asked is still known");
}
