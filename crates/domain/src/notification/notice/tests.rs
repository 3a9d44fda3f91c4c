use uuid::Uuid;

use super::*;
use crate::attention::{Adapter, AttentionItem};
use crate::id::{AgentId, NotificationChannelId, ParticipantId, UserId};
use crate::notification::{ChannelSettings, ChannelTarget, Notification, NotificationChannel};
use crate::time::Timestamp;

fn asker(name: &str) -> Asker {
    let id = ParticipantId::Agent(AgentId::new(Uuid::from_u128(3)));
    Asker { id, handle: Some("ann/bot".to_owned()), name: name.to_owned() }
}

fn item(kind: AttentionKind, summary: &str) -> AttentionItem {
    AttentionItem {
        message: MessageId::new(Uuid::from_u128(1)),
        kind,
        is_blocking: false,
        chat: ChatId::new(Uuid::from_u128(2)),
        title: Some("The room".to_owned()),
        sender: asker("Bot"),
        summary: summary.to_owned(),
        default: None,
        approval: None,
        created_at: Timestamp::from_micros(0),
        expires_at: None,
        ended: None,
        answered_by: None,
        answer: None,
    }
}

fn subject(content: SubjectContent) -> Subject {
    let now = Timestamp::from_micros(0);
    let settings =
        ChannelSettings { content: ShownContent::None, quiet: None, digest_minutes: 0, has_links: true };
    let channel = NotificationChannel::new(
        NotificationChannelId::NIL,
        UserId::NIL,
        ChannelTarget::Email,
        settings,
        now,
    );
    let kind = match &content {
        SubjectContent::Item(_) => NotificationKind::Attention,
        SubjectContent::Mention { .. } => NotificationKind::Mention,
        SubjectContent::Test => NotificationKind::Test,
    };
    let place = (ChatId::new(Uuid::from_u128(2)), MessageId::new(Uuid::from_u128(1)));
    let notification = Notification::new(NotificationId::NIL, &channel, kind, place, now);
    Subject { notification, content }
}

fn of_item(item: AttentionItem) -> Subject {
    subject(SubjectContent::Item(Box::new(item)))
}

fn mention(title: &str, name: &str, summary: &str) -> Subject {
    let (title, summary) = (Some(title.to_owned()), summary.to_owned());
    subject(SubjectContent::Mention { title, sender: asker(name), summary })
}

#[test]
fn no_more_of_a_room_is_shown_than_its_user_allows() {
    let secret = |shown| {
        let notice = notice_of(&[of_item(item(AttentionKind::Question, "Which key?"))], shown);
        (notice.title(), notice.lines())
    };
    let title = "A question waits for your answer".to_owned();
    let (room, from) = ("Room: The room".to_owned(), "From: Bot (@ann/bot)".to_owned());
    assert_eq!(secret(ShownContent::None), (title.clone(), vec![]));
    assert_eq!(secret(ShownContent::Title), (title.clone(), vec![room.clone(), from.clone()]));
    assert_eq!(secret(ShownContent::Excerpt), (title, vec![room, from, "Which key?".to_owned()]));
    for kind in AttentionKind::ALL {
        let notice = notice_of(&[of_item(item(kind, "secret"))], ShownContent::None);
        assert!(!format!("{notice:?}").contains("secret"), "{kind:?}");
        assert!(!format!("{notice:?}").contains("The room"), "{kind:?}");
    }
}

#[test]
fn a_digest_has_a_line_for_each() {
    let waits = AttentionItem { is_blocking: true, ..item(AttentionKind::Review, "Look") };
    let subjects = [of_item(waits), mention("Other", "Ann", "@ben hi")];
    let notice = notice_of(&subjects, ShownContent::Excerpt);
    assert_eq!(notice.title(), "2 notifications");
    assert_eq!(
        notice.lines(),
        [
            "- A review waits for you, in The room, from Bot (@ann/bot): Look",
            "- You were mentioned, in Other, from Ann (@ann/bot): @ben hi",
        ]
    );
    assert!(notice.is_blocking());
    let alone = notice_of(&subjects[..1], ShownContent::None);
    assert_eq!(alone.title(), "A review waits for you, and somebody waits for it");
}

#[test]
fn hostile_names_are_one_line_of_text() {
    let hostile = "a\r\nBcc: x@y.example\u{0}\u{202e}\u{2028}<b>\t b";
    assert_eq!(one_line(hostile, 100), "a Bcc: x@y.example <b> b");
    assert_eq!(one_line("abc def", 5), "abc d\u{2026}");
    assert_eq!(one_line("abc", 3), "abc");
    assert_eq!(one_line(" \r\n", 3), "");
    let notice = notice_of(&[mention(hostile, hostile, hostile)], ShownContent::Excerpt);
    for line in notice.lines().into_iter().chain([notice.title()]) {
        assert!(!line.chars().any(|c| c.is_control() || is_format(c)), "{line:?}");
    }
}

#[test]
fn only_what_was_shown_in_full_is_approved_by_a_link() {
    let approval = |summary: &str| AttentionItem {
        approval: Some((Adapter::ALL[0], "a-1".to_owned())),
        is_blocking: true,
        ..item(AttentionKind::Approval, summary)
    };
    let decline = NotificationAction::Decide(Decision::Decline);
    let actions = |item: AttentionItem, shown| actions_of(&SubjectContent::Item(Box::new(item)), shown);
    let all = actions(approval("Run ls"), ShownContent::Excerpt);
    assert!(all.contains(&NotificationAction::Decide(Decision::Approve)) && all.contains(&decline));
    for shown in [ShownContent::None, ShownContent::Title] {
        assert_eq!(actions(approval("Run ls"), shown), [decline]);
    }
    assert_eq!(actions(approval(&"x".repeat(EXCERPT_CHARS + 1)), ShownContent::Excerpt), [decline]);
    let question = item(AttentionKind::Question, "Go?");
    assert_eq!(actions(question.clone(), ShownContent::None), [NotificationAction::Dismiss]);
    let waits = AttentionItem { is_blocking: true, ..question };
    assert_eq!(actions(waits, ShownContent::Excerpt), [], "it takes a text");
    let held = AttentionItem { is_blocking: true, ..item(AttentionKind::Held, "Held") };
    assert_eq!(actions(held, ShownContent::None), [NotificationAction::Dismiss]);
    assert_eq!(actions_of(&SubjectContent::Test, ShownContent::Excerpt), []);
    assert_eq!(actions_of(&mention("a", "b", "c").content, ShownContent::Excerpt), []);
}
