use uuid::Uuid;

use super::*;
use crate::id::{ChatId, MessageId, NotificationId};
use crate::notification::{Notification, NotificationLease, NotificationOutcome, SettleNotifications, batch};

const MINUTE: Duration = Duration::from_secs(60);

fn now() -> Timestamp {
    Timestamp::parse("2026-01-10T12:00:00Z").unwrap()
}

fn settings() -> ChannelSettings {
    ChannelSettings { content: ShownContent::None, quiet: None, digest_minutes: 0, has_links: false }
}

fn channel() -> NotificationChannel {
    let id = NotificationChannelId::new(Uuid::from_u128(7));
    NotificationChannel::new(id, UserId::NIL, ChannelTarget::Email, settings(), now())
}

fn notification(channel: &NotificationChannel, number: u128, at: Timestamp) -> Notification {
    let message = MessageId::new(Uuid::from_u128(number));
    let id = NotificationId::new(Uuid::from_u128(number));
    Notification::new(id, channel, NotificationKind::Mention, (ChatId::NIL, message), at)
}

fn failed() -> SendResult {
    SendResult::Failed { status: Some(503), error: "status 503".to_owned(), retry_after: None }
}

#[test]
fn notifications_wait_for_a_digest_and_for_quiet_hours() {
    let quiet = Some("12:30-14:00 UTC".parse().unwrap());
    for (digest_minutes, quiet, minutes) in [
        (0, None, 0),
        (10, None, 10),
        (0, quiet, 0),
        // The digest would come when it is quiet.
        (45, quiet, 120),
        (180, quiet, 180),
    ] {
        let settings = ChannelSettings { quiet, digest_minutes, ..settings() };
        assert_eq!(settings.due_at(now()), now().plus(MINUTE * minutes), "{digest_minutes} {quiet:?}");
        let channel = NotificationChannel { settings, ..channel() };
        let made = notification(&channel, 1, now());
        assert_eq!((made.due_at, made.is_gathered), (now().plus(MINUTE * minutes), minutes > 0));
        assert_eq!(channel.due_at(NotificationKind::Test, now()), now());
    }
}

#[test]
fn what_has_waited_is_sent_together_and_all_else_alone() {
    let (one, quiet) = (channel(), ChannelSettings { digest_minutes: 5, ..settings() });
    let gathering = NotificationChannel { settings: quiet, ..channel() };
    let single = [1, 2, 3].map(|number| notification(&one, number, now()));
    let waiting = [4, 5].map(|number| notification(&gathering, number, now()));
    let mixed = |all: &[&Notification]| batch(all.iter().map(|one| (*one).clone()).collect());
    assert_eq!(mixed(&[&single[0], &waiting[0], &single[1]]), single[..1]);
    assert_eq!(mixed(&[&waiting[0], &single[2], &waiting[1]]), waiting);
    assert_eq!(batch(Vec::new()), []);
    let many = (0..200).map(|number| notification(&gathering, number, now())).collect::<Vec<_>>();
    assert_eq!(batch(many.clone()), many[..50]);
}

#[test]
fn a_channel_is_due_when_something_waits_and_no_sender_works_on_it() {
    let mut one = channel();
    assert!(!one.is_due(now()));
    one.wait_for(now().plus(MINUTE));
    one.wait_for(now().plus(MINUTE * 2));
    assert!(!one.is_due(now()) && one.is_due(now().plus(MINUTE)));
    one.begin(now());
    assert!(!one.is_due(now().plus(LEASE).minus(Duration::from_secs(1))));
    assert!(one.is_due(now().plus(LEASE)), "its sender has died");
    one.apply(&SendResult::Delivered { status: None }, None, now());
    assert_eq!((one.next_at, one.leased_until), (None, None));
}

#[test]
fn what_fails_is_tried_again_until_the_channel_is_switched_off() {
    let mut one = channel();
    let mut open = [notification(&one, 1, now()), notification(&one, 2, now())];
    let settle = |one: &mut NotificationChannel, open: &mut [Notification], result, now| {
        one.begin(now);
        open[0].begin(now);
        let lease = NotificationLease { channel: one.id, attempt: one.attempts };
        assert!(lease.holds(one));
        let next = open.get(1).map(|next| next.due_at);
        SettleNotifications { lease, sent: vec![open[0].id], result, now }.apply(one, &mut open[..1], next);
        assert!(!lease.holds(one));
    };
    settle(&mut one, &mut open, failed(), now());
    assert_eq!((one.status(), one.failures, open[0].status, open[0].ended), ("failing", 1, Some(503), None));
    let retried_at = one.next_at.unwrap();
    assert!(retried_at > now() && retried_at <= now().plus(MINUTE), "{retried_at}");
    one.wait_for(now());
    assert_eq!(one.next_at, Some(retried_at), "new notifications do not hurry it");
    settle(&mut one, &mut open, SendResult::Later(MINUTE), now());
    assert_eq!((one.next_at, open[0].attempts), (Some(now().plus(MINUTE)), 1));
    settle(&mut one, &mut open, SendResult::Delivered { status: Some(200) }, now());
    assert_eq!((one.status(), one.next_at), ("active", Some(open[1].due_at)));
    assert_eq!(open[0].state(), "delivered");
    let mut open = [open[1].clone()];
    settle(&mut one, &mut open, failed(), now());
    settle(&mut one, &mut open, failed(), now().plus(DISABLED_AFTER));
    assert_eq!(one.status(), "failing", "two failures that are far apart prove nothing");
    for _ in 2..LEAST_FAILURES {
        settle(&mut one, &mut open, failed(), now().plus(DISABLED_AFTER));
    }
    let off = one.off.clone().unwrap();
    assert_eq!((off.reason, off.note.as_deref()), (ChannelEnd::Failing, Some("status 503")));
    assert_eq!((one.next_at, open[0].state()), (None, "dropped"));
}

#[test]
fn a_receiver_that_refuses_for_good_ends_the_channel() {
    let mut one = channel();
    let mut open = [notification(&one, 1, now())];
    one.begin(now());
    let lease = NotificationLease { channel: one.id, attempt: one.attempts };
    let result = SendResult::Refused { status: Some(550), error: "550 no such user".to_owned() };
    let settled = SettleNotifications { lease, sent: vec![open[0].id], result, now: now() };
    settled.apply(&mut one, &mut open, None);
    assert_eq!(one.off.as_ref().map(|off| off.reason), Some(ChannelEnd::Refused));
    assert_eq!(open[0].error.as_deref(), Some("550 no such user"));
    assert_eq!(open[0].ended.as_ref().map(|end| end.outcome), Some(NotificationOutcome::Dropped));
    assert!(!one.is_due(now().plus(LEASE)));
    let on = ChannelChanges { is_on: Some(true), ..ChannelChanges::default() };
    let later = now().plus(MINUTE);
    assert!(one.change(&on, later));
    assert_eq!((one.status(), one.seen_at, one.updated_at), ("active", later, later));
    assert!(!one.change(&on, later), "it is on");
}

#[test]
fn answers_of_receivers_are_understood() {
    let answered = |status| Reply::Answered { status, retry_after: Some(MINUTE) };
    let of = |kind, status| SendResult::of_reply(kind, &answered(status));
    for kind in ChannelKind::ALL {
        assert_eq!(of(kind, 204), SendResult::Delivered { status: Some(204) });
        assert!(matches!(of(kind, 410), SendResult::Refused { status: Some(410), .. }));
        let is_refused = matches!(of(kind, 404), SendResult::Refused { .. });
        assert_eq!(is_refused, kind == ChannelKind::WebPush, "{kind:?}");
        for status in [301, 400, 401, 403, 429, 500] {
            let failed = of(kind, status);
            assert!(
                matches!(failed, SendResult::Failed { status: Some(s), retry_after: Some(MINUTE), .. } if s == status),
                "{failed:?}"
            );
        }
    }
}
