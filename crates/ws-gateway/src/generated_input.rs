//! Generated input for the code that reads a client's bytes: it must not panic, and every reply
//! must be well-formed.
//!
//! `cargo test` tries a few hundred cases of each; `just properties` takes the number as an argument.
//! Failures are kept in `proptest-regressions` and tried first in later runs.

use std::collections::HashMap;

use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::delivery::{Claims, SubscriptionId};
use domain::id::{AgentId, ChatId, OrganizationId, UserId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::frame::{self, Frame, Version};
use crate::inbound::Heads;
use crate::machine::{Action, JoinDecision, Machine};
use crate::topic::{Topic, TopicName};

const MAX_TOPICS: usize = 3;

const PATTERNS: [&str; 12] = [
    "chat_room",
    "room_participants",
    "room_activity",
    "agent_rooms",
    "agent_contacts",
    "agent_control",
    "user_rooms",
    "user_contacts",
    "user_agents",
    "tasks",
    "room_tasks",
    "phoenix",
];

/// The caller's own id, which is the most frequent, that of another user, or that of a chat.
fn id() -> impl Strategy<Value = Uuid> {
    select(vec![1_u128, 1, 2, 3]).prop_map(Uuid::from_u128)
}

fn topic() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (select(&PATTERNS[..]), id()).prop_map(|(pattern, id)| format!("{pattern}:{id}")),
        1 => (select(&PATTERNS[..]), id()).prop_map(|(pattern, id)| format!("{pattern}:{id:X}")),
        1 => (select(&PATTERNS[..]), ".{0,40}").prop_map(|(pattern, id)| format!("{pattern}:{id}")),
        1 => Just("phoenix".to_owned()),
        1 => any::<String>(),
    ]
}

/// Arbitrary JSON, partly deeply nested.
fn payload() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 32, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((any::<String>(), inner), 0..4).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

fn reference() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => select(vec![json!("1"), json!("2"), json!("007"), Value::Null]),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        1 => payload(),
    ]
}

fn event() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("phx_join".to_owned()),
        2 => Just("phx_leave".to_owned()),
        1 => Just("heartbeat".to_owned()),
        1 => any::<String>(),
    ]
}

/// Input of a client: mostly frames, some of them damaged, and arbitrary text.
fn text(version: Version) -> impl Strategy<Value = String> {
    let parts = (reference(), reference(), topic(), event(), payload());
    let frame = parts.prop_map(move |(join_ref, reference, topic, event, payload)| match version {
        Version::V2 => json!([join_ref, reference, topic, event, payload]).to_string(),
        Version::V1 => {
            json!({"join_ref": join_ref, "ref": reference, "topic": topic, "event": event, "payload": payload})
                .to_string()
        }
    });
    let frame = frame.boxed();
    let damaged = (frame.clone(), any::<Index>(), any::<char>(), any::<bool>());
    let damaged = damaged.prop_map(|(text, index, put, instead)| {
        let mut letters = text.chars().collect::<Vec<_>>();
        let index = index.index(letters.len());
        letters.splice(index..index + usize::from(instead), [put]);
        letters.into_iter().collect()
    });
    let deep = (0..400_usize).prop_map(|depth| format!("[1,1,\"t\",\"e\",{}", "[".repeat(depth)));
    prop_oneof![
        12 => frame,
        2 => damaged,
        1 => payload().prop_map(|value| value.to_string()),
        1 => any::<String>(),
        1 => deep,
    ]
}

fn version() -> impl Strategy<Value = Version> {
    select(vec![Version::V1, Version::V2])
}

fn caller(agent: bool) -> Caller {
    let (id, organization) = (Uuid::from_u128(1), OrganizationId::new(Uuid::nil()));
    if agent {
        Caller::Agent(AgentCaller {
            agent: AgentId::new(id),
            owner: UserId::new(id),
            organization,
            claims: Claims::Shared,
        })
    } else {
        Caller::User(UserCaller { user: UserId::new(id), organization })
    }
}

/// A step in the life of a connection.
#[derive(Clone, Debug)]
enum Step {
    /// A text arrives; the flag decides whether a join in it is granted.
    Text(String, bool),
    /// An event is published on a topic, for its live subscription or for one that has ended.
    Event { topic: String, stale: bool },
    /// A topic is ended: its live subscription, or one that has already ended.
    End { topic: String, stale: bool },
}

fn step(version: Version) -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (text(version), prop::bool::weighted(0.8)).prop_map(|(text, granted)| Step::Text(text, granted)),
        2 => (topic(), any::<bool>()).prop_map(|(topic, stale)| Step::Event { topic, stale }),
        1 => (topic(), any::<bool>()).prop_map(|(topic, stale)| Step::End { topic, stale }),
    ]
}

fn scene() -> impl Strategy<Value = (Version, bool, Vec<Step>)> {
    (version(), any::<bool>())
        .prop_flat_map(|(version, agent)| (Just(version), Just(agent), vec(step(version), 1..40)))
}

/// A connection with the expected state, which must hold whatever a client does.
struct Observed {
    version: Version,
    connection: Machine,
    /// The subscription and the join reference of each joined topic.
    joined: HashMap<Topic, (SubscriptionId, Option<String>)>,
    subscriptions: u64,
}

/// A frame to the client, parsed.
struct Sent {
    join_ref: Value,
    reference: Value,
    event: String,
}

impl Observed {
    /// Parses a frame as a client does; fails if it is malformed.
    fn read(&self, text: &str) -> Sent {
        let value = serde_json::from_str::<Value>(text).expect("JSON");
        let (join_ref, reference, topic, event, payload) = match (self.version, &value) {
            (Version::V2, Value::Array(parts)) if parts.len() == 5 => {
                (parts[0].clone(), parts[1].clone(), &parts[2], &parts[3], &parts[4])
            }
            (Version::V1, Value::Object(members)) if members.len() == 4 => {
                (Value::Null, value["ref"].clone(), &value["topic"], &value["event"], &value["payload"])
            }
            _ => panic!("not a frame: {text}"),
        };
        for reference in [&join_ref, &reference] {
            assert!(reference.is_null() || reference.is_string(), "{text}");
        }
        assert!(topic.is_string() && payload.is_object(), "{text}");
        Sent { join_ref, reference, event: event.as_str().expect("an event").to_owned() }
    }

    fn on_text(&mut self, text: &str, granted: bool) {
        let read = frame::parse(self.version, text);
        let mut sent = Vec::new();
        for action in self.connection.on_text(text) {
            match action {
                Action::Send(text) | Action::Refuse(text, _) => sent.push(self.read(&text)),
                Action::Unreadable => assert!(read.is_err(), "{text}"),
                Action::Unsubscribe(topic, subscription) => {
                    assert_eq!(
                        self.joined.remove(&topic).map(|(subscription, _)| subscription),
                        Some(subscription)
                    );
                }
                Action::Authorize(join) => {
                    let (topic, decision) = (join.topic, self.decide(granted));
                    self.joined.remove(&topic);
                    if let JoinDecision::Granted { subscription, .. } = decision {
                        let join_ref = read.as_ref().ok().and_then(|frame| frame.join_ref.clone());
                        self.joined.insert(topic, (subscription, join_ref));
                    }
                    for action in self.connection.on_decision(join, decision) {
                        let (Action::Send(text) | Action::Refuse(text, _)) = action else {
                            panic!("{action:?}")
                        };
                        sent.push(self.read(&text));
                    }
                }
            }
        }
        if let Ok(frame) = &read {
            Self::answered(frame, &sent);
        } else {
            assert!(sent.is_empty(), "{text}");
        }
    }

    /// A frame has at most one reply, with its own reference; a join and a heartbeat always have
    /// one.
    fn answered(frame: &Frame, sent: &[Sent]) {
        let (answers, rest) = sent.iter().partition::<Vec<_>, _>(|sent| sent.event == "phx_reply");
        let certain = frame.event == "phx_join"
            || (frame.topic.as_str(), frame.event.as_str()) == ("phoenix", "heartbeat");
        assert!(answers.len() == 1 || (answers.is_empty() && !certain), "{frame:?}: {}", answers.len());
        for answer in answers {
            assert_eq!(answer.reference.as_str(), frame.reference.as_deref(), "{frame:?}");
        }
        assert!(rest.len() <= 1 && rest.iter().all(|sent| sent.event == "phx_close"), "{frame:?}");
    }

    fn decide(&mut self, granted: bool) -> JoinDecision {
        self.subscriptions += 1;
        if granted {
            JoinDecision::Granted {
                response: "{}".to_owned(),
                subscription: SubscriptionId::new(self.subscriptions),
            }
        } else {
            JoinDecision::Refused("unauthorized")
        }
    }

    /// The subscription that a step refers to.
    fn subscription(&self, topic: Topic, stale: bool) -> SubscriptionId {
        match self.joined.get(&topic) {
            Some((subscription, _)) if !stale => *subscription,
            _ => SubscriptionId::new(u64::MAX),
        }
    }

    fn on_event(&self, topic: Topic, stale: bool) {
        let text = self.connection.on_event(topic, self.subscription(topic, stale), "message_created", "{}");
        let live = self.joined.get(&topic).filter(|_| !stale);
        assert_eq!(text.is_some(), live.is_some(), "{topic:?}");
        if let (Some(text), Some((_, join_ref))) = (text, live) {
            let sent = self.read(&text);
            assert_eq!((sent.reference, sent.event.as_str()), (Value::Null, "message_created"));
            if self.version == Version::V2 {
                assert_eq!(sent.join_ref.as_str(), join_ref.as_deref());
            }
        }
    }

    fn on_end(&mut self, topic: Topic, stale: bool) {
        let action = self.connection.on_end(topic, self.subscription(topic, stale));
        let live = if stale { None } else { self.joined.remove(&topic) };
        assert_eq!(action.is_some(), live.is_some(), "{topic:?}");
        if let Some(Action::Send(text)) = action {
            assert_eq!(self.read(&text).event, "phx_close");
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Text(text, granted) => self.on_text(text, *granted),
            Step::Event { topic, stale } => {
                if let TopicName::Topic(topic) = Topic::parse(topic) {
                    self.on_event(topic, *stale);
                }
            }
            Step::End { topic, stale } => {
                if let TopicName::Topic(topic) = Topic::parse(topic) {
                    self.on_end(topic, *stale);
                }
            }
        }
        let stays = self.connection.topics().collect::<HashMap<_, _>>();
        let expected = self.joined.iter().map(|(topic, (subscription, _))| (*topic, *subscription)).collect();
        assert_eq!(stays, expected, "{step:?}");
        assert!(stays.len() <= MAX_TOPICS, "{step:?}");
    }
}

proptest! {
    #[test]
    fn a_connection_answers_whatever_comes((version, agent, steps) in scene()) {
        let connection = Machine::new(version, caller(agent), MAX_TOPICS);
        let mut observed = Observed { version, connection, joined: HashMap::new(), subscriptions: 0 };
        for step in &steps {
            observed.take(step);
        }
    }

    #[test]
    fn frames_are_read_as_they_were_written(
        version in version(),
        join_ref in proptest::option::of(".{0,16}"),
        reference in proptest::option::of(".{0,16}"),
        topic in any::<String>(),
        event in any::<String>(),
        payload in payload(),
    ) {
        let text = frame::write(
            version, join_ref.as_deref(), reference.as_deref(), &topic, &event, &payload.to_string(),
        );
        // The older form omits the join reference.
        let join_ref = join_ref.filter(|_| version == Version::V2);
        prop_assert_eq!(frame::parse(version, &text), Ok(Frame { join_ref, reference, topic, event }));
    }

    #[test]
    fn a_topic_is_one_whatever_the_case_of_its_id(text in topic()) {
        if let (TopicName::Topic(topic), Some((pattern, id))) = (Topic::parse(&text), text.split_once(':')) {
            for id in [id.to_lowercase(), id.to_uppercase()] {
                prop_assert_eq!(Topic::parse(&format!("{pattern}:{id}")), TopicName::Topic(topic));
            }
        }
    }

    #[test]
    fn rooms_are_told_apart(one in any::<u128>(), other in any::<u128>()) {
        let topics = |id| Topic::of_chat(ChatId::new(Uuid::from_u128(id)));
        prop_assert_eq!(topics(one) == topics(other), one == other);
    }

    /// The result does not depend on how a client's bytes are split, and no accepted head announces
    /// more than is allowed.
    #[test]
    fn bytes_are_judged_alike_however_they_are_cut(
        bytes in vec(prop_oneof![select(vec![0x81, 0x82, 0x88, 0xfe, 0xff, 0x80, 0x00]), any::<u8>()], 0..200),
        cuts in vec(1..20_usize, 1..50),
        limit in 0..300_usize,
    ) {
        let whole = Heads::new(limit).check(&bytes);
        let mut heads = Heads::new(limit);
        let (mut rest, mut cut) = (bytes.as_slice(), Ok(()));
        for size in cuts.iter().cycle() {
            if rest.is_empty() || cut.is_err() {
                break;
            }
            let (next, behind) = rest.split_at((*size).min(rest.len()));
            cut = heads.check(next);
            rest = behind;
        }
        prop_assert_eq!(whole, cut);
    }
}
