//! Callers, their sockets, and what these have received.

use std::sync::Arc;

use domain::account::{Presented, PresentedToken};
use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::id::{AgentId, ChatId, OrganizationId, UserId};
use domain::node::OnConflict;
use futures_util::future::join;
use uuid::Uuid;
use ws_gateway::inbox::{Reader, SocketCommand};
use ws_gateway::other_nodes::PendingClaim;
use ws_gateway::{Hub, SocketClaim};

use crate::Node;

pub(crate) const ROOM: ChatId = ChatId::new(Uuid::from_u128(1));
const HOUSE: OrganizationId = OrganizationId::new(Uuid::from_u128(2));

pub(crate) const TOKEN: Presented = Presented::Token(PresentedToken {
    user: UserId::new(Uuid::nil()),
    password_set_at: None,
    session: None,
    expires_at: None,
});

pub(crate) fn user(number: u128) -> Caller {
    Caller::User(UserCaller { user: UserId::new(Uuid::from_u128(number)), organization: HOUSE })
}

pub(crate) fn agent_id(number: u128) -> AgentId {
    AgentId::new(Uuid::from_u128(number))
}

pub(crate) fn agent(number: u128) -> Caller {
    let owner = UserId::new(Uuid::from_u128(100));
    Caller::Agent(AgentCaller { agent: agent_id(number), owner, organization: HOUSE })
}

/// Opens a socket on a node whose claims no store decides.
pub(crate) async fn open(port: &Node, hub: &Arc<Hub>, caller: Caller) -> (SocketClaim, Reader) {
    let decided = async {
        let claims = port.claim_queue.take().into_iter().flat_map(|batch| batch.claims);
        claims.for_each(PendingClaim::open);
    };
    let (opened, ()) = join(hub.open(caller, TOKEN, OnConflict::Supersede), decided).await;
    opened.map_err(|refused| format!("{refused:?}")).unwrap()
}

/// The names of the received events; `!end` is the end of a subscription.
pub(crate) fn told(reader: &mut Reader) -> Vec<&'static str> {
    let mut all = Vec::new();
    for told in reader {
        match told {
            SocketCommand::Event(event) => all.push(event.payload.event),
            SocketCommand::End { .. } => all.push("!end"),
            told => panic!("{told:?}"),
        }
    }
    all
}
