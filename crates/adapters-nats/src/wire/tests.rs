//! The bytes on the bus, and reading them back.

use domain::account::{Agent, AgentHandle, AgentKind};
use domain::activity::{Activity, ActivityKind, AgentActivity, ToolName};
use domain::board::{Actor, Assignment, Board, Task, TaskCounts, TaskNumber, TaskState, TaskStatus};
use domain::bus::{Interest, PeerMessage};
use domain::chat::{
    Chat, ChatAgent, ChatDetails, ChatKind, ChatStatus, Participant, ParticipantStatus, Role, Unread,
    WorkStatus,
};
use domain::contact::{Contact, ContactOf, ContactRequest, Party, Profile, RequestStatus};
use domain::control::{ControlMode, ControlSignal};
use domain::delivery::{Attempt, AttemptNumber, AttemptState, Claims, Delivery, MaxAttempts};
use domain::event::DomainEvent;
use domain::foreign::Origin;
use domain::id::{
    AgentId, ApiKeyId, BoardTaskId, ChatId, ContactId, ContactRequestId, ExecutionId, MessageId, NodeId,
    ParticipantId, Sequence, SessionId, SignalId, TaskId, UserId,
};
use domain::message::{Cause, Mention, MentionKind, Message, MessageKind, Place, RespondWithin};
use domain::organization::Pause;
use domain::time::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;

const ROOM: ChatId = ChatId::new(Uuid::from_u128(1));
const USER: UserId = UserId::new(Uuid::from_u128(2));
const AGENT: AgentId = AgentId::new(Uuid::from_u128(3));

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn name(text: &str) -> String {
    format!("{text} \"ä\\\u{1}\u{1F600}")
}

fn message() -> Message {
    let failed = Attempt {
        number: AttemptNumber::new(2).unwrap(),
        started_at: at(3),
        state: AttemptState::Failed { at: at(4), error: name("broken") },
    };
    let delivery = Delivery::restore(AGENT, true, Some(at(2)), vec![failed]).unwrap();
    let (id, kind) = (ParticipantId::Agent(AGENT), MentionKind::Mention);
    let metadata = json!({"a": [1, 2.5, null, {"b": "c"}], "n": 18_446_744_073_709_551_615_u64});
    Message {
        id: MessageId::new(Uuid::from_u128(4)),
        chat_id: ROOM,
        sequence: Sequence::new(17),
        kind: MessageKind::ToolCall,
        content: name("content"),
        sender: ParticipantId::User(USER),
        sender_name: name("Ann"),
        sender_handle: Some("ann".to_owned()),
        mentions: vec![Mention { id, handle: "ann/bot".to_owned(), name: name("Bot"), kind }],
        metadata: metadata.as_object().cloned(),
        cause: Cause::None,
        traceparent: None,
        origin: Origin::Own,
        created_at: at(1),
        updated_at: at(-5),
        respond_by: Some(at(7)),
        attachments: Vec::new(),
        deliveries: vec![delivery, Delivery::unaddressed(AGENT)],
    }
}

fn chat() -> Chat {
    Chat {
        id: ROOM,
        title: Some(name("Plans")),
        task_id: Some(TaskId::new(Uuid::from_u128(9))),
        kind: ChatKind::Task,
        status: ChatStatus::Closed,
        created_at: at(1),
        updated_at: at(2),
        last_message_at: Some(at(3)),
        respond_within: RespondWithin::new(60),
        max_hops: None,
    }
}

fn participant() -> Participant {
    Participant {
        id: ParticipantId::Agent(AGENT),
        name: name("Bot"),
        handle: "ann/bot".to_owned(),
        description: Some(name("of use")),
        is_external: Some(false),
        owner: Some(USER),
        role: Role::Admin,
        status: ParticipantStatus::Inactive,
        joined_at: at(8),
    }
}

fn agent() -> Agent {
    Agent {
        id: AGENT,
        owner: USER,
        name: name("Bot"),
        handle: AgentHandle::from_stored("ann/bot".to_owned()),
        description: name("of use"),
        kind: AgentKind::Platform,
        model_type: Some("large".to_owned()),
        bio: Some(name("long")),
        tags: vec!["one".to_owned(), name("two")],
        listed_in_directory: true,
        registry_access: false,
        shared_with_organization: true,
        foreign_access: true,
        max_attempts: MaxAttempts::new(3),
        claims: Claims::Exclusive,
        a2a: true,
        is_global: true,
        created_at: at(1),
        updated_at: at(2),
        disabled_at: Some(at(3)),
        pause: Some(Pause { since: at(4), reason: name("why") }),
    }
}

fn request() -> ContactRequest {
    let party = |id, handle: &str| Party { id, handle: handle.to_owned(), name: name(handle) };
    ContactRequest {
        id: ContactRequestId::new(Uuid::from_u128(11)),
        requester: party(ParticipantId::User(USER), "ann"),
        recipient: party(ParticipantId::Agent(AGENT), "ben/bot"),
        message: Some(name("shall we?")),
        status: RequestStatus::Expired,
        created_at: at(1),
        responded_at: Some(at(2)),
    }
}

fn contact() -> ContactOf {
    let with = Profile {
        id: ParticipantId::User(USER),
        handle: "ann".to_owned(),
        name: name("Ann"),
        email: Some("ann@example.org".to_owned()),
        description: Some(name("of use")),
        is_external: Some(true),
        listed_in_directory: Some(false),
        tags: vec![name("tag")],
    };
    let (id, request) = (ContactId::new(Uuid::from_u128(12)), Some(request().id));
    ContactOf {
        owner: ParticipantId::Agent(AGENT),
        contact: Contact { id, with, request, created_at: at(6) },
    }
}

/// One event of each kind.
fn events() -> Vec<DomainEvent> {
    let who = ParticipantId::User(USER);
    let agents = vec![ChatAgent { id: AGENT, name: name("Bot"), handle: "ann/bot".to_owned() }];
    let tasks = TaskCounts { pending: 2, ..TaskCounts::default() };
    let details = ChatDetails { agents, work: WorkStatus::Failed, interrupted: Vec::new(), tasks };
    let execution = ExecutionId::new(Uuid::from_u128(15));
    let activity = AgentActivity { agent: AGENT, execution: Some(execution), working: true, doing: None };
    let doing = Activity { kind: ActivityKind::ToolCall, tool: Some(ToolName::new("search")) };
    let correlation_id = SignalId::new(Uuid::from_u128(16));
    let signal = ControlSignal {
        mode: ControlMode::Stop,
        chat: Some(ROOM),
        execution,
        correlation_id,
        is_change: true,
    };
    let contact_id = ContactId::new(Uuid::from_u128(12));
    let (cause, root) = (MessageId::new(Uuid::from_u128(17)), MessageId::new(Uuid::from_u128(18)));
    let place = Place { message: Some(cause), root, hop: 2, originator: who };
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse().ok();
    vec![
        DomainEvent::MessageCreated { message: message(), recipients: vec![AGENT] },
        DomainEvent::MessageUpdated {
            message: Message { cause: Cause::Known(place), origin: Origin::Labeled, ..message() },
        },
        DomainEvent::MessageDeleted { chat_id: ROOM, id: message().id },
        DomainEvent::EventCreated { message: Message { metadata: None, traceparent, ..message() } },
        DomainEvent::RoomAdded { to: who, owner: None, chat: chat(), role: Role::Owner },
        DomainEvent::RoomRemoved { from: who, chat: Chat { title: None, ..chat() }, removed_at: at(7) },
        DomainEvent::ParticipantAdded { chat_id: ROOM, participant: participant() },
        DomainEvent::ParticipantRemoved { chat_id: ROOM, participant: participant() },
        DomainEvent::RoomDeleted { chat_id: ROOM },
        DomainEvent::RoomTitleChanged { chat_id: ROOM, title: name("Plans") },
        DomainEvent::AgentCreated { agent: agent() },
        DomainEvent::AgentUpdated { agent: Agent { bio: None, disabled_at: None, pause: None, ..agent() } },
        DomainEvent::AgentDeleted { agent: agent() },
        DomainEvent::KeyRevoked { key: ApiKeyId::new(Uuid::from_u128(13)) },
        DomainEvent::TokensEnded { user: USER, password_set_at: at(9) },
        DomainEvent::SessionEnded { session: SessionId::new(Uuid::from_u128(14)) },
        DomainEvent::UserMoved { user: USER },
        DomainEvent::RoomUpdated { to: vec![USER], chat: chat(), details },
        DomainEvent::ActivityChanged { chat_id: ROOM, activity: activity.clone() },
        DomainEvent::ContactRequestReceived { request: request() },
        DomainEvent::ContactRequestUpdated { request: request() },
        DomainEvent::ContactAdded { contact: contact() },
        DomainEvent::ContactRemoved { owner: who, id: contact_id },
        DomainEvent::AgentControlled { agent: AGENT, signal },
        DomainEvent::ActivityReported {
            chat_id: ROOM,
            activity: AgentActivity { doing: Some(doing), ..activity },
        },
        DomainEvent::RoomRead {
            by: USER,
            chat_id: ROOM,
            unread: Unread { count: 4, mentions: 1, read_sequence: Sequence::new(9), muted: true },
        },
        DomainEvent::ParticipantUpdated { chat_id: ROOM, participant: participant() },
        DomainEvent::TaskCreated { task: task() },
        DomainEvent::TaskUpdated { task: Task { superseded_by: None, ..task() }, has_moved: false },
        DomainEvent::BoardUpdated {
            board: Board { title: Some(name("Ship")), updated_by: Some(actor()), ..Board::empty(ROOM) },
        },
    ]
}

fn actor() -> Actor {
    Actor { id: ParticipantId::Agent(AGENT), name: name("Bot"), handle: "ann/bot".to_owned() }
}

fn task() -> Task {
    let id = BoardTaskId::new(Uuid::from_u128(17));
    let assignment = Assignment {
        assignee: actor(),
        status: TaskStatus::InProgress,
        active_form: name("writing"),
        linked_native_id: String::new(),
        updated_at: at(3),
    };
    Task {
        id,
        chat: ROOM,
        number: TaskNumber::new(4),
        subject: name("subject"),
        detail: String::new(),
        state: TaskState::Superseded,
        status: TaskStatus::InProgress,
        assignments: vec![assignment],
        created_by: actor(),
        superseded_by: Some(id),
        started_at: Some(at(2)),
        completed_at: None,
        created_at: at(1),
        updated_at: at(3),
    }
}

/// One message of each kind.
fn messages() -> Vec<PeerMessage> {
    let interests =
        vec![Interest::Room(ROOM), Interest::RoomAsHuman(ROOM), Interest::User(USER), Interest::Agent(AGENT)];
    vec![
        PeerMessage::Heartbeat { revision: 7 },
        PeerMessage::InterestsChanged {
            revision: 8,
            begun: interests.clone(),
            over: vec![Interest::User(USER)],
        },
        PeerMessage::AllInterests { revision: 9, part: 1, parts: 2, interests },
        PeerMessage::AskInterests { of: None },
        PeerMessage::AskInterests { of: Some(NodeId::new(Uuid::from_u128(20))) },
        PeerMessage::Leaving,
    ]
}

/// The bus format: kind and body of every event and message, one per line. Nodes of other versions
/// read and send exactly this, so a line changes only with a plan for a rolling upgrade.
const GOLDEN: &str = include_str!("golden.txt");

#[test]
fn the_bytes_on_the_bus_do_not_change() {
    let events = events().iter().map(encode).collect::<Vec<_>>();
    let messages = messages().iter().map(encode_peer_message).collect::<Vec<_>>();
    let lines = events
        .into_iter()
        .chain(messages)
        .map(|(kind, body)| format!("{kind} {}", String::from_utf8(body).unwrap()).trim_end().to_owned());
    assert_eq!(lines.collect::<Vec<_>>(), GOLDEN.lines().collect::<Vec<_>>());
}

#[test]
fn every_event_is_read_back() {
    let mut kinds = std::collections::BTreeSet::new();
    for event in events() {
        let (kind, body) = encode(&event);
        assert!(is_event(kind) && !is_peer_message(kind) && kinds.insert(kind), "{event:?}");
        let read = decode(kind, &body).unwrap().unwrap();
        assert_eq!(format!("{read:?}"), format!("{event:?}"));
    }
    assert_eq!(kinds.len(), 30);
}

#[test]
fn what_a_newer_program_adds_is_passed_over() {
    for event in events() {
        let (kind, body) = encode(&event);
        let mut value = serde_json::from_slice::<Value>(&body).unwrap();
        value["added_later"] = json!({"what": "ever"});
        let read = decode(kind, value.to_string().as_bytes()).unwrap().unwrap();
        assert_eq!(format!("{read:?}"), format!("{event:?}"));
    }
    assert!(matches!(decode(199, b"{}"), Ok(None)) && matches!(decode_peer_message(250, b"{}"), Ok(None)));
}

#[test]
fn a_message_from_an_older_program_has_no_sender_handle_deadline_or_cause() {
    for event in &events()[..2] {
        let (kind, body) = encode(event);
        let mut value = serde_json::from_slice::<Value>(&body).unwrap();
        let sent = value["message"].as_object_mut().unwrap();
        for later in ["cause", "origin"] {
            sent.remove(later);
        }
        let sent = (sent.remove("sender_handle"), sent.remove("respond_by"));
        assert_eq!(sent, (Some(json!("ann")), Some(json!(7))));
        let Ok(Some(
            DomainEvent::MessageCreated { message: read, .. } | DomainEvent::MessageUpdated { message: read },
        )) = decode(kind, value.to_string().as_bytes())
        else {
            panic!("{value} is not read")
        };
        assert_eq!(read, Message { sender_handle: None, respond_by: None, ..message() });
        let (_, body) = encode(&DomainEvent::EventCreated { message: read });
        let body = String::from_utf8(body).unwrap();
        assert!(!body.contains("sender_handle") && !body.contains("respond_by"));
    }
}

#[test]
fn what_is_none_of_its_kind_is_refused() {
    for event in events() {
        let (kind, body) = encode(&event);
        let mut wrong = vec![Vec::new(), b"{}".to_vec(), b"[]".to_vec(), b"\xff".to_vec()];
        wrong.push(body[..body.len() - 1].to_vec());
        for body in wrong {
            assert!(decode(kind, &body).is_err(), "{event:?}: {body:?}");
        }
    }
    let (kind, body) = encode(&events()[4]);
    let mut value = serde_json::from_slice::<Value>(&body).unwrap();
    value["role"] = json!("emperor");
    assert!(decode(kind, value.to_string().as_bytes()).is_err());
}

#[test]
fn every_note_is_read_back() {
    for message in messages() {
        let (kind, body) = encode_peer_message(&message);
        assert!(is_peer_message(kind) && !is_event(kind));
        assert_eq!(decode_peer_message(kind, &body), Ok(Some(message)));
    }
    assert_eq!(
        decode_peer_message(encode_peer_message(&PeerMessage::Heartbeat { revision: 7 }).0, b"{}"),
        Err(Malformed)
    );
}

#[test]
fn notes_are_as_large_as_is_reckoned() {
    let largest = [Interest::RoomAsHuman(ROOM); 500];
    for interests in [&largest[..0], &largest[..1], &largest] {
        let messages = [
            PeerMessage::InterestsChanged { revision: u64::MAX, begun: interests.to_vec(), over: Vec::new() },
            PeerMessage::InterestsChanged { revision: u64::MAX, begun: Vec::new(), over: interests.to_vec() },
            PeerMessage::AllInterests {
                revision: u64::MAX,
                part: u32::MAX,
                parts: u32::MAX,
                interests: interests.to_vec(),
            },
        ];
        for message in messages {
            let bytes = encode_peer_message(&message).1.len();
            assert!(bytes <= BESIDE_INTERESTS + interests.len() * INTEREST, "{bytes} bytes");
        }
    }
}
