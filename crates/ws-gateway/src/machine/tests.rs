//! The control events, frame by frame.

use super::*;
use domain::caller::{AgentCaller, UserCaller};
use domain::delivery::Claims;
use domain::id::{AgentId, OrganizationId, UserId, parse_uuid};

const A1: &str = "0190c5a4-0000-7000-8000-0000000000a1";
const A2: &str = "0190c5a4-0000-7000-8000-0000000000a2";
const U1: &str = "0190c5a4-0000-7000-8000-0000000000f1";
const R1: &str = "0190c5a4-0000-7000-8000-0000000000c1";

const HOUSE: OrganizationId = OrganizationId::new(uuid::Uuid::nil());

fn agent() -> Machine {
    let (agent, owner) = (AgentId::new(parse_uuid(A1).unwrap()), UserId::new(parse_uuid(U1).unwrap()));
    Machine::new(
        Version::V2,
        Caller::Agent(AgentCaller { agent, owner, organization: HOUSE, claims: Claims::Shared }),
        100,
    )
}

fn user() -> Machine {
    let user = UserId::new(parse_uuid(U1).unwrap());
    Machine::new(Version::V2, Caller::User(UserCaller { user, organization: HOUSE }), 100)
}

/// Handles a text, grants every join, and returns the texts that go out.
fn sent(connection: &mut Machine, subscription: u64, text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for action in connection.on_text(text) {
        match action {
            Action::Send(text) | Action::Refuse(text, _) => out.push(text),
            Action::Authorize(join) => {
                let decision = JoinDecision::Granted {
                    response: "{}".to_owned(),
                    subscription: SubscriptionId::new(subscription),
                };
                let actions = connection.on_decision(join, decision);
                out.extend(actions.into_iter().filter_map(|action| match action {
                    Action::Send(text) | Action::Refuse(text, _) => Some(text),
                    _ => None,
                }));
            }
            Action::Unsubscribe(..) => {}
            Action::Unreadable => out.push("unreadable".to_owned()),
        }
    }
    out
}

fn ok(join_ref: &str, reference: &str, topic: &str) -> String {
    format!(r#"[{join_ref},{reference},"{topic}","phx_reply",{{"status":"ok","response":{{}}}}]"#)
}

fn error(join_ref: &str, reference: &str, topic: &str, reason: &str) -> String {
    format!(
        r#"[{join_ref},{reference},"{topic}","phx_reply",{{"status":"error","response":{{"reason":"{reason}"}}}}]"#
    )
}

fn join(join_ref: &str, topic: &str) -> String {
    format!(r#"["{join_ref}","{join_ref}","{topic}","phx_join",{{}}]"#)
}

#[test]
fn heartbeat() {
    let out = sent(&mut agent(), 1, r#"[null,"4","phoenix","heartbeat",{}]"#);
    assert_eq!(out, [ok("null", r#""4""#, "phoenix")]);
}

#[test]
fn own_topics_are_joined_and_others_refused() {
    let mut connection = agent();
    let own = format!("agent_control:{A1}");
    assert_eq!(sent(&mut connection, 1, &join("1", &own)), [ok(r#""1""#, r#""1""#, &own)]);
    for topic in [format!("agent_control:{A2}"), format!("user_rooms:{U1}"), format!("room_activity:{R1}")] {
        let out = sent(&mut connection, 1, &join("2", &topic));
        assert_eq!(out, [error(r#""2""#, r#""2""#, &topic, "unauthorized")]);
    }
    assert_eq!(
        sent(&mut connection, 1, &join("3", "chat_room:x"))[0],
        error(r#""3""#, r#""3""#, "chat_room:x", "unauthorized")
    );
    for topic in ["nonsense:1", "chat_room"] {
        assert_eq!(
            sent(&mut connection, 1, &join("4", topic)),
            [error(r#""4""#, r#""4""#, topic, "unmatched topic")]
        );
    }
}

#[test]
fn a_refused_room_is_not_joined() {
    let mut connection = agent();
    let topic = format!("chat_room:{R1}");
    let Some(Action::Authorize(pending)) = connection.on_text(&join("1", &topic)).pop() else { panic!() };
    assert!(pending.chat.is_some());
    let out = connection.on_decision(pending, JoinDecision::Refused("unauthorized"));
    assert_eq!(out, [Action::Refuse(error(r#""1""#, r#""1""#, &topic, "unauthorized"), "unauthorized")]);
    assert_eq!(connection.topics().count(), 0);
}

/// The owner of the agent sees the reason, also one that clients are not told.
#[test]
fn a_refused_join_carries_its_reason() {
    let mut connection = agent().with_boards(false);
    let topic = format!("room_tasks:{R1}");
    let refused = error(r#""1""#, r#""1""#, &topic, "unauthorized");
    assert_eq!(connection.on_text(&join("1", &topic)), [Action::Refuse(refused, "boards are turned off")]);
    let out = connection.on_text(&join("1", "nothing:1"));
    assert!(matches!(out.as_slice(), [Action::Refuse(_, "unmatched topic")]), "{out:?}");
}

#[test]
fn references_come_back_as_they_were() {
    let topic = format!("agent_rooms:{A1}");
    assert_eq!(sent(&mut agent(), 1, &join("007", &topic)), [ok(r#""007""#, r#""007""#, &topic)]);
    let numbers = format!(r#"[1,1,"{topic}","phx_join",{{}}]"#);
    assert_eq!(sent(&mut agent(), 1, &numbers), [ok(r#""1""#, r#""1""#, &topic)]);
}

#[test]
fn leaving() {
    let mut connection = agent();
    let topic = format!("chat_room:{R1}");
    sent(&mut connection, 1, &join("1", &topic));
    let leave = format!(r#"["1","5","{topic}","phx_leave",{{}}]"#);
    let close = format!(r#"["1","1","{topic}","phx_close",{{}}]"#);
    assert_eq!(sent(&mut connection, 1, &leave), [ok(r#""1""#, r#""5""#, &topic), close]);
    assert_eq!(sent(&mut connection, 1, &leave), [ok("null", r#""5""#, &topic)], "never joined, or no more");
    let TopicName::Topic(parsed) = Topic::parse(&topic) else { panic!() };
    assert_eq!(connection.on_event(parsed, SubscriptionId::new(1), "message_created", "{}"), None);
    assert_eq!(sent(&mut connection, 2, &join("8", &topic)), [ok(r#""8""#, r#""8""#, &topic)]);
    let event = connection.on_event(parsed, SubscriptionId::new(2), "message_created", "{}").unwrap();
    assert_eq!(event, format!(r#"["8",null,"{topic}","message_created",{{}}]"#));
    assert_eq!(
        connection.on_event(parsed, SubscriptionId::new(1), "message_created", "{}"),
        None,
        "meant for the earlier subscription"
    );
}

#[test]
fn joining_twice_answers_the_new_before_it_closes_the_old() {
    let mut connection = agent();
    let topic = format!("chat_room:{R1}");
    sent(&mut connection, 1, &join("1", &topic));
    let close = format!(r#"["1","1","{topic}","phx_close",{{}}]"#);
    assert_eq!(sent(&mut connection, 1, &join("2", &topic)), [ok(r#""2""#, r#""2""#, &topic), close]);
    let stale = format!(r#"["1","6","{topic}","phx_leave",{{}}]"#);
    assert_eq!(sent(&mut connection, 1, &stale), Vec::<String>::new());
    assert_eq!(connection.topics().count(), 1);
}

#[test]
fn what_clients_say_on_a_topic() {
    let mut connection = user();
    let topic = format!("chat_room:{R1}");
    let said = |join_ref: &str| format!(r#"[{join_ref},"9","{topic}","new_msg",{{"body":"x"}}]"#);
    let out = sent(&mut connection, 1, &said(r#""9""#));
    assert_eq!(out, [error("null", r#""9""#, &topic, "unmatched topic")]);
    sent(&mut connection, 1, &join("1", &topic));
    for live in [r#""1""#, "null"] {
        let out = sent(&mut connection, 1, &said(live));
        assert_eq!(out, [error(r#""1""#, r#""9""#, &topic, "unsupported event")]);
    }
    assert_eq!(sent(&mut connection, 1, &said(r#""0""#)), Vec::<String>::new(), "an earlier join");
}

#[test]
fn the_server_ends_a_subscription_once() {
    let mut connection = user();
    let topic = format!("chat_room:{R1}");
    sent(&mut connection, 5, &join("1", &topic));
    let TopicName::Topic(parsed) = Topic::parse(&topic) else { panic!() };
    assert_eq!(connection.on_end(parsed, SubscriptionId::new(4)), None, "an earlier subscription");
    let close = format!(r#"["1","1","{topic}","phx_close",{{}}]"#);
    assert_eq!(connection.on_end(parsed, SubscriptionId::new(5)), Some(Action::Send(close)));
    assert_eq!(connection.on_end(parsed, SubscriptionId::new(5)), None);
}

#[test]
fn topics_are_bounded() {
    let caller = Caller::User(UserCaller { user: UserId::new(parse_uuid(U1).unwrap()), organization: HOUSE });
    let mut connection = Machine::new(Version::V2, caller, 1);
    let (rooms, agents) = (format!("user_rooms:{U1}"), format!("user_agents:{U1}"));
    sent(&mut connection, 1, &join("1", &rooms));
    let out = sent(&mut connection, 2, &join("2", &agents));
    assert_eq!(out, [error(r#""2""#, r#""2""#, &agents, "too many channels joined")]);
    assert_eq!(sent(&mut connection, 3, &join("3", &rooms)).len(), 2, "a joined one can be joined again");
}

#[test]
fn a_frame_is_measured_whole_before_an_agent_gets_it() {
    let topic = format!("chat_room:{R1}");
    let TopicName::Topic(parsed) = Topic::parse(&topic) else { panic!() };
    let around = format!(r#"["1",null,"{topic}","message_created",]"#).len();
    for (mut connection, size, arrives) in [
        (agent(), MAX_AGENT_BYTES - around - 1, true),
        (agent(), MAX_AGENT_BYTES - around, false),
        (agent(), MAX_AGENT_BYTES - 1, false),
        (user(), MAX_AGENT_BYTES, true),
    ] {
        sent(&mut connection, 1, &join("1", &topic));
        let pushed =
            connection.on_event(parsed, SubscriptionId::new(1), "message_created", &"x".repeat(size));
        assert_eq!(pushed.map(|text| text.len()), arrives.then_some(size + around));
    }
}

#[test]
fn unreadable_texts() {
    for text in ["hello", "{}", "[1,2]"] {
        assert_eq!(agent().on_text(text), [Action::Unreadable], "{text}");
    }
}

#[test]
fn the_older_version_gets_objects() {
    let mut connection = Machine { version: Version::V1, ..agent() };
    let topic = format!("agent_rooms:{A1}");
    let text = format!(r#"{{"topic":"{topic}","event":"phx_join","payload":{{}},"ref":"1"}}"#);
    let reply = format!(
        r#"{{"topic":"{topic}","event":"phx_reply","payload":{{"status":"ok","response":{{}}}},"ref":"1"}}"#
    );
    assert_eq!(sent(&mut connection, 1, &text), [reply]);
}
