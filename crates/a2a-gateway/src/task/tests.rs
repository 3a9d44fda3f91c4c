use domain::chat::Named;
use domain::delivery::{
    Attempt, AttemptNumber, AttemptState, DeadLetterReason, Delivery, DeliveryReceipt, FailureText, HeldBy,
    ReceiptAgent,
};
use domain::id::UserId;
use domain::message::{Cause, Mention, MentionKind, NewMessage, Place};
use serde_json::Map;

use super::*;

const ROOM: &str = "0190c5a4-0000-7000-8000-0000000000f0";

fn id(number: u8) -> String {
    format!("0190c5a4-0000-7000-8000-{number:012}")
}

fn message_id(number: u8) -> MessageId {
    MessageId::parse(&id(number)).unwrap()
}

pub(crate) fn ann() -> ParticipantId {
    ParticipantId::User(UserId::parse(&id(201)).unwrap())
}

fn bot() -> AgentId {
    AgentId::parse(&id(202)).unwrap()
}

pub(crate) fn by_bot() -> ParticipantId {
    ParticipantId::Agent(bot())
}

fn other() -> ParticipantId {
    ParticipantId::Agent(AgentId::parse(&id(203)).unwrap())
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn mention(who: ParticipantId) -> Mention {
    Mention { id: who, handle: "ann/bot".to_owned(), name: "Bot".to_owned(), kind: MentionKind::Mention }
}

/// A message with this number, which follows from another one.
pub(crate) fn message(
    number: u8,
    sender: ParticipantId,
    to: &[ParticipantId],
    text: &str,
    cause: Option<u8>,
) -> Message {
    let place =
        |cause| Place { message: Some(message_id(cause)), root: message_id(1), hop: 1, originator: ann() };
    let mentions = to.iter().copied().map(mention).collect::<Vec<_>>();
    let markers = mentions.iter().flat_map(|mention| [mention.marker(), " ".to_owned()]).collect::<String>();
    let agents = to.iter().filter_map(|who| who.agent());
    let named = Named { id: sender, handle: String::new(), name: "Name".to_owned(), is_external: None };
    let (id, room, at) = (message_id(number), ChatId::parse(ROOM).unwrap(), at(number.into()));
    let new = NewMessage::new(id, room, named, MessageKind::Text, format!("{markers}{text}"), at);
    Message {
        mentions,
        cause: cause.map_or(Cause::None, |cause| Cause::Known(place(cause))),
        sender_handle: None,
        deliveries: agents.map(Delivery::new).collect(),
        ..new.into_message(Sequence::new(number.into()), at)
    }
}

/// The task with these messages; the newest request decides.
pub(crate) fn tree(messages: Vec<Message>) -> Tree {
    let task = TaskId { room: ChatId::parse(ROOM).unwrap(), first: message_id(1) };
    let asked = messages.iter().rev().find(|message| is_request(message, ann(), bot())).unwrap();
    let agent = ReceiptAgent {
        id: bot(),
        handle: String::new(),
        name: String::new(),
        is_external: true,
        in_chat: true,
        is_stopped: false,
        is_paused: false,
    };
    let receipt = DeliveryReceipt::of(&asked.deliveries[0], agent, asked.created_at, None, 0);
    let outcome = Outcome {
        status: receipt.status,
        since: receipt.changed_at,
        is_cancelled: receipt.is_cancelled,
        has_left: false,
    };
    Tree { id: task, caller: ann(), agent: bot(), messages, outcome }
}

/// A request of Ann with its delivery in this state.
pub(crate) fn asked(number: u8, status: DeliveryStatus, reason: &str) -> Message {
    let mut message = message(number, ann(), &[by_bot()], "Do it", (number > 1).then_some(1));
    let new = || Delivery::new(bot());
    let begun = || {
        let attempts = vec![attempt(at(50))];
        Delivery::restore(bot(), true, Some(at(40)), attempts).unwrap()
    };
    let text = FailureText::new("no model".to_owned()).unwrap();
    message.deliveries = vec![match status {
        DeliveryStatus::New => new(),
        DeliveryStatus::Delivered => new().delivered(at(40)),
        DeliveryStatus::Processing => begun(),
        DeliveryStatus::Processed => begun().succeed(at(60)).unwrap(),
        DeliveryStatus::Failed => begun().fail(&text, at(60)).unwrap(),
        DeliveryStatus::Dead => {
            let reason = DeadLetterReason::new(reason.to_owned()).ok();
            let reason = reason.unwrap_or_else(DeadLetterReason::cancelled);
            new().dead_letter(&reason, at(70)).unwrap()
        }
        DeliveryStatus::Held => new().held(HeldBy::MaxHops, at(1)),
    }];
    assert_eq!(message.deliveries[0].status(), status);
    message
}

fn attempt(started_at: Timestamp) -> Attempt {
    Attempt { number: AttemptNumber::FIRST, started_at, state: AttemptState::Open }
}

fn event(number: u8, kind: &str) -> Message {
    let metadata = Map::from_iter([("kind".to_owned(), json!(kind))]);
    Message {
        kind: MessageKind::Attention,
        metadata: Some(metadata),
        content: "Which one?".to_owned(),
        deliveries: Vec::new(),
        ..message(number, by_bot(), &[], "", Some(1))
    }
}

#[test]
fn the_state_follows_the_ledger() {
    for (status, reason, state, since) in [
        (DeliveryStatus::New, "", TaskState::Submitted, 1),
        (DeliveryStatus::Delivered, "", TaskState::Submitted, 40),
        (DeliveryStatus::Held, "", TaskState::Submitted, 1),
        (DeliveryStatus::Processing, "", TaskState::Working, 50),
        (DeliveryStatus::Processed, "", TaskState::Completed, 60),
        (DeliveryStatus::Failed, "", TaskState::Failed, 60),
        (DeliveryStatus::Dead, "not needed", TaskState::Failed, 70),
        (DeliveryStatus::Dead, "", TaskState::Canceled, 70),
    ] {
        let tree = tree(vec![asked(1, status, reason)]);
        let found = tree.state();
        assert_eq!((found.state.clone(), found.since), (state.clone(), at(since)), "{status:?} {reason}");
        let shown = tree.status();
        let time = shown.timestamp.unwrap().timestamp();
        assert_eq!((shown.state, time, shown.message), (state, since, None));
    }
}

#[test]
fn an_agent_that_has_left_fails_what_it_has_not_done() {
    for (status, state) in [
        (DeliveryStatus::New, TaskState::Failed),
        (DeliveryStatus::Processing, TaskState::Failed),
        (DeliveryStatus::Processed, TaskState::Completed),
    ] {
        let mut tree = tree(vec![asked(1, status, "")]);
        tree.outcome.has_left = true;
        assert_eq!(tree.state().state, state, "{status:?}");
    }
}

#[test]
fn the_newest_request_counts() {
    let messages = vec![
        asked(1, DeliveryStatus::Processed, ""),
        message(2, by_bot(), &[ann()], "Done", Some(1)),
        asked(3, DeliveryStatus::New, ""),
    ];
    assert_eq!(tree(messages.clone()).state().state, TaskState::Submitted);
    let to_another = message(4, ann(), &[other()], "And you?", Some(1));
    assert_eq!(tree([messages, vec![to_another]].concat()).state().state, TaskState::Submitted);
}

#[test]
fn an_agent_that_asks_back_waits_for_an_answer() {
    let asks = |status, after: Vec<Message>| {
        let messages = [vec![asked(1, status, "")], after].concat();
        let tree = tree(messages);
        let Derived { state, message, .. } = tree.state();
        (state, message.map(|message| message.sequence.get()))
    };
    let (processing, processed) = (DeliveryStatus::Processing, DeliveryStatus::Processed);
    let answer = |number| message(number, by_bot(), &[ann()], "Here", Some(1));
    let aside = message(3, by_bot(), &[other()], "Help me", Some(1));
    let demand = Message { respond_by: Some(at(900)), ..answer(2) };
    for (status, after, state, question) in [
        (processing, vec![event(2, "question")], TaskState::InputRequired, Some(2)),
        (processed, vec![event(2, "question")], TaskState::InputRequired, Some(2)),
        (processing, vec![event(2, "question"), aside], TaskState::InputRequired, Some(2)),
        (processing, vec![demand], TaskState::InputRequired, Some(2)),
        (processing, vec![event(2, "question"), answer(3)], TaskState::Working, None),
        (processed, vec![answer(2), event(3, "question")], TaskState::InputRequired, Some(3)),
        (processing, vec![event(2, "assumption")], TaskState::Working, None),
        (DeliveryStatus::Failed, vec![event(2, "question")], TaskState::Failed, None),
        (processing, vec![event(2, "question"), asked(3, processing, "")], TaskState::Working, None),
    ] {
        assert_eq!(asks(status, after.clone()), (state, question), "{status:?} {after:?}");
    }
}

#[test]
fn what_follows_from_the_first_message_belongs_to_the_task() {
    let root = message_id(1);
    let from = |number, cause| message(number, by_bot(), &[ann()], "x", cause);
    let elsewhere = |number, cause| {
        let place =
            Place { message: Some(message_id(cause)), root: message_id(99), hop: 1, originator: other() };
        Message { cause: Cause::Known(place), ..from(number, None) }
    };
    let read = vec![
        from(1, None),
        from(2, None),
        from(3, Some(1)),
        from(4, Some(3)),
        // What it follows from cannot be read, but its root is known.
        from(5, Some(77)),
        elsewhere(6, 2),
        elsewhere(7, 4),
    ];
    let members = Tree::members(root, read).iter().map(|message| message.sequence.get()).collect::<Vec<_>>();
    assert_eq!(members, [1, 3, 4, 5, 7]);
}

#[test]
fn texts_of_the_agent_are_artifacts_and_all_texts_are_history() {
    let messages = vec![
        asked(1, DeliveryStatus::Processed, ""),
        message(2, by_bot(), &[ann()], "First", Some(1)),
        event(3, "assumption"),
        message(4, other(), &[by_bot()], "Aside", Some(2)),
        message(5, by_bot(), &[ann(), other()], "Second", Some(1)),
    ];
    let tree = tree(messages);
    let task = tree.task(None, true);
    let text = |parts: &[Part]| parts[0].as_text().unwrap().to_owned();
    let artifacts = task.artifacts.unwrap();
    let shown = artifacts.iter().map(|artifact| (artifact.artifact_id.clone(), text(&artifact.parts)));
    assert_eq!(shown.collect::<Vec<_>>(), [(id(2), "First".to_owned()), (id(5), "Second".to_owned())]);
    let history = task.history.unwrap();
    let shown = history.iter().map(|message| (message.role.clone(), text(&message.parts)));
    let expected =
        [(Role::User, "Do it"), (Role::Agent, "First"), (Role::Agent, "Aside"), (Role::Agent, "Second")];
    assert_eq!(shown.collect::<Vec<_>>(), expected.map(|(role, text)| (role, text.to_owned())));
    assert_eq!((task.id, task.context_id), (format!("{ROOM}.{}", id(1)), ROOM.to_owned()));
    assert_eq!(task.metadata.unwrap()["sequence"], 5);
    let newest = tree.task(Some(1), false);
    assert_eq!((newest.history.unwrap().len(), newest.artifacts), (1, None));
    assert_eq!(tree.task(Some(0), true).history, None);
}

/// The caller knows its own texts by the ids that it gave them, and nobody else's.
#[test]
fn texts_of_the_caller_keep_their_ids() {
    let named = |message: Message| {
        let metadata = json!({"client_id": "first"});
        Message { metadata: metadata.as_object().cloned(), ..message }
    };
    let messages = vec![
        named(asked(1, DeliveryStatus::Processed, "")),
        named(message(2, other(), &[by_bot()], "Aside", Some(1))),
        message(3, by_bot(), &[ann()], "Done", Some(1)),
    ];
    let history = tree(messages).task(None, true).history.unwrap();
    let ids = history.into_iter().map(|message| message.message_id).collect::<Vec<_>>();
    assert_eq!(ids, ["first".to_owned(), id(2), id(3)]);
}

#[test]
fn a_client_goes_on_where_it_stopped() {
    let messages = vec![
        asked(1, DeliveryStatus::Processing, ""),
        message(4, by_bot(), &[ann()], "First", Some(1)),
        message(7, by_bot(), &[ann()], "Second", Some(1)),
    ];
    let human = tree(messages.clone());
    let answers = |tree: &Tree, event: &str| {
        tree.answers(tree.known_after(event)).map(|answer| answer.sequence.get()).collect::<Vec<_>>()
    };
    for (event, expected) in
        [("0", &[4, 7][..]), ("4", &[7]), ("7", &[]), ("99", &[]), ("-5", &[4, 7]), ("x", &[4, 7])]
    {
        assert_eq!(answers(&human, event), expected, "{event}");
    }
    assert_eq!(
        (human.event_id(Sequence::new(4)), human.event_id(Sequence::new(5))),
        ("4".into(), "5".into())
    );
    // A sequence would tell an agent how much is said that it cannot read.
    let agent = Tree { caller: other(), ..human };
    assert_eq!(agent.event_id(Sequence::new(5)), id(4));
    assert_eq!(answers(&agent, &id(4)), [7]);
    assert_eq!(answers(&agent, "4"), [4, 7]);
    assert_eq!(agent.metadata(Sequence::new(5)), None);
}

#[test]
fn only_ids_of_tasks_are_read() {
    let task = TaskId { room: ChatId::parse(ROOM).unwrap(), first: message_id(1) };
    assert_eq!(TaskId::parse(&task.to_string()), Some(task));
    for bad in ["", ".", "x", ROOM, &format!("{ROOM}."), &format!("{ROOM}.{}.{}", id(1), id(2))] {
        assert_eq!(TaskId::parse(bad), None, "{bad}");
    }
}
