//! Frames of a socket: whatever a client sends, nothing panics, and each answer is a frame.
#![cfg_attr(feature = "libfuzzer", no_main)]

use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::delivery::Claims;
use domain::id::{AgentId, OrganizationId, UserId};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use uuid::Uuid;
use ws_gateway::frame::Version;
use ws_gateway::machine::{Action, JoinDecision, Machine, SubscriptionId};

const MAX_TOPICS: usize = 3;

/// Which answers the client gets to its frames.
struct Input<'a> {
    is_agent: bool,
    version: Version,
    grants: u64,
    frames: std::str::Lines<'a>,
}

fn read(bytes: &[u8]) -> Option<Input<'_>> {
    let (kinds, rest) = bytes.split_first()?;
    let (grants, text) = rest.split_first_chunk()?;
    Some(Input {
        is_agent: kinds & 1 == 0,
        version: if kinds & 2 == 0 { Version::V2 } else { Version::V1 },
        grants: u64::from_le_bytes(*grants),
        frames: std::str::from_utf8(text).ok()?.lines(),
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Some(input) = read(bytes) else { return };
    let (id, organization) = (Uuid::from_u128(1), OrganizationId::new(Uuid::nil()));
    let caller = if input.is_agent {
        Caller::Agent(AgentCaller {
            agent: AgentId::new(id),
            owner: UserId::new(id),
            organization,
            claims: Claims::Shared,
        })
    } else {
        Caller::User(UserCaller { user: UserId::new(id), organization })
    };
    let is_frame = |text: &str| match serde_json::from_str::<Value>(text).expect("an answer is JSON") {
        Value::Array(parts) => input.version == Version::V2 && parts.len() == 5 && parts[4].is_object(),
        Value::Object(members) => input.version == Version::V1 && members.len() == 4,
        _ => false,
    };
    let mut connection = Machine::new(input.version, caller, MAX_TOPICS);
    for (number, frame) in (0_u64..).zip(input.frames) {
        let mut actions = connection.on_text(frame);
        let mut at = 0;
        while let Some(action) = actions.get(at).cloned() {
            match action {
                Action::Send(text) | Action::Refuse(text, _) => assert!(is_frame(&text), "{text}"),
                Action::Authorize(join) if input.grants >> (number % 64) & 1 == 1 => {
                    let granted = JoinDecision::Granted {
                        response: "{}".to_owned(),
                        subscription: SubscriptionId::new(number),
                    };
                    actions.extend(connection.on_decision(join, granted));
                }
                Action::Authorize(join) => {
                    actions.extend(connection.on_decision(join, JoinDecision::Refused("unauthorized")));
                }
                Action::Unsubscribe(..) | Action::Unreadable => {}
            }
            at += 1;
        }
        assert!(connection.topics().count() <= MAX_TOPICS, "more topics than allowed");
    }
});

#[cfg(not(feature = "libfuzzer"))]
fn main() {}
