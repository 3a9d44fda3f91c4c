use domain::delivery::DeliveryStatus;
use domain::id::Sequence;
use domain::push::{PushAuthentication, PushSecret};
use domain::webhook::WebhookUrl;

use super::*;
use crate::task::tests::{ann, asked, by_bot, message, tree};

/// A task with this number of answers.
fn task(status: DeliveryStatus, answers: u8) -> Tree {
    let answers = (2..2 + answers).map(|number| message(number, by_bot(), &[ann()], "Answer", Some(1)));
    tree(std::iter::once(asked(1, status, "")).chain(answers).collect())
}

fn known(sequence: i64, state: &str) -> Known {
    Known { sequence: Sequence::new(sequence), state: format!("TASK_STATE_{state}") }
}

/// The notifications that are sent: the kind of each, and what the receiver knows after it.
fn told(tree: &Tree, known: Option<&Known>) -> Vec<(&'static str, Known)> {
    let kind = |event: &StreamResponse| match event {
        StreamResponse::Task(task) => {
            assert!(task.history.is_none() && task.artifacts.is_some());
            "task"
        }
        StreamResponse::ArtifactUpdate(_) => "artifact",
        StreamResponse::StatusUpdate(_) => "status",
        StreamResponse::Message(_) => "message",
    };
    news(tree, known).map(|(event, known)| (kind(&event), known)).collect()
}

#[test]
fn only_what_the_receiver_does_not_know_is_told() {
    let working = task(DeliveryStatus::Processing, 1);
    assert_eq!(told(&working, None), [("task", known(2, "WORKING"))]);
    assert_eq!(told(&working, Some(&known(2, "WORKING"))), []);
    assert_eq!(
        told(&working, Some(&known(1, "SUBMITTED"))),
        [("artifact", known(2, "SUBMITTED")), ("status", known(2, "WORKING")),]
    );
    let done = task(DeliveryStatus::Processed, 3);
    let all = told(&done, Some(&known(2, "WORKING")));
    assert_eq!(
        all,
        [
            ("artifact", known(3, "WORKING")),
            ("artifact", known(4, "WORKING")),
            ("status", known(4, "COMPLETED")),
        ]
    );
    for (number, (_, known)) in all.iter().enumerate() {
        assert_eq!(told(&done, Some(known)), all[number + 1..], "it goes on where it stopped");
    }
}

#[test]
fn a_receiver_recognizes_the_server() {
    let secret = |text: &str| Some(PushSecret::new(text.to_owned()).unwrap());
    let authentication =
        |credentials| Some(PushAuthentication::new("Basic".to_owned(), credentials).unwrap());
    let url = || WebhookUrl::checked("https://receiver.example/".to_owned());
    for (token, authentication, headers) in [
        (None, None, vec![]),
        (secret("t"), authentication(None), vec![("x-a2a-notification-token", "t")]),
        (None, authentication(secret("YTpi")), vec![("authorization", "Basic YTpi")]),
    ] {
        let target = PushTarget { url: url(), token, authentication };
        let request = request(&target, "{}".to_owned());
        let sent = request.headers.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>();
        assert_eq!(sent, headers);
        assert_eq!(request.body, b"{}");
    }
}

#[test]
fn a_turn_holds_a_few_notifications() {
    let known = known(1, "SUBMITTED");
    for (answers, ready, has_more) in [(3, 4, false), (9, 10, false), (10, 10, true), (100, 10, true)] {
        let batch = Batch::of(&task(DeliveryStatus::Processed, answers), Some(&known));
        assert_eq!((batch.ready.len(), batch.has_more), (ready, has_more), "{answers}");
    }
    let large = "x".repeat(BYTES_AT_ONCE / 2);
    let answers = (2..10).map(|number| message(number, by_bot(), &[ann()], &large, Some(1)));
    let tree = tree(std::iter::once(asked(1, DeliveryStatus::New, "")).chain(answers).collect());
    let batch = Batch::of(&tree, Some(&known));
    assert_eq!((batch.ready.len(), batch.has_more), (2, true));
    let batch = Batch::of(&tree, None);
    assert!(batch.ready[0].0.starts_with(r#"{"task":{"#));
    assert_eq!((batch.ready.len(), batch.has_more), (1, false), "the whole task is one notification");
}
