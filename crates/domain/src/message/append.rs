//! Assigns the next sequence in a chat to a message, and updates the state of the chat. Pure;
//! stores call it on locked rows, or on cached ones whose versions the write compares.

use std::sync::Arc;
use std::time::Duration;

use super::{AppendRefused, Appended, MaxHops, Message, NewMessage, RespondWithin};
use crate::budget::ExceededBudgets;
use crate::chat::{ChatTitle, MemberState, ParticipantStatus};
use crate::delivery::Delivery;
use crate::file::File;
use crate::foreign::{ForeignPolicy, Origin};
use crate::id::{AgentId, ChatId, FileId, OrganizationId, ParticipantId, Sequence};
use crate::plan::{LimitReached, Resource, check};
use crate::time::Timestamp;

/// The state of a chat that the next message depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChatState {
    /// Set if the first text is still to come, and no title was set: that text may give one.
    pub awaits_title: bool,
    /// The sequence of the newest message; 0 before the first.
    pub last_sequence: Sequence,
    /// The number of deleted messages: their sequences are not used again, and no plan counts them.
    pub deleted_messages: i64,
    /// The time of the newest message.
    pub newest: Option<Timestamp>,
    /// The bytes of its messages, see [`Message::bytes`].
    pub content_bytes: i64,
    /// The number of texts that were ever added, since the store counts them.
    pub texts: i64,
    /// Set while the chat's organization is paused: every agent is stopped.
    pub is_paused: bool,
    /// The deadline of texts that have none of their own.
    pub respond_within: Option<RespondWithin>,
    /// Its own limit of hops.
    pub max_hops: Option<MaxHops>,
    /// That of its organization.
    pub organization_max_hops: Option<MaxHops>,
    /// Its organization; `None` without one, to which nothing is foreign.
    pub organization: Option<OrganizationId>,
    /// The policy of its organization.
    pub foreign: ForeignPolicy,
    /// The plan of the chat's organization; `None` without a plan.
    pub plan: Option<ChatPlan>,
}

/// The limits of a plan for a chat's messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChatPlan {
    /// Its name.
    pub name: String,
    /// The maximum number of messages in the chat.
    pub messages: Option<u32>,
    /// The maximum number of bytes that the organization may store.
    pub bytes: Option<u64>,
    /// The number of bytes that it stores, as counted last
    /// ([`crate::plan::PlanRepository::count_bytes`]).
    pub organization_bytes: u64,
}

impl ChatPlan {
    /// Returns whether it limits the number of messages, or allows no more bytes.
    pub fn limits(&self) -> bool {
        self.messages.is_some() || self.bytes.is_some_and(|bytes| self.organization_bytes >= bytes)
    }

    /// Checks that a chat with `messages` may have one more.
    fn check(&self, messages: u64, chat: ChatId) -> Result<(), LimitReached> {
        check(Resource::Messages, self.messages.map(u64::from), messages, &self.name, Some(chat))?;
        check(Resource::Bytes, self.bytes, self.organization_bytes, &self.name, None)
    }
}

/// A message with its sequence.
#[derive(Clone, PartialEq, Debug)]
pub struct AppendDecision {
    /// The message, with a delivery for every addressed agent, by agent id.
    pub message: Message,
    /// See [`Appended::recipients`](super::Appended::recipients).
    pub recipients: Vec<AgentId>,
    /// The addressed agents that are stopped in the chat, by agent id.
    pub stopped: Vec<AgentId>,
    /// The addressed agents that are paused, by agent id.
    pub paused: Vec<AgentId>,
    /// See [`Appended::counts_attempts`](super::Appended::counts_attempts).
    pub counts_attempts: bool,
    /// Set if the sender's membership becomes active.
    pub activates: bool,
    /// See [`Appended::hop_limit`](super::Appended::hop_limit).
    pub hop_limit: Option<u32>,
    /// See [`Appended::exceeded`](super::Appended::exceeded).
    pub exceeded: Option<Arc<ExceededBudgets>>,
    /// Set for the first text of a chat without a title.
    pub titling: Option<Titling>,
}

impl AppendDecision {
    /// What was appended to the chat, which is in this state.
    pub fn into_appended(self, chat: &ChatState) -> Appended {
        let Self { message, recipients, stopped, paused, hop_limit, exceeded, counts_attempts, .. } = self;
        let (is_paused, foreign) = (chat.is_paused, chat.foreign);
        Appended {
            message,
            recipients,
            stopped,
            paused,
            is_paused,
            foreign,
            hop_limit,
            exceeded,
            counts_attempts,
            titled: None,
        }
    }
}

/// The effect of the first text on a chat without a title; no later text gives one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Titling {
    /// The title, if every agent in the chat may read the text. Humans read the whole chat.
    pub title: Option<ChatTitle>,
}

impl ChatState {
    /// Assigns the next sequence to `new`, and updates the state. `member` returns the
    /// membership of a user or agent, and is called for the sender and the mentioned ones; `agents` are the
    /// agents in the chat, which matter only while it [awaits](Self::awaits_title) a title; `file` returns those
    /// files of the chat that are live. Times follow the sequence, so that a reader who asks for all messages
    /// since a time misses none.
    pub fn append(
        &mut self,
        new: NewMessage,
        member: impl Fn(ParticipantId) -> Option<MemberState>,
        agents: &[AgentId],
        file: impl Fn(FileId) -> Option<File>,
    ) -> Result<AppendDecision, AppendRefused> {
        let Some(sender) = member(new.sender) else { return Err(AppendRefused::NotParticipant) };
        if !new.is_notice && sender.or_stopped(self.is_paused && new.sender.agent().is_some()).is_halted() {
            return Err(AppendRefused::Stopped);
        }
        if let Some(plan) = &self.plan
            && !new.is_notice
        {
            let messages = (self.last_sequence.get() - self.deleted_messages).cast_unsigned();
            plan.check(messages, new.chat).map_err(AppendRefused::Limit)?;
        }
        let (hop_limit, counts_attempts) = (self.hop_limit(&new), new.counts_attempts());
        let (mut addressed, mut stopped, mut paused) =
            (Vec::with_capacity(new.mentions.len()), Vec::new(), Vec::new());
        for (index, mention) in new.mentions.iter().enumerate() {
            let Some(state) = member(mention.id) else { return Err(AppendRefused::MentionLeft { index }) };
            if let Some(agent) = mention.addressed_agent() {
                addressed.push(agent);
                if state.is_stopped {
                    stopped.push(agent);
                }
                if state.is_paused {
                    paused.push(agent);
                }
            }
        }
        let attach = |id: &FileId| file(*id).ok_or(AppendRefused::UnknownAttachment(*id));
        let attachments = new.attachments.iter().map(attach).collect::<Result<Vec<_>, _>>()?;
        addressed.sort_unstable();
        stopped.sort_unstable();
        paused.sort_unstable();
        let is_in = |agents: &[AgentId], agent: &AgentId| agents.binary_search(agent).is_ok();
        let is_offered =
            |agent: &&AgentId| !self.is_paused && !is_in(&stopped, agent) && !is_in(&paused, agent);
        let recipients = addressed.iter().filter(is_offered).copied().collect();
        let after = |newest: Timestamp| newest.plus(Duration::from_micros(1));
        let at = self.newest.map_or(new.now, |newest| new.now.max(after(newest)));
        self.newest = Some(at);
        self.last_sequence = self.last_sequence.next();
        let by_default = self.respond_within.filter(|_| !addressed.is_empty()).map(|within| within.after(at));
        let (exceeded, is_notice) = (new.exceeded.clone(), new.is_notice);
        let message = Message {
            origin: Origin::of(new.is_foreign_to(self.organization), self.foreign),
            respond_by: new.respond_by.or(by_default),
            attachments: attachments.into_iter().map(|file| File { expires_at: None, ..file }).collect(),
            deliveries: addressed.into_iter().map(Delivery::new).collect(),
            ..new.into_message(self.last_sequence, at)
        };
        self.content_bytes += message.bytes();
        self.texts += i64::from(!message.kind.is_event());
        let titling = if self.awaits_title { message.titling(agents) } else { None };
        self.awaits_title &= titling.is_none();
        Ok(AppendDecision {
            message,
            recipients,
            stopped,
            paused,
            hop_limit,
            exceeded,
            counts_attempts,
            activates: sender.status == ParticipantStatus::Inactive && !is_notice,
            titling,
        })
    }
}

impl Message {
    /// The effect on a chat without a title, if this is its first text; `agents` are those in the chat.
    fn titling(&self, agents: &[AgentId]) -> Option<Titling> {
        if self.kind.is_event() {
            return None;
        }
        let title = ChatTitle::from_message(&self.content)?;
        let is_for_all = agents.iter().all(|agent| self.is_readable_by(*agent));
        Some(Titling { title: Some(title).filter(|_| is_for_all) })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::id::MessageId;
    use crate::message::{Cause, Mention, MentionKind, MessageKind, Place, sample};

    const ANN: u128 = 1;

    fn chat() -> ChatState {
        ChatState {
            awaits_title: true,
            last_sequence: Sequence::new(4),
            deleted_messages: 1,
            newest: None,
            content_bytes: 40,
            texts: 3,
            is_paused: false,
            respond_within: None,
            max_hops: None,
            organization_max_hops: None,
            organization: None,
            foreign: ForeignPolicy::default(),
            plan: None,
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is passed where a participant may be missing")]
    const fn active(_: ParticipantId) -> Option<MemberState> {
        Some(MemberState::playing(ParticipantStatus::Active))
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is passed where a participant may be missing")]
    const fn inactive(_: ParticipantId) -> Option<MemberState> {
        Some(MemberState::playing(ParticipantStatus::Inactive))
    }

    fn only_ann(who: ParticipantId) -> Option<MemberState> {
        active(who).filter(|_| who.uuid() == Uuid::from_u128(ANN))
    }

    fn plan(messages: u32) -> ChatPlan {
        let (name, messages) = ("tiny".to_owned(), Some(messages));
        ChatPlan { name, messages, bytes: Some(1000), organization_bytes: 999 }
    }

    fn new(now: i64, agents: &[u128]) -> NewMessage {
        let mention = |id: &u128| Mention {
            id: ParticipantId::Agent(AgentId::new(Uuid::from_u128(*id))),
            handle: String::new(),
            name: String::new(),
            kind: MentionKind::Mention,
        };
        let sender = sample::ann();
        let (id, chat) = (MessageId::new(Uuid::from_u128(7)), ChatId::new(Uuid::from_u128(8)));
        let now = Timestamp::from_micros(now);
        let text = NewMessage::new(id, chat, sender, MessageKind::Text, "hello".to_owned(), now);
        NewMessage { mentions: agents.iter().map(mention).collect(), max_hops: MaxHops::default(), ..text }
    }

    impl ChatState {
        /// Appends what has no attachments.
        fn append_text(
            &mut self,
            new: NewMessage,
            member: impl Fn(ParticipantId) -> Option<MemberState>,
            agents: &[AgentId],
        ) -> Result<AppendDecision, AppendRefused> {
            self.append(new, member, agents, |_| None)
        }
    }

    #[test]
    fn the_sequence_and_the_times_go_on() {
        let mut chat = chat();
        let first = chat.append_text(new(100, &[]), active, &[]).unwrap();
        let second = chat.append_text(new(90, &[]), inactive, &[]).unwrap();
        assert_eq!((first.message.sequence.get(), second.message.sequence.get()), (5, 6));
        assert_eq!((first.message.created_at.micros(), second.message.created_at.micros()), (100, 101));
        let title = ChatTitle::given(Some("hello")).unwrap();
        assert_eq!(
            (first.titling, second.titling),
            (Some(Titling { title }), None),
            "the first gives the title"
        );
        assert_eq!((first.activates, second.activates), (false, true));
    }

    /// A participant must not learn from the title a text that was addressed to others.
    #[test]
    fn only_a_text_for_every_agent_gives_a_title() {
        let agent = |number| AgentId::new(Uuid::from_u128(number));
        for (mentioned, present, gives) in
            [(&[3][..], &[3][..], true), (&[3, 9], &[3, 9], true), (&[3], &[3, 9], false), (&[], &[3], false)]
        {
            let agents = present.iter().copied().map(agent).collect::<Vec<_>>();
            let mut chat = chat();
            let decision = chat.append_text(new(1, mentioned), active, &agents).unwrap();
            assert_eq!(decision.titling.unwrap().title.is_some(), gives, "{mentioned:?} of {present:?}");
            let later = chat.append_text(new(2, present), active, &agents).unwrap();
            assert_eq!(later.titling, None, "it is the first text or none");
        }
        let own = NewMessage { sender: ParticipantId::Agent(agent(3)), ..new(1, &[9]) };
        let both = [agent(3), agent(9)];
        let decision = chat().append_text(own, active, &both).unwrap();
        assert!(decision.titling.unwrap().title.is_some(), "a sender knows what it has sent");
    }

    #[test]
    fn an_event_gives_no_title() {
        let mut chat = chat();
        let event = NewMessage { kind: MessageKind::Thought, ..new(1, &[]) };
        assert_eq!(chat.append_text(event, active, &[]).unwrap().titling, None);
        assert_eq!(chat.texts, 3, "an event is no text");
        assert!(
            chat.append_text(new(2, &[]), active, &[]).unwrap().titling.is_some(),
            "it is still the first text"
        );
        assert_eq!(chat.texts, 4);
    }

    #[test]
    fn bytes_are_those_of_text_and_metadata_and_stop_at_the_limit() {
        let send = |chat: &mut ChatState, message| chat.append_text(message, active, &[]);
        let mut chat = ChatState { plan: Some(plan(9)), ..chat() };
        send(&mut chat, NewMessage { content: "h\u{e9}".to_owned(), ..new(1, &[]) }).unwrap();
        assert_eq!(chat.content_bytes, 40 + 3);
        let metadata = serde_json::json!({ "a": 1 }).as_object().cloned();
        send(&mut chat, NewMessage { metadata, ..new(2, &[]) }).unwrap();
        assert_eq!(chat.content_bytes, 43 + 5 + 7);
        chat.plan.as_mut().unwrap().organization_bytes = 1000;
        let Err(AppendRefused::Limit(reached)) = send(&mut chat, new(3, &[])) else { panic!("it is full") };
        assert_eq!((reached.resource, reached.limit, reached.scope), (Resource::Bytes, 1000, None));
        assert_eq!(chat.content_bytes, 55);
    }

    /// A known cause decides, and without one the sender does.
    #[test]
    fn the_origin_is_that_of_the_tree() {
        let organization = |number| Some(OrganizationId::new(Uuid::from_u128(number)));
        let place = new(1, &[]).id;
        let place = Place { message: None, root: place, hop: 1, originator: new(1, &[]).sender };
        let (known, unclear) = (Cause::Known(place), Cause::Ambiguous { hop: 1 });
        for (cause, follows_foreign, sender, is_foreign) in [
            (Cause::None, false, organization(1), false),
            (Cause::None, false, organization(2), true),
            (Cause::None, false, None, false),
            (known, false, organization(2), false),
            (known, true, organization(1), true),
            (unclear, false, organization(1), false),
            (unclear, false, organization(2), true),
            (unclear, true, organization(1), true),
        ] {
            for (own, policy, origin) in [
                (organization(1), ForeignPolicy::Label, Origin::Labeled),
                (organization(1), ForeignPolicy::Allow, Origin::Allowed),
            ] {
                let mut chat = ChatState { organization: own, foreign: policy, ..chat() };
                let new = NewMessage { cause, follows_foreign, organization: sender, ..new(1, &[]) };
                let decided = chat.append_text(new, active, &[]).unwrap().message.origin;
                let expected = if is_foreign { origin } else { Origin::Own };
                assert_eq!(decided, expected, "{cause:?} {follows_foreign} {sender:?}");
            }
        }
        let nobodys = NewMessage { organization: organization(2), ..new(1, &[]) };
        assert_eq!(chat().append_text(nobodys, active, &[]).unwrap().message.origin, Origin::Own);
    }

    #[test]
    fn deliveries_are_in_the_order_of_the_agents() {
        let decision = chat().append_text(new(1, &[9, 3]), active, &[]).unwrap();
        let agents = decision.message.deliveries.iter().map(|delivery| delivery.agent().uuid().as_u128());
        assert_eq!(agents.collect::<Vec<_>>(), [3, 9]);
    }

    /// What is written to a stopped agent waits for it, and is not pushed.
    #[test]
    fn a_stopped_agent_sends_nothing_and_is_no_recipient() {
        let stops_three = |who: ParticipantId| {
            let is_stopped = who.uuid() == Uuid::from_u128(3);
            active(who).map(|state| MemberState { is_stopped, ..state })
        };
        let decision = chat().append_text(new(1, &[9, 3]), stops_three, &[]).unwrap();
        let agent = |number| AgentId::new(Uuid::from_u128(number));
        assert_eq!((decision.recipients, decision.stopped), (vec![agent(9)], vec![agent(3)]));
        assert_eq!(decision.message.deliveries.len(), 2);
        let sender = ParticipantId::Agent(AgentId::new(Uuid::from_u128(3)));
        let mut full = ChatState { plan: Some(plan(3)), ..chat() };
        let from_agent = || NewMessage { sender, ..new(1, &[8]) };
        assert_eq!(full.append_text(from_agent(), stops_three, &[]), Err(AppendRefused::Stopped));
        let mut paused = ChatState { is_paused: true, ..chat() };
        assert_eq!(paused.append_text(from_agent(), active, &[]), Err(AppendRefused::Stopped));
        let decision = paused.append_text(new(1, &[9, 3]), stops_three, &[]).unwrap();
        assert_eq!((decision.recipients.len(), decision.message.deliveries.len()), (0, 2), "humans go on");
        assert_eq!(decision.stopped, [agent(3)], "a pause is no stop");
    }

    #[test]
    fn refusals_come_in_their_order_and_leave_the_room_as_it_was() {
        let full = || ChatState { plan: Some(plan(3)), ..chat() };
        let mut of_others = full();
        assert_eq!(of_others.append_text(new(1, &[9]), |_| None, &[]), Err(AppendRefused::NotParticipant));
        let refused = of_others.append_text(new(1, &[9]), only_ann, &[]);
        assert!(matches!(refused, Err(AppendRefused::Limit(reached)) if reached.current == 3));
        assert_eq!(of_others, full());
        let mut one_left = ChatState { plan: Some(plan(4)), ..chat() };
        let is_three = |who: ParticipantId| active(who).filter(|_| [ANN, 3].contains(&who.uuid().as_u128()));

        let refused = one_left.append_text(new(1, &[3, 9]), is_three, &[]);
        assert_eq!(refused, Err(AppendRefused::MentionLeft { index: 1 }));
        assert!(one_left.append_text(new(1, &[3]), is_three, &[]).is_ok());
    }
}
