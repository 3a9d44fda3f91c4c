//! The claim of a live socket: taken before the upgrade, released at the end.
//!
//! With several nodes, the store grants the claim of an agent.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::account::{EndReason, Presented};
use domain::caller::{AgentCaller, Caller};
use domain::chat::{Entrance, Roster};
use domain::delivery::SubscriptionId;
use domain::id::{ChatId, ParticipantId};
use domain::node::{AgentClaim, ClaimReason, Granted, OnConflict};
use domain::ports::Presence;
use domain::time::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::timeout;

use super::Hub;
use super::open_sockets::{ClaimRefused, Opened, Precedence};
use super::presence::Departure;
use super::quotas::{CallerQuota, SocketPermit};
use crate::acknowledgements::AcknowledgementSink;
use crate::inbox::{Inbox, Payload, Reader, SocketId};
use crate::other_nodes::PendingClaim;
use crate::payload;
use crate::person::Person;
use crate::topic::Topic;

/// How long a new socket waits for the store.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the reply to a client that leaves is delayed at most, until other nodes know of it.
const MAX_CLOSE_DELAY: Duration = Duration::from_secs(1);

/// The claim of a live socket; released when it is dropped.
pub struct SocketClaim {
    hub: Arc<Hub>,
    /// The caller of the socket.
    pub(crate) caller: Caller,
    /// The credential that opened the socket.
    presented: Presented,
    id: SocketId,
    began_at: Timestamp,
    pub(super) inbox: Inbox,
    quota: Arc<CallerQuota>,
    ended: OnceLock<EndReason>,
    /// Counts the connection; moved to the body of its response.
    pub(crate) permit: Option<SocketPermit>,
}

/// The result of a claim.
type Claimed = Result<(SocketClaim, Reader), ClaimRefused>;

/// A socket of an agent that waits for its claim.
struct Pending {
    hub: Arc<Hub>,
    caller: AgentCaller,
    presented: Presented,
    permit: SocketPermit,
    on_conflict: OnConflict,
    answer: oneshot::Sender<Claimed>,
}

impl PendingClaim for Pending {
    fn claim(&self) -> AgentClaim {
        AgentClaim { agent: self.caller.agent, claiming: ClaimReason::NewSocket(self.on_conflict) }
    }

    fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    fn open(self: Box<Self>) {
        let precedence = Precedence::Local(self.on_conflict);
        self.admit(Some(precedence));
    }

    fn resolve(self: Box<Self>, granted: Granted) {
        self.admit(granted.map(Precedence::Granted));
    }

    fn fail(self: Box<Self>) {
        drop(self.answer.send(Err(ClaimRefused::Unavailable)));
    }
}

impl Pending {
    fn admit(self, precedence: Option<Precedence>) {
        let Self { hub, caller, presented, permit, answer, .. } = self;
        let opened = match precedence {
            Some(precedence) => hub.admit(caller.into(), presented, permit, precedence),
            None => Err(ClaimRefused::Conflict),
        };
        // The store has granted a socket that was not opened.
        if precedence.is_some() && opened.is_err() {
            hub.others.presence_changed(ParticipantId::Agent(caller.agent));
        }
        // If the receiver is gone, dropping the answer releases the socket.
        drop(answer.send(opened));
    }
}

impl Hub {
    /// Opens a socket for the caller, who presented `presented`. An agent has one live socket: the
    /// older one is superseded in the same step, on this node or another.
    ///
    /// # Errors
    /// [`ClaimRefused`].
    pub async fn open(
        self: &Arc<Self>,
        caller: Caller,
        presented: Presented,
        on_conflict: OnConflict,
    ) -> Claimed {
        let Caller::Agent(agent) = caller else { return self.claim(caller, presented, on_conflict) };
        let permit = self.open_sockets.permit(caller.participant())?;
        // A socket that would be refused must not supersede another.
        self.open_sockets.may_enter(caller, presented)?;
        let (answer, answered) = oneshot::channel();
        let hub = self.clone();
        self.others.claim(Box::new(Pending { hub, caller: agent, presented, permit, on_conflict, answer }));
        match timeout(PATIENCE, answered).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(_)) | Err(_) => Err(ClaimRefused::Unavailable),
        }
    }

    /// Opens a socket without asking the store.
    pub(crate) fn claim(
        self: &Arc<Self>,
        caller: Caller,
        presented: Presented,
        on_conflict: OnConflict,
    ) -> Claimed {
        let permit = self.open_sockets.permit(caller.participant())?;
        self.admit(caller, presented, permit, Precedence::Local(on_conflict))
    }

    /// Opens a socket that has a socket permit.
    fn admit(
        self: &Arc<Self>,
        caller: Caller,
        presented: Presented,
        permit: SocketPermit,
        precedence: Precedence,
    ) -> Claimed {
        let lock = self.presence.lock(caller.participant());
        let precedence = match precedence {
            // Changes that followed the grant may have arrived before this point.
            Precedence::Granted(number) if lock.has_newer(number) => Precedence::Overtaken,
            precedence => precedence,
        };
        let began_at = self.clock.now();
        let opened = self.open_sockets.open(caller, presented, precedence, began_at)?;
        let Opened { id, inbox, reader, is_first } = opened;
        let news = lock.arrive(matches!(precedence, Precedence::Granted(_)));
        if is_first && matches!(caller, Caller::User(_)) {
            self.others.presence_changed(caller.participant());
        }
        self.announce(&lock, news);
        drop(lock);
        let quota = permit.quota();
        let (hub, ended, permit) = (self.clone(), OnceLock::new(), Some(permit));
        Ok((SocketClaim { hub, caller, presented, id, began_at, inbox, quota, ended, permit }, reader))
    }
}

impl SocketClaim {
    /// Returns whether the caller has reached its quota of topics. Joins that are being decided can
    /// exceed it slightly.
    pub(crate) fn is_on_too_many_topics(&self) -> bool {
        self.quota.is_on_topics(self.hub.config.max_topics_per_caller)
    }

    /// Waits until one more join of the caller may read the store.
    pub(crate) fn join_permit(&self) -> impl Future<Output = Option<OwnedSemaphorePermit>> + use<> {
        self.quota.join_permit()
    }

    /// Where this socket records acknowledgements; `None` if they are not needed.
    pub(crate) fn acknowledgements(&self) -> Option<AcknowledgementSink> {
        match self.caller {
            Caller::Agent(agent) => {
                Some(AcknowledgementSink::new(agent.agent, self.hub.acknowledgements.clone()))
            }
            Caller::User(_) => None,
        }
    }

    /// Subscribes to a topic: its events arrive from now on. A socket has one subscription per
    /// topic, so an earlier one is replaced.
    pub fn subscribe(&self, topic: Topic) -> SubscriptionId {
        let (who, inbox, permit) = (self.caller.participant(), self.inbox.clone(), self.quota.topic_permit());
        let mut interest = self.hub.others.take_interest(topic, who.user().is_some());
        if let Topic::UserRooms(user) = topic {
            interest = Some(Box::new((interest, self.hub.listed_rooms.subscribe(user))));
        }
        self.hub.subscriptions.subscribe(topic, self.id, who, inbox, permit, interest)
    }

    /// Applies the caller's access to the topic's chat as read from the store, with the last
    /// sequence. Ends the subscription at once if the access no longer holds.
    pub fn apply_access(&self, topic: Topic, subscription: SubscriptionId, entrance: &Entrance) {
        let now = self.hub.clock.now();
        self.hub.subscriptions.apply_access(topic, self.id, subscription, entrance, now);
    }

    /// Ends this subscription.
    pub fn unsubscribe(&self, topic: Topic, subscription: SubscriptionId) {
        self.hub.subscriptions.unsubscribe(topic, self.id, subscription);
    }

    /// The participants of a chat that this socket is subscribed to, with their presence; later
    /// changes arrive as events. `ask` is called for the first subscriber.
    pub async fn people<E>(
        &self,
        chat: ChatId,
        ask: impl AsyncFnOnce() -> Result<Roster, E>,
    ) -> Result<Vec<(Person, bool)>, E> {
        let people = self.hub.subscriptions.people(chat, ask).await?;
        let there = |person: Person| (person, self.hub.is_present(person.id, person.is_external));
        Ok(people.into_iter().map(there).collect())
    }

    /// The event for an agent that cannot connect again: its key has ended, or the agent was deleted or disabled.
    /// `None` if only its token has ended, since its client may reconnect with a new one.
    pub(crate) fn revocation(&self) -> Option<Payload> {
        let agent = self.caller.participant().agent()?;
        let is_final = self.presented.key().is_some() || self.hub.open_sockets.is_out(self.caller);
        is_final.then(|| payload::revoked(agent, self.id.get()))
    }

    /// Counts the end of the socket.
    pub(crate) fn note_end(&self, reason: EndReason) {
        let sockets = &self.hub.open_sockets;
        let reason = match reason {
            EndReason::CredentialEnded if sockets.is_out(self.caller) => EndReason::AccountEnded,
            reason => reason,
        };
        sockets.count_end(reason);
        // The first reason counts.
        let _ = self.ended.set(reason);
    }

    /// Releases the claim, so that another socket can take it.
    pub fn release(&self, departure: Departure) {
        let lock = self.hub.presence.lock(self.caller.participant());
        let Some(last) = self.hub.open_sockets.close(self.id, self.caller, self.presented) else { return };
        if let Caller::Agent(agent) = self.caller {
            let reason = match departure {
                Departure::Closed => EndReason::ClientClosed,
                Departure::Dropped => self.ended.get().copied().unwrap_or(EndReason::ConnectionLost),
            };
            self.hub.note_disconnect(agent.agent, Some(self.began_at), reason);
        }
        let news = lock.depart(departure == Departure::Dropped && !last.is_out);
        self.hub.others.presence_changed(lock.who());
        self.hub.announce(&lock, news);
    }

    /// Resolves when other nodes see the claim as released, or shortly after.
    pub async fn wait_until_released(&self) {
        // A store that does not answer must not delay the close for long.
        let _ = timeout(MAX_CLOSE_DELAY, self.hub.others.stored()).await;
    }
}

impl Drop for SocketClaim {
    fn drop(&mut self) {
        self.release(Departure::Dropped);
    }
}
