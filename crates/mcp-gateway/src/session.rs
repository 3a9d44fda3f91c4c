//! One request: its caller, and what the key, the plan, and the query let it use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::account::{Authenticated, Door, Reach};
use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::chat::ReadChatError;
use domain::id::ChatId;
use domain::services::Services;
use http_wire::auth::check_memories;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::limit::{Class, RateLimits, ReadPermit, refused};
use http_wire::query::{FromQuery, QueryReader};
use http_wire::room_waiters::{IsStopping, RoomWaiters, Waiter};
use http_wire::strict_json::Rejected;

use crate::tool::{Room, Tool};

/// What every request needs.
pub(crate) struct Gateway {
    pub(crate) services: Services,
    pub(crate) limits: Arc<RateLimits>,
    pub(crate) waiters: Arc<RoomWaiters>,
    pub(crate) is_stopping: IsStopping,
}

/// The parameters of `/mcp`: which tools there are, and the only room that they reach.
pub(crate) struct Narrowing {
    tools: Vec<Tool>,
    room: Option<ChatId>,
}

impl FromQuery for Narrowing {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let table = Tool::ALL.map(|tool| (tool.name(), tool));
        let tools = query.items("tools", &table, "Only these tools.");
        let room = query.id("room", "Only this room.", ChatId::parse);
        Ok(Self { tools: tools?, room: room? })
    }
}

/// The caller of a request, and what it may use.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) caller: Caller,
    admitted: Authenticated,
    tools: Vec<Tool>,
    room: Option<ChatId>,
    gateway: Arc<Gateway>,
    has_failed: Arc<AtomicBool>,
}

impl Session {
    /// The session of a caller.
    ///
    /// # Errors
    /// `invalid_params` if the query names a room or a tool that the key does not give.
    pub(crate) async fn open(
        gateway: Arc<Gateway>,
        admitted: Authenticated,
        narrowing: Narrowing,
    ) -> Result<Self, ApiError> {
        let Narrowing { tools: wanted, room: wanted_room } = narrowing;
        let own = admitted.presented.scope().chat;
        let room = wanted_room.or(own);
        let caller = admitted.caller;
        let mut session =
            Self { caller, admitted, tools: Vec::new(), room, gateway, has_failed: Arc::default() };
        if let Some(wanted) = wanted_room {
            let _permit = session.may_read().await?;
            let found = session.services().chats.find(caller, wanted).await;
            match found {
                Ok(_) if own.is_none_or(|own| own == wanted) => {}
                Ok(_) | Err(ReadChatError::ChatNotFound) => {
                    let message = "This key cannot see the room. Leave out room, or name another one.";
                    return Err(invalid("/room", message));
                }
                Err(ReadChatError::Store(error)) => return Err(error.into()),
            }
        }
        session.tools = Tool::ALL.into_iter().filter(|tool| session.has(*tool)).collect();
        if let Some(tool) = wanted.iter().find(|tool| !session.tools.contains(tool)) {
            let names = session.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>().join(", ");
            let name = tool.name();
            return Err(invalid("/tools", &format!("This key has no tool `{name}` here. It has: {names}.")));
        }
        if !wanted.is_empty() {
            session.tools.retain(|tool| wanted.contains(tool));
        }
        Ok(session)
    }

    /// Returns whether the key and the plan give this tool.
    fn has(&self, tool: Tool) -> bool {
        let is_for = tool.is_for(self.caller) && !(tool == Tool::Rooms && self.room.is_some());
        is_for && self.check(tool, self.room).is_ok()
    }

    /// The tools of this session.
    pub(crate) fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The only room of this session, if there is one.
    pub(crate) fn only_room(&self) -> Option<ChatId> {
        self.room
    }

    pub(crate) fn services(&self) -> &Services {
        &self.gateway.services
    }

    /// Begins to wait for events of a room.
    pub(crate) fn waiter(&self, room: ChatId) -> Waiter {
        self.gateway.waiters.waiter(room)
    }

    /// Returns whether the server is about to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        (self.gateway.is_stopping)()
    }

    /// The room that an operation is about: the named one, or the only one.
    ///
    /// # Errors
    /// If no room is named, or if it is not the only one.
    pub(crate) fn room(&self, named: Option<ChatId>) -> Result<ChatId, ApiError> {
        let room = self.room_if_any(named)?;
        room.ok_or_else(|| ApiError::validation().with_detail("/room", "can't be blank"))
    }

    /// The named room, or the only one, if there is one.
    pub(crate) fn room_if_any(&self, named: Option<ChatId>) -> Result<Option<ChatId>, ApiError> {
        match (named, self.room) {
            (Some(named), Some(only)) if named != only => Err(ApiError::new(
                ErrorCode::Forbidden,
                format!("This connection reaches only the room {only}. Name it, or leave out room."),
            )),
            (named, only) => Ok(named.or(only)),
        }
    }

    /// Checks that the key and the plan permit a tool.
    pub(crate) fn check(&self, tool: Tool, room: Option<ChatId>) -> Result<(), ApiError> {
        let reach = room.filter(|_| tool.room() == Room::Named).map_or(Reach::Rest, Reach::Chat);
        self.admitted.presented.scope().permits(reach, tool.is_change())?;
        if tool.is_on_memories() { check_memories(self.admitted) } else { Ok(()) }
    }

    /// Checks that the key permits changes beyond its room or agent, such as finding people by their handles.
    pub(crate) fn check_beyond_rooms(&self) -> Result<(), ApiError> {
        Ok(self.admitted.presented.scope().permits(Reach::Rest, true)?)
    }

    /// Checks that the key permits reading a room.
    pub(crate) fn check_room(&self, room: ChatId) -> Result<(), ApiError> {
        self.room_if_any(Some(room))?;
        Ok(self.admitted.presented.scope().permits(Reach::Chat(room), false)?)
    }

    /// Counts a request of a class with limits of its own.
    pub(crate) fn spend(&self, class: Class) -> Result<(), ApiError> {
        let spent = self.gateway.limits.spend(self.caller.participant(), class);
        spent.transpose().map(|_| ()).map_err(refused)
    }

    /// Whether a failure was noted.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Notes a failure for the owner of a calling agent; `detail` is the name of a tool.
    pub(crate) fn note_failure(&self, code: ErrorCode, detail: Option<&str>) {
        if code.is_expected() {
            return;
        }
        self.has_failed.store(true, Ordering::Relaxed);
        if let Caller::Agent(AgentCaller { agent, .. }) = self.caller {
            let detail = detail.map(str::to_owned);
            self.services().accounts.note_failure(agent, Door::Mcp, code.as_str(), detail);
        }
    }

    /// Waits until the caller may read.
    pub(crate) async fn may_read(&self) -> Result<ReadPermit, ApiError> {
        self.gateway.limits.may_read(self.caller.participant(), Class::General).await?.permit().await
    }

    /// The calling agent.
    pub(crate) fn agent(&self) -> Result<AgentCaller, ApiError> {
        match self.caller {
            Caller::Agent(agent) => Ok(agent),
            Caller::User(_) => Err(ApiError::defect("a user got a tool of agents")),
        }
    }

    /// The calling human.
    pub(crate) fn user(&self) -> Result<UserCaller, ApiError> {
        match self.caller {
            Caller::User(user) => Ok(user),
            Caller::Agent(_) => Err(ApiError::defect("an agent got a tool of users")),
        }
    }
}

fn invalid(pointer: &str, message: &str) -> ApiError {
    ApiError::new(ErrorCode::InvalidParams, message).with_detail(pointer, message)
}
