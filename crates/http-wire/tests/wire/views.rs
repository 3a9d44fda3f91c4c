//! The exact JSON of views.

use domain::chat::{Chat, ChatKind, ChatStatus, Participant, ParticipantStatus, Role};
use domain::delivery::{
    AttemptNumber, DeadLetterReason, Delivery, DeliveryStatus, DeliveryStep, FailureText, HeldBy, StepResult,
};
use domain::foreign::Origin;
use domain::id::{AgentId, ChatId, MessageId, ParticipantId, Sequence, TaskId, UserId};
use domain::message::{
    Cause, Mention, MentionKind, Message, MessageKind, Place, Recipient, RecipientState, SentMessage,
};
use domain::time::Timestamp;
use http_wire::view::{
    ChatView, MessageView, ParticipantView, PostedEventView, PresenceView, SentMessageView, StepView,
};
use serde_json::{Value, json, to_value};
use uuid::Uuid;

const CHAT: ChatId = ChatId::new(Uuid::from_u128(1));
const ANN: ParticipantId = ParticipantId::User(UserId::new(Uuid::from_u128(2)));
const HELPER: AgentId = AgentId::new(Uuid::from_u128(3));
const OTHER: AgentId = AgentId::new(Uuid::from_u128(4));
const MESSAGE: MessageId = MessageId::new(Uuid::from_u128(5));
const NOON: &str = "2026-07-01T12:00:00.000000Z";
const LATER: &str = "2026-07-01T12:00:01.500000Z";

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn begun(delivery: Delivery) -> Delivery {
    delivery.step(&DeliveryStep::Begin, None, at(NOON)).unwrap()
}

fn id(number: u32) -> Value {
    json!(Uuid::from_u128(number.into()).to_string())
}

fn text() -> Message {
    let mention = |agent, handle: &str| Mention {
        id: ParticipantId::Agent(agent),
        handle: handle.to_owned(),
        name: "Helper".to_owned(),
        kind: MentionKind::Mention,
    };
    Message {
        id: MESSAGE,
        chat_id: CHAT,
        sequence: Sequence::new(1),
        kind: MessageKind::Text,
        content: "hi".to_owned(),
        sender: ANN,
        sender_name: "Ann".to_owned(),
        sender_handle: Some("ann".to_owned()),
        mentions: vec![mention(HELPER, "ann/helper"), mention(OTHER, "ann/other")],
        metadata: None,
        cause: Cause::None,
        traceparent: None,
        origin: Origin::Own,
        created_at: at(NOON),
        updated_at: at(LATER),
        respond_by: None,
        attachments: Vec::new(),
        deliveries: vec![Delivery::new(HELPER), Delivery::new(OTHER)],
    }
}

#[test]
fn a_text_as_its_mentioned_agent_gets_it() {
    let mentioned = |number, handle: &str| json!({"id": id(number), "handle": handle, "name": "Helper", "username": handle, "kind": "mention", "type": "Agent"});
    let mut expected = json!({
        "id": id(5), "content": "hi", "message_type": "text", "chat_room_id": id(1), "thread_id": null,
        "sender_id": id(2), "sender_type": "User", "sender_name": "Ann", "sender_handle": "ann", "attachments": [],
        "inserted_at": NOON, "updated_at": LATER,
        "metadata": {
            "mentions": [mentioned(3, "ann/helper"), mentioned(4, "ann/other")],
            "status": "sent", "delivery_status": {}, "attempts": [],
        },
    });
    assert_eq!(to_value(MessageView::for_agent(&text(), HELPER)).unwrap(), expected);
    // An agent would learn from the sequence how much was said that it may not read.
    expected["sequence"] = json!(1);
    assert_eq!(to_value(MessageView::for_user(&text())).unwrap(), expected);
}

#[test]
fn each_reader_sees_its_own_deliveries() {
    let mut message = text();
    let why = FailureText::new("no luck".to_owned()).unwrap();
    let failed = begun(Delivery::new(HELPER).delivered(at(NOON)));
    message.deliveries[0] = failed.fail(&why, at(LATER)).unwrap();
    message.deliveries[1] = begun(Delivery::new(OTHER)).succeed(at(LATER)).unwrap();

    let attempt = |status: &str, error: Value| {
        json!({
            "attempt_number": 1, "status": status, "error": error,
            "started_at": NOON, "completed_at": LATER,
        })
    };
    let helper = json!({
        "status": "failed", "current_attempt": 1, "attempts": [attempt("failed", json!("no luck"))],
        "delivered_at": NOON, "processed_at": null,
    });
    let other = json!({
        "status": "processed", "current_attempt": 1, "attempts": [attempt("success", json!(null))],
        "delivered_at": null, "processed_at": LATER,
    });
    let of = |view: MessageView<'_>| to_value(view).unwrap()["metadata"].clone();

    let own = of(MessageView::for_agent(&message, HELPER));
    assert_eq!(own["delivery_status"], json!({id(3).as_str().unwrap(): helper}));
    assert_eq!(own["attempts"], json!([attempt("failed", json!("no luck"))]));

    let all = of(MessageView::for_user(&message));
    let both = json!({id(3).as_str().unwrap(): helper, id(4).as_str().unwrap(): other});
    assert_eq!(all["delivery_status"], both);
    let agents = all["attempts"].as_array().unwrap().iter().map(|a| a["agent_id"].clone());
    assert_eq!(agents.collect::<Vec<_>>(), [id(3), id(4)]);
}

/// Clients know no dead deliveries.
#[test]
fn a_dead_delivery_shows_as_failed() {
    let mut message = text();
    let reason = DeadLetterReason::new("no key".to_owned()).unwrap();
    message.deliveries[0] = Delivery::new(HELPER).dead_letter(&reason, at(LATER)).unwrap();
    let dead = json!({
        "status": "failed", "current_attempt": 0, "attempts": [], "delivered_at": null, "processed_at": null,
        "dead_at": LATER, "dead_reason": "no key",
    });
    for view in [MessageView::for_agent(&message, HELPER), MessageView::for_user(&message)] {
        let shown = to_value(view).unwrap()["metadata"]["delivery_status"].clone();
        assert_eq!(shown, json!({id(3).as_str().unwrap(): dead}));
    }
}

/// Clients know no held deliveries either.
#[test]
fn a_held_delivery_shows_as_failed() {
    let mut message = text();
    message.deliveries[0] = Delivery::new(HELPER).held(HeldBy::MaxHops, at(LATER));
    let held = json!({
        "status": "failed", "current_attempt": 0, "attempts": [], "delivered_at": null, "processed_at": null,
        "dead_at": LATER, "dead_reason": HeldBy::MaxHops.reason(), "held_by": "max_hops",
    });
    let shown = to_value(MessageView::for_user(&message)).unwrap()["metadata"]["delivery_status"].clone();
    assert_eq!(shown, json!({id(3).as_str().unwrap(): held}));
}

#[test]
fn only_humans_texts_say_sent() {
    let by_agent = Message { sender: ParticipantId::Agent(OTHER), ..text() };
    let view = to_value(MessageView::for_user(&by_agent)).unwrap();
    assert_eq!(view["sender_type"], "Agent");
    assert_eq!(view["metadata"].get("status"), None);
}

#[test]
fn a_sender_whose_handle_is_unknown_has_none() {
    let view = to_value(MessageView::for_agent(&Message { sender_handle: None, ..text() }, HELPER)).unwrap();
    assert_eq!((view.get("sender_handle"), &view["sender_name"]), (None, &json!("Ann")));
}

#[test]
fn events_show_what_was_stored_and_nothing_else() {
    let stored = json!({"tool": "search", "mentions": "own word", "nested": {"a": [1, null]}});
    let event = Message {
        kind: MessageKind::ToolCall,
        mentions: Vec::new(),
        metadata: stored.as_object().cloned(),
        ..text()
    };
    assert_eq!(to_value(MessageView::for_user(&event)).unwrap()["metadata"], stored);
    let bare = Message { metadata: None, ..event };
    assert_eq!(to_value(MessageView::for_user(&bare)).unwrap()["metadata"], json!({}));
    let receipt = json!({"id": id(5), "chat_room_id": id(1), "message_type": "tool_call", "success": true});
    assert_eq!(to_value(PostedEventView::new(&bare)).unwrap(), receipt);
}

#[test]
fn rooms_always_have_a_title() {
    let chat = Chat {
        id: CHAT,
        title: None,
        task_id: Some(TaskId::new(Uuid::from_u128(9))),
        kind: ChatKind::Group,
        status: ChatStatus::Active,
        created_at: at(NOON),
        updated_at: at(LATER),
        last_message_at: None,
        respond_within: None,
        max_hops: None,
    };
    let expected = json!({
        "id": id(1), "title": "Untitled room", "task_id": id(9), "type": "group", "chat_type": "group",
        "status": "active", "last_message_at": null,
        "created_at": NOON, "inserted_at": NOON, "updated_at": LATER,
    });
    assert_eq!(to_value(ChatView::new(&chat)).unwrap(), expected);
}

#[test]
fn participants() {
    let ann = Participant {
        id: ANN,
        name: "Ann".to_owned(),
        handle: "ann".to_owned(),
        description: None,
        is_external: None,
        owner: None,
        role: Role::Owner,
        status: ParticipantStatus::Active,
        joined_at: at(NOON),
    };
    let expected = json!({
        "id": id(2), "type": "User", "name": "Ann", "handle": "ann", "role": "owner", "status": "active",
        "description": null, "is_external": null, "joined_at": NOON,
    });
    assert_eq!(to_value(ParticipantView::new(&ann)).unwrap(), expected);
}

#[test]
fn receipts() {
    let recipient = Recipient {
        id: ParticipantId::Agent(HELPER),
        handle: "ann/helper".into(),
        name: "Helper".into(),
        state: Some(RecipientState::Agent {
            status: DeliveryStatus::New,
            is_platform_agent: false,
            is_stopped: true,
            is_paused: false,
        }),
    };
    let sent = SentMessage {
        id: MESSAGE,
        chat_id: CHAT,
        recipients: vec![recipient],
        unmentioned: vec![],
        respond_by: None,
    };
    let expected = json!({
        "id": id(5), "chat_room_id": id(1), "success": true,
        "recipients": [
            {"id": id(3), "handle": "ann/helper", "name": "Helper", "type": "Agent", "connected": true,
             "status": "new", "stopped": true, "paused": false},
        ],
    });
    assert_eq!(to_value(SentMessageView::new(&sent, |_, _| true)).unwrap(), expected);
    let warned = SentMessage { unmentioned: vec!["ann/other".into()], ..sent };
    let warning = &to_value(SentMessageView::new(&warned, |_, _| false)).unwrap()["warnings"][0];
    assert_eq!((&warning["code"], &warning["handles"]), (&json!("not_mentioned"), &json!(["ann/other"])));

    let attempt_number = AttemptNumber::new(2).unwrap();
    let step = StepResult {
        message: MESSAGE,
        chat_id: CHAT,
        status: DeliveryStatus::Failed,
        attempt_number,
        claimed_until: None,
        traceparent: None,
    };
    let expected = json!({
        "id": id(5), "chat_room_id": id(1), "status": "failed", "attempt_number": 2, "success": true,
    });
    assert_eq!(to_value(StepView::new(&step)).unwrap(), expected);
    let claimed = StepResult { claimed_until: Some(at(NOON)), ..step };
    let shown = to_value(StepView::new(&claimed)).unwrap();
    assert_eq!(shown["claimed_until"], NOON);
}

#[test]
fn only_external_agents_have_a_connection_status() {
    for (is_external, online, status) in [
        (None, true, json!(null)),
        (Some(false), true, json!(null)),
        (Some(true), true, json!("connected")),
        (Some(true), false, json!("disconnected")),
    ] {
        let shown = to_value(PresenceView::new(is_external, online)).unwrap();
        assert_eq!(shown, json!({"online": online, "connection_status": status}), "{is_external:?}");
    }
}

/// Whatever an agent has sent under its name, also to an older version.
#[test]
fn only_the_server_tells_a_cause() {
    let event = Message {
        kind: MessageKind::Thought,
        mentions: Vec::new(),
        metadata:
            json!({"a": 1, "cause": {"root_id": id(9)}, "delegation": {"version": 1}, "traceparent": "00"})
                .as_object()
                .cloned(),
        ..text()
    };
    assert_eq!(to_value(MessageView::for_user(&event)).unwrap()["metadata"], json!({"a": 1}));
    let place =
        Place { message: Some(MESSAGE), root: MessageId::new(Uuid::from_u128(8)), hop: 2, originator: ANN };
    let originator = json!({"id": id(2), "type": "User"});
    let known = json!({"message_id": id(5), "root_id": id(8), "hop": 2, "originator": originator});
    let unclear = json!({
        "message_id": null, "root_id": id(5), "hop": 4, "originator": originator, "ambiguous": true,
    });
    for (cause, shown) in [(Cause::Known(place), known), (Cause::Ambiguous { hop: 4 }, unclear)] {
        for message in [Message { cause, ..event.clone() }, Message { cause, ..text() }] {
            for view in [MessageView::for_user(&message), MessageView::for_agent(&message, HELPER)] {
                assert_eq!(to_value(view).unwrap()["metadata"]["cause"], shown);
            }
        }
    }
    let untouched = to_value(MessageView::for_user(&text())).unwrap();
    assert_eq!((untouched["metadata"].get("cause"), untouched["metadata"].get("traceparent")), (None, None));
    let at = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let traceparent = at.parse().ok();
    for message in [Message { traceparent, ..event }, Message { traceparent, ..text() }] {
        for view in [MessageView::for_user(&message), MessageView::for_agent(&message, HELPER)] {
            assert_eq!(to_value(view).unwrap()["metadata"]["traceparent"], at);
        }
    }
}

/// Likewise. What the organization allows looks like its own.
#[test]
fn only_the_server_tells_an_origin() {
    let forged = json!({"a": 1, "origin": {"foreign": false}}).as_object().cloned();
    let event = Message { kind: MessageKind::Thought, mentions: Vec::new(), metadata: forged, ..text() };
    let place =
        Place { message: Some(MESSAGE), root: MessageId::new(Uuid::from_u128(8)), hop: 2, originator: ANN };
    let of_agent = Place { originator: ParticipantId::Agent(HELPER), ..place };
    let shown = |kind: &str| Some(json!({"foreign": true, "originator_type": kind}));
    for (origin, cause, expected) in [
        (Origin::Own, Cause::None, None),
        (Origin::Allowed, Cause::Known(place), None),
        (Origin::Labeled, Cause::None, shown("User")),
        (Origin::Labeled, Cause::Known(place), shown("User")),
        (Origin::Labeled, Cause::Known(of_agent), shown("Agent")),
    ] {
        for message in [Message { cause, origin, ..event.clone() }, Message { cause, origin, ..text() }] {
            for view in [MessageView::for_user(&message), MessageView::for_agent(&message, HELPER)] {
                assert_eq!(to_value(view).unwrap()["metadata"].get("origin"), expected.as_ref());
            }
        }
    }
}

#[test]
fn an_agent_of_somebody_else_is_asked_by_delegation() {
    let asks = |handle: &str, kind| Message {
        mentions: vec![Mention {
            id: ParticipantId::Agent(HELPER),
            handle: handle.to_owned(),
            name: "Helper".to_owned(),
            kind,
        }],
        ..text()
    };
    let originator = json!({"uuid": id(2), "handle": "ann", "display_name": "Ann"});
    let envelope = json!({"version": 1, "message_id": id(5), "minted_at": NOON, "originator": originator});
    for (message, shown) in [
        (asks("ben/helper", MentionKind::Mention), Some(&envelope)),
        (asks("ben/helper", MentionKind::Reference), None),
        (asks("ann/helper", MentionKind::Mention), None),
        (Message { sender: ParticipantId::Agent(OTHER), ..asks("ben/helper", MentionKind::Mention) }, None),
        (Message { sender_handle: None, ..asks("ben/helper", MentionKind::Mention) }, None),
    ] {
        for view in [MessageView::for_user(&message), MessageView::for_agent(&message, HELPER)] {
            assert_eq!(to_value(view).unwrap()["metadata"].get("delegation"), shown, "{message:?}");
        }
    }
}
