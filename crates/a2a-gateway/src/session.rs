//! One request: its caller, and the agent that it is for.

use std::sync::Arc;

use actix_web::HttpRequest;
use domain::account::{Agent, Authenticated, Door, Reach};
use domain::caller::Caller;
use domain::id::{AgentId, ChatId};
use domain::message::Message;
use domain::push::PushCredential;
use domain::services::Services;
use http_wire::auth;
use http_wire::cursor::CursorSeal;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::limit::{Class, RateLimits, ReadPermit};
use http_wire::room_waiters::{IsStopping, RoomWaiters};

use crate::failure::Failure;
use crate::slots::{Slot, Slots};
use crate::task;

/// What every request needs.
pub(crate) struct Gateway {
    pub(crate) services: Services,
    pub(crate) limits: Arc<RateLimits>,
    pub(crate) cursors: CursorSeal,
    pub(crate) waiters: Arc<RoomWaiters>,
    pub(crate) slots: Arc<Slots>,
    pub(crate) is_stopping: IsStopping,
    /// Set if the server itself encrypts its connections.
    pub(crate) has_tls: bool,
}

/// A caller who reads its tasks at an agent.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'g> {
    pub(crate) caller: Caller,
    pub(crate) agent: AgentId,
    pub(crate) services: &'g Services,
    pub(crate) limits: &'g RateLimits,
}

impl Reader<'_> {
    /// Whether a message is a text of the caller to the agent.
    pub(crate) fn is_request(&self, message: &Message) -> bool {
        task::is_request(message, self.caller.participant(), self.agent)
    }

    /// Waits until the caller may read.
    pub(crate) async fn may_read(&self) -> Result<ReadPermit, ApiError> {
        self.limits.may_read(self.caller.participant(), Class::General).await?.permit().await
    }
}

impl Gateway {
    /// Reads tasks of a caller at an agent.
    pub(crate) fn reader(&self, caller: Caller, agent: AgentId) -> Reader<'_> {
        Reader { caller, agent, services: &self.services, limits: &self.limits }
    }
}

/// The caller of a request, and the agent that it is for.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) caller: Caller,
    pub(crate) agent: Arc<Agent>,
    pub(crate) request: HttpRequest,
    admitted: Authenticated,
    gateway: Arc<Gateway>,
}

impl Session {
    /// The session of a caller.
    ///
    /// # Errors
    /// `not_found` if no agent with this id is listed.
    pub(crate) async fn open(
        gateway: Arc<Gateway>,
        admitted: Authenticated,
        request: HttpRequest,
    ) -> Result<Self, ApiError> {
        // Each read takes its own permit, and a stream none while it waits.
        auth::end_read(&request);
        let agent = listed(&gateway, &request).await?;
        Ok(Self { caller: admitted.caller, agent, request, admitted, gateway })
    }

    /// Notes the outcome of the request for the owner of the agent. Any caller can send what is refused, so only failures of
    /// the server are failures of the agent.
    pub(crate) fn note<T>(&self, outcome: &Result<T, Failure>) {
        let accounts = &self.services().accounts;
        match outcome {
            Err(failure) if failure.code().status().is_server_error() => {
                let detail = Some(failure.reason().to_owned());
                accounts.note_failure(self.agent.id, Door::A2a, failure.code().as_str(), detail);
            }
            _ => accounts.note_call(self.agent.id, Door::A2a),
        }
    }

    pub(crate) fn services(&self) -> &Services {
        &self.gateway.services
    }

    pub(crate) fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Returns whether the server is about to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        (self.gateway.is_stopping)()
    }

    /// Checks that the key permits reading a room, or changing something there.
    pub(crate) fn check_room(&self, room: ChatId, is_change: bool) -> Result<(), ApiError> {
        Ok(self.admitted.presented.scope().permits(Reach::Chat(room), is_change)?)
    }

    /// Checks that the key permits more than one room or agent.
    pub(crate) fn check_rest(&self, is_change: bool) -> Result<(), ApiError> {
        Ok(self.admitted.presented.scope().permits(Reach::Rest, is_change)?)
    }

    /// A slot for a request that waits, if one is free.
    pub(crate) fn slot(&self) -> Option<Slot> {
        self.gateway.slots.take(self.caller.participant(), self.caller.accountable_user())
    }

    /// Whether a message is a text of the caller to the agent.
    pub(crate) fn is_request(&self, message: &Message) -> bool {
        self.reader().is_request(message)
    }

    /// Waits until the caller may read.
    pub(crate) async fn may_read(&self) -> Result<ReadPermit, ApiError> {
        self.reader().may_read().await
    }

    /// Reads the tasks of the caller at the agent.
    pub(crate) fn reader(&self) -> Reader<'_> {
        self.gateway.reader(self.caller, self.agent.id)
    }

    /// The credential that the caller has presented; `None` for a token of the operator, which nobody can revoke.
    pub(crate) fn credential(&self) -> Option<PushCredential> {
        let presented = self.admitted.presented;
        let key = presented.key().map(|key| key.id);
        let session = presented.session().map(|session| session.id);
        (key.is_some() || session.is_some()).then_some(PushCredential { key, session })
    }

    /// Checks that the credential is still valid, and the agent still listed.
    pub(crate) async fn check_again(&self) -> Result<(), ApiError> {
        auth::check_again(&self.request).await?;
        listed(&self.gateway, &self.request).await.map(|_| ())
    }
}

/// The listed agent in the path of a request.
pub(crate) async fn listed(gateway: &Gateway, request: &HttpRequest) -> Result<Arc<Agent>, ApiError> {
    let id = request.match_info().get("agent").and_then(AgentId::parse);
    let found = match id {
        Some(id) => gateway.services.accounts.a2a_agent(id).await?,
        None => None,
    };
    found.ok_or_else(|| {
        ApiError::new(
            ErrorCode::NotFound,
            "No agent with this id is listed for A2A. Ask its owner to list it.",
        )
    })
}
