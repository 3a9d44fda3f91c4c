//! The loop of a socket: passes frames and commands to the machine, and carries out its actions.
//! Events reach the client without it ([`crate::outbox`]).

use std::io::ErrorKind;
use std::pin::pin;
use std::time::Duration;

use actix_http::ws::{CloseCode, ProtocolError};
use actix_web::error::PayloadError;
use actix_web::web::Data;
use actix_ws::{AggregatedMessage, AggregatedMessageStream};
use domain::account::Door;
use domain::caller::{AgentCaller, Caller};
use domain::chat::{Entrance, ReadChatError};
use domain::delivery::SubscriptionId;
use futures_util::StreamExt;
use http_wire::error::ErrorCode;
use tokio::time::{Instant, sleep_until};

use crate::context::SocketContext;
use crate::frame::Version;
use crate::hub::claim::SocketClaim;
use crate::hub::{Departure, EndReason};
use crate::inbox::{CommandSignal, InboxItem, Payload};
use crate::machine::{Action, JOIN_CRASHED, JoinDecision, Machine, PendingJoin, TOO_MANY_TOPICS};
use crate::outbox::{LINGER, Outbox};
use crate::payload;
use crate::topic::Topic;

/// The maximum number of rooms whose changes are pushed to a human, the newest by their creation.
const MAX_LISTED_ROOMS: usize = 5_000;

/// A socket, from its handshake to its end.
pub(crate) struct Socket {
    pub(crate) context: Data<SocketContext>,
    pub(crate) claim: SocketClaim,
    pub(crate) outbox: Outbox,
    pub(crate) version: Version,
}

/// The next step of the loop.
#[derive(PartialEq, Eq)]
enum Flow {
    Continue,
    /// Continue after this join has been decided.
    Join(Box<PendingJoin>),
    /// End with this code after other nodes know that the client has left.
    Leave(CloseCode),
    End,
}

impl Socket {
    /// Runs until the client leaves, is silent for too long, or has to be closed.
    // Not an `async fn`, whose future would hold its arguments twice.
    #[expect(clippy::manual_async_fn, reason = "there are ten thousand of these")]
    pub(crate) fn run(mut self, mut inbound: AggregatedMessageStream) -> impl Future<Output = ()> {
        async move {
            let commands = self.outbox.command_signal();
            let idle = self.context.hub.config().idle_timeout;
            let mut silent_until = deadline(idle);
            loop {
                let flow = tokio::select! {
                    // Input counts before the timeout, however long the last frame took.
                    biased;
                    () = commands.came() => self.run_commands(),
                    message = inbound.next() => {
                        silent_until = deadline(idle);
                        match message {
                            Some(Ok(message)) => self.on_message(message),
                            Some(Err(error)) => self.on_broken(&error),
                            None => self.end(EndReason::ConnectionLost, CloseCode::Away, ""),
                        }
                    }
                    () = sleep_until(silent_until) => {
                        self.end(EndReason::IdleTimeout, CloseCode::Protocol, "no data for too long")
                    }
                };
                let flow = match flow {
                    // Boxed, so that a socket uses no memory for a join while none is pending.
                    Flow::Join(join) => Box::pin(self.join(&commands, *join)).await,
                    Flow::Leave(code) => {
                        Box::pin(self.claim.wait_until_released()).await;
                        self.end(EndReason::ClientClosed, code, "")
                    }
                    flow => flow,
                };
                if flow == Flow::End {
                    break;
                }
            }
            self.outbox.forget_after(LINGER);
        }
    }

    /// Carries out all pending commands.
    fn run_commands(&mut self) -> Flow {
        while let Some(command) = self.outbox.next_command() {
            if self.on_command(command) == Flow::End {
                return Flow::End;
            }
        }
        Flow::Continue
    }

    fn on_message(&mut self, message: AggregatedMessage) -> Flow {
        // Commands that precede a frame are carried out before its reply.
        if self.run_commands() == Flow::End {
            return Flow::End;
        }
        match message {
            AggregatedMessage::Text(text) => self.on_text(&text),
            AggregatedMessage::Ping(bytes) => self.unless_full(self.outbox.pong(bytes)),
            AggregatedMessage::Pong(_) => Flow::Continue,
            AggregatedMessage::Binary(_) => self.refuse(CloseCode::Unsupported, "frames must be text"),
            AggregatedMessage::Close(reason) => {
                // Released first: the client may reconnect as soon as it sees the reply.
                self.claim.release(Departure::Closed);
                let code = reason.map_or(CloseCode::Normal, |reason| answer_to(reason.code));
                Flow::Leave(code)
            }
        }
    }

    fn on_text(&mut self, text: &str) -> Flow {
        for action in self.outbox.machine(|machine| machine.on_text(text)) {
            let flow = self.carry_out(action);
            if flow != Flow::Continue {
                return flow;
            }
        }
        Flow::Continue
    }

    /// Subscribes first and reads the store then: events in between wait in the inbox, behind the
    /// reply.
    async fn join(&mut self, commands: &CommandSignal, join: PendingJoin) -> Flow {
        let mut turn = pin!(self.claim.join_permit());
        let _turn = loop {
            tokio::select! {
                biased;
                turn = &mut turn => break turn,
                () = commands.came() => if self.run_commands() == Flow::End {
                    return Flow::End;
                },
            }
        };
        self.outbox.hold();
        let flow = self.join_held(join).await;
        self.outbox.resume();
        flow
    }

    async fn join_held(&mut self, join: PendingJoin) -> Flow {
        let is_on = |machine: &mut Machine| machine.has_joined(join.topic);
        if self.claim.is_on_too_many_topics() && !self.outbox.machine(is_on) {
            return self.answer(join, JoinDecision::Refused(TOO_MANY_TOPICS));
        }
        let subscription = self.claim.subscribe(join.topic);
        self.decide(join, subscription).await
    }

    /// Decides a join, for which the socket has `subscription`.
    async fn decide(&mut self, join: PendingJoin, subscription: SubscriptionId) -> Flow {
        let topic = join.topic;
        // Items of an earlier subscription to the topic may have arrived after the last look at the
        // inbox.
        while let Some(command) = self.outbox.next_command_before(subscription) {
            if self.on_command(command) == Flow::End {
                // The machine does not know this subscription, so it must be ended here.
                self.claim.unsubscribe(topic, subscription);
                return Flow::End;
            }
        }
        let decision = match self.admit(&join, subscription).await {
            Ok(response) => JoinDecision::Granted { response, subscription },
            Err(reason) => {
                self.claim.unsubscribe(topic, subscription);
                JoinDecision::Refused(reason)
            }
        };
        self.answer(join, decision)
    }

    fn answer(&self, join: PendingJoin, decision: JoinDecision) -> Flow {
        for action in self.outbox.machine(|machine| machine.on_decision(join, decision)) {
            if self.carry_out(action) == Flow::End {
                return Flow::End;
            }
        }
        Flow::Continue
    }

    /// The response to a granted join, or the reason for refusing it.
    async fn admit(&self, join: &PendingJoin, subscription: SubscriptionId) -> Result<String, &'static str> {
        self.context.hub.interests_confirmed().await;
        let entrance = self.enter(join).await?;
        self.claim.apply_access(join.topic, subscription, &entrance);
        self.list_rooms(join.topic).await?;
        self.snapshot(join.topic).await
    }

    /// The caller's access to the chat of a topic.
    async fn enter(&self, join: &PendingJoin) -> Result<Entrance, &'static str> {
        let Some(chat) = join.chat else { return Ok(Entrance::default()) };
        self.context.chats.enter(self.claim.caller, chat).await.map_err(why_refused)
    }

    /// Reads the rooms whose changes are pushed to a human.
    async fn list_rooms(&self, topic: Topic) -> Result<(), &'static str> {
        let Topic::UserRooms(user) = topic else { return Ok(()) };
        let rooms = self.context.chats.newest_ids(user, MAX_LISTED_ROOMS).await;
        self.context.hub.list_rooms(user, rooms.map_err(|error| why_refused(error.into()))?);
        self.context.hub.interests_confirmed().await;
        Ok(())
    }

    /// The snapshot in the reply to a join.
    async fn snapshot(&self, topic: Topic) -> Result<String, &'static str> {
        match topic {
            Topic::RoomActivity(chat) => Ok(payload::working_agents(self.context.activity.working_in(chat))),
            Topic::RoomParticipants(chat) => {
                let ask = async || self.context.chats.roster(self.claim.caller, chat).await;
                let people = self.claim.people(chat, ask).await.map_err(why_refused)?;
                Ok(payload::participant_presence(&people))
            }
            _ => Ok("{}".to_owned()),
        }
    }

    fn carry_out(&self, action: Action) -> Flow {
        match action {
            Action::Send(text) => self.unless_full(self.outbox.text(text)),
            Action::Refuse(text, reason) => {
                if let Caller::Agent(AgentCaller { agent, .. }) = self.claim.caller {
                    let (code, detail) = match reason {
                        JOIN_CRASHED => (ErrorCode::ServiceUnavailable.as_str(), None),
                        reason => ("join_refused", Some(reason.to_owned())),
                    };
                    self.context.accounts.note_failure(agent, Door::Socket, code, detail);
                }
                self.unless_full(self.outbox.text(text))
            }
            Action::Unsubscribe(topic, subscription) => {
                self.claim.unsubscribe(topic, subscription);
                Flow::Continue
            }
            Action::Unreadable if self.version == Version::V1 => {
                self.refuse(CloseCode::Error, "not a frame of version 1; was vsn=2.0.0 meant?")
            }
            Action::Unreadable => self.refuse(CloseCode::Unsupported, "not a frame"),
            // It is the last action of a text.
            Action::Authorize(join) => Flow::Join(Box::new(join)),
        }
    }

    fn on_command(&mut self, command: InboxItem) -> Flow {
        match command {
            InboxItem::Event(event) => {
                self.outbox.event(event);
                Flow::Continue
            }
            InboxItem::End { topic, subscription } => {
                let action = self.outbox.machine(|machine| machine.on_end(topic, subscription));
                action.map_or(Flow::Continue, |action| self.carry_out(action))
            }
            InboxItem::Superseded { payload } => {
                self.outbox.drop_backlog();
                self.notify(&payload);
                let why = "another connection of this agent took over";
                self.end(EndReason::Superseded, CloseCode::Away, why)
            }
            InboxItem::Revoked => {
                self.outbox.drop_backlog();
                if let Some(payload) = self.claim.revocation() {
                    self.notify(&payload);
                }
                let why = "the credential is no longer valid";
                self.end(EndReason::CredentialEnded, CloseCode::Policy, why)
            }
            InboxItem::Stop => self.end(EndReason::ServerClosed, CloseCode::Restart, "connect again"),
            InboxItem::Overflow => self.unless_full(false),
        }
    }

    /// Tells an agent that listens for it why its socket ends.
    fn notify(&self, payload: &Payload) {
        let Some(agent) = self.claim.caller.participant().agent() else { return };
        let topic = Topic::AgentControl(agent);
        let notice = self.outbox.machine(|machine| machine.on_notice(topic, payload.event, &payload.json));
        notice.map(|text| self.outbox.text(text));
    }

    fn on_broken(&self, error: &ProtocolError) -> Flow {
        let (code, why) = match error {
            ProtocolError::Overflow => (CloseCode::Size, "the frame is too large"),
            ProtocolError::Io(error) if error.kind() == ErrorKind::InvalidData => {
                (CloseCode::Invalid, "not UTF-8")
            }
            ProtocolError::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref()) {
                Some(PayloadError::Overflow) => (CloseCode::Size, "the frame is too large"),
                Some(PayloadError::UnknownLength) => (CloseCode::Size, "the message has too many fragments"),
                Some(PayloadError::EncodingCorrupted) => (CloseCode::Protocol, "no extension was negotiated"),
                // The connection broke; the client hardly ever receives this.
                Some(_) => return self.end(EndReason::ConnectionLost, CloseCode::Away, ""),
                None => (CloseCode::Size, "the message is too large"),
            },
            _ => (CloseCode::Protocol, "not a frame of the WebSocket protocol"),
        };
        self.refuse(code, why)
    }

    /// Ends a socket whose queue exceeds its limit.
    fn unless_full(&self, fits: bool) -> Flow {
        if fits {
            return Flow::Continue;
        }
        self.claim.note_end(EndReason::SlowConsumer);
        tracing::info!(participant = %self.claim.caller.participant(), "socket closed: client reads too slowly");
        self.outbox.cut(CloseCode::Again, "client reads too slowly");
        Flow::End
    }

    /// Ends a socket whose client does not keep to the protocol.
    fn refuse(&self, code: CloseCode, why: &str) -> Flow {
        self.end(EndReason::ProtocolError, code, why)
    }

    fn end(&self, reason: EndReason, code: CloseCode, why: &str) -> Flow {
        self.claim.note_end(reason);
        self.outbox.close(code, why);
        Flow::End
    }
}

impl Drop for Socket {
    /// However the loop ends, no trace of the socket stays in the hub.
    fn drop(&mut self) {
        for (topic, subscription) in self.outbox.machine(|machine| machine.topics().collect::<Vec<_>>()) {
            self.claim.unsubscribe(topic, subscription);
        }
    }
}

fn why_refused(error: ReadChatError) -> &'static str {
    match error {
        ReadChatError::ChatNotFound => "unauthorized",
        ReadChatError::Store(error) => {
            tracing::warn!(error = %error, "join could not be checked");
            JOIN_CRASHED
        }
    }
}

fn deadline(idle: Duration) -> Instant {
    Instant::now() + idle
}

/// The code of the reply to a client's Close: its own, if that may be sent at all (RFC 6455, 7.4).
fn answer_to(code: CloseCode) -> CloseCode {
    match u16::from(code) {
        1000..=1003 | 1007..=1014 | 3000..=4999 => code,
        _ => CloseCode::Protocol,
    }
}

#[cfg(test)]
mod tests;
