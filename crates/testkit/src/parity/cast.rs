//! The existing users, agents, and rooms, and the choice of the next operation.

use std::collections::HashMap;

use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::id::{
    AccountId, ApiKeyId, ChatId, ContactRequestId, MemoryId, MessageId, ParticipantId, RecordId,
};
use domain::idempotency::{Fingerprint, IdempotencyKey, IdempotentRequest};
use domain::page::{Page, PageRequest, Position, Slice};
use uuid::Uuid;

use super::Act;
use super::rng::Rng;
use crate::{TestAgent, TestUser};

/// Something that a step made or met.
pub(super) enum Made {
    User(TestUser),
    Agent(TestAgent),
    Chat(ChatId, ParticipantId),
    Member(ChatId, ParticipantId),
    Left(ChatId, ParticipantId),
    Deleted(ChatId),
    Gone(ParticipantId),
    Message(ChatId, MessageId),
    /// With who asks and who is asked.
    Request(ContactRequestId, [ParticipantId; 2]),
    Contact(RecordId),
    /// With whose it is.
    Memory(MemoryId, AgentCaller),
    /// With its text.
    Key(ApiKeyId, String),
    /// The cursor of the next page of a list.
    Next(&'static str, Position),
}

/// Everything so far.
pub(super) struct Cast {
    pub(super) rng: Rng,
    pub(super) users: Vec<TestUser>,
    /// The deleted ones too.
    pub(super) agents: Vec<TestAgent>,
    pub(super) chats: Vec<ChatId>,
    members: HashMap<ChatId, Vec<ParticipantId>>,
    pub(super) messages: Vec<(ChatId, MessageId)>,
    pub(super) requests: Vec<Asked>,
    pub(super) contacts: Vec<RecordId>,
    pub(super) memories: Vec<(MemoryId, AgentCaller)>,
    pub(super) keys: Vec<(ApiKeyId, String)>,
    next: HashMap<&'static str, Position>,
}

/// A request, who asks and who is asked.
type Asked = (ContactRequestId, [ParticipantId; 2]);

type Draw = fn(&mut Cast) -> Act;

/// The weight of each kind of operation.
const ACTS: [(usize, Draw); 11] = [
    (8, Cast::wait),
    (12, Cast::people),
    (10, Cast::read_people),
    (20, Cast::rooms),
    (12, Cast::read_rooms),
    (35, Cast::messages),
    (30, Cast::deliveries),
    (18, Cast::contacts),
    (15, Cast::memories),
    (10, Cast::keys),
    (15, Cast::boards),
];

/// The callers that must exist before operations are drawn.
const FIRST: usize = 9;

impl Cast {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            users: Vec::new(),
            agents: Vec::new(),
            chats: Vec::new(),
            members: HashMap::new(),
            messages: Vec::new(),
            requests: Vec::new(),
            contacts: Vec::new(),
            memories: Vec::new(),
            keys: Vec::new(),
            next: HashMap::new(),
        }
    }

    pub(super) fn next(&mut self, step: usize) -> Act {
        match step {
            0..3 => self.create_user(&format!("user{step}")),
            3..6 => self.register_agent(&format!("Bot {step}")),
            6..FIRST => self.create_chat(),
            _ => {
                let mut throw = self.rng.below(ACTS.iter().map(|(times, _)| times).sum());
                let mut acts = ACTS.iter();
                loop {
                    let (times, act) = acts.next().unwrap();
                    if throw < *times {
                        return act(self);
                    }
                    throw -= times;
                }
            }
        }
    }

    pub(super) fn remember(&mut self, made: Vec<Made>) {
        for one in made {
            match one {
                Made::User(user) => self.users.push(user),
                Made::Agent(agent) => self.agents.push(agent),
                Made::Chat(chat, creator) => {
                    self.chats.push(chat);
                    self.members.entry(chat).or_default().push(creator);
                }
                Made::Member(chat, who) => self.members.entry(chat).or_default().push(who),
                Made::Left(chat, who) => self.members.entry(chat).or_default().retain(|other| *other != who),
                Made::Deleted(chat) => {
                    self.members.remove(&chat);
                }
                Made::Gone(agent) => {
                    self.members.values_mut().for_each(|members| members.retain(|other| *other != agent));
                }
                Made::Message(chat, message) => self.messages.push((chat, message)),
                Made::Request(request, between) => self.requests.push((request, between)),
                Made::Contact(contact) => self.contacts.push(contact),
                Made::Memory(memory, source) => self.memories.push((memory, source)),
                Made::Key(key, text) => self.keys.push((key, text)),
                Made::Next(list, position) => {
                    self.next.insert(list, position);
                }
            }
        }
    }

    pub(super) fn user(&mut self) -> UserCaller {
        self.rng.of(&self.users).caller
    }

    /// Most often one of the last few.
    pub(super) fn some_agent(&mut self) -> TestAgent {
        let from = if self.rng.one_in(4) { 0 } else { self.agents.len().saturating_sub(6) };
        self.rng.of(&self.agents[from..])
    }

    pub(super) fn agent(&mut self) -> AgentCaller {
        self.some_agent().caller
    }

    pub(super) fn caller(&mut self) -> Caller {
        if self.rng.one_in(2) { self.user().into() } else { self.agent().into() }
    }

    pub(super) fn handle(&mut self) -> String {
        match self.rng.below(20) {
            0 => "nobody".to_owned(),
            1 => "nobody/at-all".to_owned(),
            2..10 => self.rng.of(&self.users).handle,
            _ => self.some_agent().handle,
        }
    }

    /// A user, an agent, or an unknown id.
    pub(super) fn anybody(&mut self) -> AccountId {
        if self.rng.one_in(12) {
            AccountId::new(Uuid::from_u128(7))
        } else {
            self.caller().participant().into()
        }
    }

    /// A peer of the caller: its owner, or the owner's other agents; rarely any other.
    pub(super) fn companion(&mut self, caller: Caller) -> AccountId {
        let owner = caller.accountable_user();
        let own = self.agents.iter().filter(|agent| agent.caller.owner == owner);
        let mut all = own.map(|agent| agent.id.into()).collect::<Vec<_>>();
        all.push(owner.into());
        if self.rng.one_in(4) { self.anybody() } else { self.rng.of(&all) }
    }

    /// A room; most often one of the last few in which several are.
    pub(super) fn chat(&mut self) -> ChatId {
        if self.rng.one_in(30) {
            return ChatId::new(Uuid::from_u128(9));
        }
        let is_lively = |chat: &&ChatId| self.members.get(*chat).is_some_and(|members| members.len() > 2);
        let lively = self.chats.iter().rev().filter(is_lively).take(4).copied().collect::<Vec<_>>();
        if lively.is_empty() || self.rng.one_in(4) { self.rng.of(&self.chats) } else { self.rng.of(&lively) }
    }

    /// Mostly a present or former participant of the room.
    pub(super) fn member(&mut self, chat: ChatId) -> Caller {
        match self.members.get(&chat) {
            Some(members) if !members.is_empty() && !self.rng.one_in(12) => {
                let who = self.rng.of(members);
                self.caller_of(who)
            }
            _ => self.caller(),
        }
    }

    pub(super) fn member_agent(&mut self, chat: ChatId) -> AgentCaller {
        for _ in 0..6 {
            if let Caller::Agent(agent) = self.member(chat) {
                return agent;
            }
        }
        self.agent()
    }

    pub(super) fn member_user(&mut self, chat: ChatId) -> UserCaller {
        for _ in 0..6 {
            if let Caller::User(user) = self.member(chat) {
                return user;
            }
        }
        self.user()
    }

    pub(super) fn caller_of(&self, who: ParticipantId) -> Caller {
        match who {
            ParticipantId::User(id) => self.users.iter().find(|user| user.id == id).unwrap().caller.into(),
            ParticipantId::Agent(id) => {
                self.agents.iter().find(|agent| agent.id == id).unwrap().caller.into()
            }
        }
    }

    /// A message with its room, or with another one.
    pub(super) fn message(&mut self) -> (ChatId, MessageId) {
        if self.messages.is_empty() || self.rng.one_in(30) {
            return (self.chat(), MessageId::new(Uuid::from_u128(11)));
        }
        let from = if self.rng.one_in(4) { 0 } else { self.messages.len().saturating_sub(12) };
        let (chat, message) = self.rng.of(&self.messages[from..]);
        if self.rng.one_in(30) { (self.chat(), message) } else { (chat, message) }
    }

    /// A page of a list: at its beginning, behind a page that was read, or by its number.
    pub(super) fn page(&mut self, list: &'static str) -> PageRequest {
        let limit = self.rng.of(&[1, 2, 3, 5, 50]);
        let slice = match (self.rng.below(4), self.next.get(list)) {
            (0, _) => Slice::Numbered { number: self.rng.of(&[1, 2, 3]), size: limit },
            (1 | 2, Some(after)) => Slice::After { after: Some(after.clone()), limit },
            _ => Slice::After { after: None, limit },
        };
        PageRequest { slice, count: self.rng.one_in(2) }
    }

    pub(super) fn once(&mut self) -> Option<IdempotentRequest> {
        if !self.rng.one_in(3) {
            return None;
        }
        let key = IdempotencyKey::new(self.rng.of(&["a", "b", "c", "A"])).unwrap();
        Some(IdempotentRequest { key, fingerprint: Fingerprint::new([self.rng.of(&[1, 1, 1, 2]); 32]) })
    }

    /// Contents of texts, usual and unusual ones.
    pub(super) fn text(&mut self) -> String {
        let texts = [
            "hello",
            "Hello, World",
            "ÄÖÜ ß İ ı \u{1F600}",
            "  spaced\tout  ",
            "50%_\\ 'quoted' \"twice\" $1 ?",
            "two\nlines\r\n",
            "\u{1}\u{7f}\u{feff}\u{fffd}",
            "@[[x]] {} [] null",
            "e\u{301} é",
        ];
        match self.rng.below(40) {
            0 => String::new(),
            1 | 2 => "long ".repeat(300),
            3 => " ".to_owned(),
            _ => self.rng.of(&texts).to_owned(),
        }
    }

    /// A text of one line, for a name or a title.
    pub(super) fn line(&mut self) -> String {
        self.rng
            .of(&["Plan", "plan", "Über", "über", "A_b", "A%b", "Zeta", "a b", "\u{1F600}", "Plan 2"])
            .to_owned()
    }
}

/// The part of a page that matters for the next one.
pub(super) fn next<T>(list: &'static str) -> impl FnOnce(Page<T>) -> Vec<Made> {
    move |page| page.next.map(|next| Made::Next(list, next)).into_iter().collect()
}
