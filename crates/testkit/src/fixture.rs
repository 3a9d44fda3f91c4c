//! A world in which everything that a store can hold was made, and all that its people see of it.

mod later;

use std::fmt::Debug;
use std::time::Duration;

use domain::account::{
    AgentBio, AgentChanges, AgentListing, AgentName, AgentTag, CreateKey, CreatePlatformAgent, Disconnect,
    Door, EndReason, KeyName, KeyScope, LastDisconnect, ModelType, UserHandle,
};
use domain::board::{
    ActiveForm, CreateTask, GoalChanges, GoalSummary, GoalTitle, TaskChanges, TaskDetail, TaskFilter,
    TaskStatus, TaskSubject, TaskTarget, WhichTask,
};
use domain::budget::{Amount, Budget};
use domain::chat::{ChatChanges, ChatListing, ChatParts, ChatTitle, CreateChat, ReadMark};
use domain::contact::{
    Handle, RequestAction, RequestMessage, SendRequest, SentFilter, WhichContact, WhichRequest,
};
use domain::delivery::{
    Claims, DeadLetterReason, DeliveryFilter, DeliveryKey, DeliveryStep, FailureText, MaxAttempts, Order,
};
use domain::foreign::ForeignPolicy;
use domain::id::{ChatId, ParticipantId};
use domain::idempotency::{Fingerprint, IdempotencyKey, IdempotentRequest};
use domain::legal_hold::{HoldReason, HoldSubject};
use domain::login::{Password, SessionKind, WhichLogin};
use domain::memory::{
    MemoriesOfAgent, MemoriesOfHuman, MemoryContent, MemoryMetadata, MemoryScope, MemoryStep, MemoryThought,
    StoreMemory,
};
use domain::message::{
    DeadlineWalk, EventContent, EventMetadata, HistoryFilter, MaxHops, MaxPairMessages, MessageContent,
    MessageKind, PostEvent, RespondWithin, SendHeaders,
};
use domain::organization::{Authority, Invite, OrganizationChanges, PauseReason};
use domain::page::{PageRequest, Slice};
use domain::peer::ListPeers;
use domain::plan::{OrganizationName, Plan, PlanName};
use domain::ports::Clock;
use domain::reminder::ReminderFilter;
use domain::secret::Secret;
use domain::usage::{UsageFilter, UsageGroup};
use domain::work::{Resend, WorkChange, WorkScope};
use serde_json::{Value, json};

use crate::contract::{attention, notifications};
use crate::{TestAgent, TestUser, World};

const ALL: PageRequest = PageRequest { slice: Slice::Numbered { number: 1, size: 100 }, count: true };

/// The users, agents, and rooms of the fixture.
pub struct Fixture {
    users: Vec<TestUser>,
    agents: Vec<TestAgent>,
    chats: Vec<ChatId>,
}

impl Fixture {
    /// Makes all of it in an empty world.
    pub async fn in_world(world: &World) -> Self {
        let plan = Plan { name: PlanName::new("small").unwrap(), chats: Some(40), ..Plan::enterprise() };
        let (ann, ben) = (world.user("ann").await, world.user_with_plan("ben", plan.clone()).await);
        let users = vec![ann.clone(), ben.clone(), world.colleague("cai", "ann").await];
        let mut agents = Vec::new();
        for (owner, name) in [(&ann, "One"), (&ann, "Two"), (&ben, "Three"), (&ann, "Gone")] {
            agents.push(world.agent(owner, name).await);
        }
        let mut fixture = Self { users, agents, chats: Vec::new() };
        fixture.describe_agents(world).await;
        fixture.talk(world).await;
        fixture.work(world).await;
        fixture.loop_for_ever(world).await;
        fixture.spend(world).await;
        fixture.hold_deleted_room(world).await;
        attention::fill(world, &fixture.users[0], &fixture.agents[0]).await;
        fixture.take_back(world).await;
        fixture.make_contacts(world).await;
        fixture.remember(world).await;
        fixture.plan(world).await;
        fixture.delete_in_bulk(world).await;
        fixture.share(world).await;
        fixture.remind(world).await;
        fixture.hook(world).await;
        fixture.tell(world).await;
        fixture.notify(world).await;
        notifications::fill(world, &fixture.users[0], &fixture.agents[0]).await;
        fixture.answer_once(world).await;
        fixture.make_keys(world).await;
        fixture.invite(world).await;
        fixture.federate(world).await;
        let reset = world.logins.issue_reset(&UserHandle::new(&ann.handle).unwrap()).await.unwrap();
        let password = Password::new("correct \u{1F40E}".to_owned() + " horse").unwrap();
        world.logins.reset_password(&reset.token, password.clone(), SessionKind::Program).await.unwrap();
        fixture.protect(world, password).await;
        world.accounts.delete_agent(ann.caller, fixture.agents[3].id, true).await.unwrap();
        for who in [ParticipantId::User(fixture.users[2].id), ParticipantId::Agent(fixture.agents[1].id)] {
            world.administration.set_disabled(who, true).await.unwrap();
        }
        world.stores.secrets.secret("cursors", Secret([255; 32])).await.unwrap();
        let other_limit = Plan { bytes: Some(7 << 30), ..Plan::enterprise() };
        world.plans.configure(vec![plan, other_limit]).await.unwrap();
        world.plans.count_bytes().await.unwrap();
        fixture
    }

    async fn describe_agents(&self, world: &World) {
        world.clock.advance(Duration::from_micros(1));
        let changes = AgentChanges {
            model_type: Some(Some(ModelType::new("large").unwrap())),
            max_attempts: Some(MaxAttempts::new(2)),
            claims: Some(Claims::Exclusive),
            bio: Some(Some(AgentBio::new("Born\nin a \"test\"").unwrap())),
            tags: Some(vec![AgentTag::new("ünïcode").unwrap()]),
            listed_in_directory: Some(true),
            foreign_access: Some(true),
            a2a: Some(true),
            ..AgentChanges::default()
        };
        world.accounts.update_agent(self.users[0].caller, self.agents[0].id, changes).await.unwrap();
        let last = LastDisconnect { at: world.clock.now(), reason: EndReason::SlowConsumer };
        let ended = Disconnect { agent: self.agents[0].id, began_at: Some(world.clock.now()), last };
        world.accounts.note_disconnects(vec![ended]).await.unwrap();
        world.accounts.note_call(self.agents[1].id, Door::Mcp);
        let detail = Some("connection \"refused\"".to_owned());
        world.accounts.note_failure(self.agents[0].id, Door::Webhook, "no_response", detail);
        world.make_global(&self.agents[2]).await;
        let name = AgentName::new("Platform").unwrap();
        let platform = CreatePlatformAgent { name, description: None, model_type: None };
        world.accounts.create_platform_agent(self.users[0].caller, platform).await.unwrap();
    }

    async fn talk(&mut self, world: &World) {
        let (ann, cai) = (&self.users[0], &self.users[2]);
        let everybody = self.agents.iter().map(|agent| agent.id.into()).chain([cai.id.into()]);
        let chat = world.chat(ann.caller, &everybody.collect::<Vec<_>>()).await;
        let to = self.agents.iter().map(|agent| ParticipantId::Agent(agent.id)).collect::<Vec<_>>();
        for text in ["plain", "\u{1F600} \u{1} \u{FFFD} \\ \"quoted\"\r\n", "{\"t\":\"users\"}", "{\"end\":"]
        {
            world.clock.advance(Duration::from_micros(1_000_001));
            world.send(ann.caller, chat, text, &to).await;
        }
        world.chats.mark_read(ann.caller, chat, ReadMark::Newest).await.unwrap();
        think(world, &self.agents[0], chat).await;
        let titled = CreateChat { title: ChatTitle::given(Some("Plan")).unwrap(), ..CreateChat::default() };
        let left = world.chats.create(self.agents[1].caller, titled).await.unwrap().id;
        let deleted = world.chat(ann.caller, &[self.agents[0].id.into()]).await;
        world.chats.remove_participant(ann.caller, chat, cai.id).await.unwrap();
        let title = GoalTitle::new("to be erased".to_owned()).unwrap();
        let goal = GoalChanges { title: Some(title), summary: None };
        world.boards.set_goal(ann.caller, deleted, goal).await.unwrap();
        world.chats.delete(ann.caller, deleted).await.unwrap();
        let stopped = world.chat(ann.caller, &[self.agents[0].id.into(), self.agents[2].id.into()]).await;
        let changes = ChatChanges { respond_within: Some(RespondWithin::new(1)), ..ChatChanges::default() };
        world.chats.rename(ann.caller, stopped, changes).await.unwrap();
        for text in ["late", "not late yet"] {
            world.messages.check_deadlines(&mut DeadlineWalk::default()).await.unwrap();
            world.send(ann.caller, stopped, text, &to[..1]).await;
            world.clock.advance(Duration::from_secs(1));
        }
        world.control.stop(ann.caller, stopped).await.unwrap();
        let reason = PauseReason::new("it \u{1} errs".to_owned()).unwrap();
        let idle = world.agent(ann, "Idle").await;
        world.chat(ann.caller, &[idle.id.into()]).await;
        world.control.pause_agent(ann.id.into(), idle.id, reason).await.unwrap();
        self.chats = vec![chat, left, deleted, stopped];
    }

    async fn hold_deleted_room(&self, world: &World) {
        let reason = HoldReason::new("a \u{1} case".to_owned()).unwrap();
        world.legal_holds.place(HoldSubject::Chat(self.chats[2]), reason).await.unwrap();
    }

    /// A budget that is exceeded, released, and exceeded again, in a room of its own.
    async fn spend(&self, world: &World) {
        let (ann, agent) = (&self.users[0], self.agents[0].caller);
        let bot = self.agents[0].id;
        let room = world.chat(ann.caller, &[bot.into()]).await;
        let changes = [(Budget::RoomMessages, 1), (Budget::TreeMessages, 1 << 40)];
        let changes = changes.map(|(budget, amount)| (budget, Amount::new(amount))).to_vec();
        world.budgets.set(Authority::Admin(ann.caller), changes).await.unwrap();
        world.budgets.check().await.unwrap();
        for turn in 0..3 {
            let sent = world.send(ann.caller, room, "spent", &[ParticipantId::Agent(bot)]).await.id;
            match turn {
                0 => {
                    world.deliveries.advance(agent, room, sent, DeliveryStep::Begin).await.unwrap();
                    world.send(agent, room, "done", &[ParticipantId::User(ann.id)]).await;
                    world.deliveries.advance(agent, room, sent, DeliveryStep::Succeed).await.unwrap();
                }
                1 => {
                    let scope = WorkScope::OwnedBy(ann.id);
                    world.work.change(scope, sent, bot, WorkChange::Retry, None).await.unwrap();
                }
                _ => {}
            }
            world.budgets.check().await.unwrap();
            world.messages.notice_holds().await.unwrap();
        }
    }

    /// Two agents that answer each other in a room of their own until the second limit holds them.
    async fn loop_for_ever(&self, world: &World) {
        let (ann, pair) = (&self.users[0], [&self.agents[0], &self.agents[2]]);
        let max_pair_messages = Some(MaxPairMessages::new(500));
        let (max_hops, foreign) = (Some(MaxHops::new(2)), Some(ForeignPolicy::Label));
        let own = OrganizationChanges { name: None, max_hops, max_pair_messages, foreign };
        world.organizations.rename(Authority::Admin(ann.caller), own).await.unwrap();
        let room = world.chat(ann.caller, &pair.map(|agent| agent.id.into())).await;
        let changes = ChatChanges { max_hops: Some(MaxHops::new(1)), ..ChatChanges::default() };
        world.chats.rename(ann.caller, room, changes).await.unwrap();
        let mut last = world.send(ann.caller, room, "go", &[ParticipantId::Agent(pair[0].id)]).await.id;
        // The second answer is held and released, the fourth is held.
        for (turn, [from, to]) in [pair, [pair[1], pair[0]], pair, [pair[1], pair[0]]].into_iter().enumerate()
        {
            world.deliveries.advance(from.caller, room, last, DeliveryStep::Begin).await.unwrap();
            let begun = last;
            last = world.send(from.caller, room, "and you?", &[ParticipantId::Agent(to.id)]).await.id;
            let done = world.deliveries.advance(from.caller, room, begun, DeliveryStep::Succeed).await;
            done.unwrap();
            world.messages.notice_holds().await.unwrap();
            if turn == 1 {
                let scope = WorkScope::OwnedBy(ann.id);
                world.work.change(scope, last, to.id, WorkChange::Retry, None).await.unwrap();
            }
        }
    }

    /// Deliveries in every state, with attempts.
    async fn work(&self, world: &World) {
        let fail = DeliveryStep::Fail(FailureText::new("it \u{1} broke".to_owned()).unwrap());
        let chat = self.chats[0];
        let messages = world.messages.history(self.users[0].caller, chat, texts(), ALL).await.unwrap().rows;
        let steps = [
            vec![],
            vec![DeliveryStep::Begin],
            vec![DeliveryStep::Begin, fail.clone(), DeliveryStep::Begin, DeliveryStep::Succeed],
            vec![DeliveryStep::Begin, fail],
        ];
        for (message, steps) in messages.iter().zip(steps) {
            for agent in &self.agents[..2] {
                for step in steps.clone() {
                    world.clock.advance(Duration::from_millis(7));
                    world.deliveries.advance(agent.caller, chat, message.id, step).await.unwrap();
                }
            }
        }
        // Of a clear cause, and of one of two.
        for message in &messages[1..3] {
            let agent = &self.agents[2];
            world.deliveries.advance(agent.caller, chat, message.id, DeliveryStep::Begin).await.unwrap();
            think(world, agent, chat).await;
            let usage = json!({"band_usage": {"input_tokens": 12, "output_tokens": 3, "model": "mödel"}});
            post(world, agent, chat, MessageKind::Task, usage).await;
        }
        let taken = DeliveryKey { message: messages[0].id, agent: self.agents[2].id };
        world.deliveries.mark_delivered(vec![taken]).await.unwrap();
        let scope = WorkScope::OwnedBy(self.users[0].id);
        let reason = DeadLetterReason::new("no \u{1} key".to_owned()).unwrap();
        let again = WorkChange::Resend(Resend { to: None, reason: None });
        let changes = [(0, 1, WorkChange::DeadLetter(reason)), (3, 1, WorkChange::Retry), (0, 0, again)];
        for (message, agent, change) in changes {
            let (message, agent) = (messages[message].id, self.agents[agent].id);
            world.work.change(scope, message, agent, change, None).await.unwrap();
        }
    }

    async fn take_back(&self, world: &World) {
        let (ann, chat) = (&self.users[0], self.chats[0]);
        let to = [ParticipantId::Agent(self.agents[0].id)];
        let edited = world.send(ann.caller, chat, "as it was", &to).await.id;
        let deleted = world.send(ann.caller, chat, "nothing of this stays", &to).await.id;
        let content = MessageContent::new("as it is".to_owned()).unwrap();
        world.messages.edit(ann.caller, chat, edited, content).await.unwrap();
        world.messages.delete(ann.caller, chat, deleted).await.unwrap();
        // What is done after the events of organizations is not sealed.
        while world.audit.seal_some().await.unwrap() > 0 {}
    }

    /// Requests in every state, and contacts.
    async fn make_contacts(&self, world: &World) {
        let [ann, ben, cai] = &self.users[..] else { panic!("three users") };
        let refused = world.ask(ann.caller, &cai.handle).await;
        let refuse = RequestAction::Reject;
        world.contacts.answer(cai.caller, WhichRequest::Id(refused.id), refuse).await.unwrap();
        let withdrawn = world.ask(ann.caller, &self.agents[2].handle).await;
        let withdraw = RequestAction::Cancel;
        world.contacts.answer(ann.caller, WhichRequest::Id(withdrawn.id), withdraw).await.unwrap();
        world.connect((ann.caller, &ann.handle), (ben.caller, &ben.handle)).await;
        world.connect((cai.caller, &cai.handle), (ben.caller, &ben.handle)).await;
        let handle = Handle::new(&ben.handle).unwrap();
        world.contacts.remove(cai.caller, WhichContact::With(handle)).await.unwrap();
        let message = RequestMessage::given(Some("may I?".to_owned())).unwrap();
        let command = SendRequest { to: Handle::new(&ben.handle).unwrap(), message };
        world.contacts.send(self.agents[0].caller, command).await.unwrap();
    }

    async fn remember(&self, world: &World) {
        let store = async |text: &str, scope, subject| {
            let command = StoreMemory {
                content: MemoryContent::new(text.to_owned()).unwrap(),
                system: None,
                kind: None,
                segment: None,
                scope,
                subject,
                thought: MemoryThought::new("because".to_owned()).unwrap(),
                metadata: MemoryMetadata::default(),
            };
            world.memories.store(self.agents[0].caller, command).await.unwrap().id
        };
        let ann = &self.users[0];
        let about = Some(ann.id.into());
        store("for all", Some(MemoryScope::Organization), None).await;
        let archived = store("ÄPFEL", None, about).await;
        world.memories.change(ann.caller, archived, MemoryStep::Archive).await.unwrap();
        let deleted = store("to be forgotten", None, about).await;
        world.memories.delete(ann.caller, deleted).await.unwrap();
    }

    /// A goal, and tasks in every state.
    async fn plan(&self, world: &World) {
        let (ann, bot, chat) = (self.users[0].caller, self.agents[0].caller, self.chats[0]);
        let title = GoalTitle::new("Ship \u{1F680}".to_owned()).unwrap();
        let summary = GoalSummary::new("two\nlines \u{1}".to_owned()).unwrap();
        let goal = GoalChanges { title: Some(title), summary: Some(summary) };
        world.boards.set_goal(ann, chat, goal).await.unwrap();
        let targets = [None, Some(TaskTarget::Cancelled), Some(TaskTarget::Archived), None];
        for (number, (status, state)) in (1..).zip(TaskStatus::ALL.into_iter().rev().zip(targets)) {
            let command = CreateTask {
                subject: TaskSubject::new("\"task\"".to_owned()).unwrap(),
                detail: TaskDetail::new("\u{1} détail".to_owned()).unwrap(),
                supersedes: if number == 4 { WhichTask::parse("1") } else { None },
            };
            let task = WhichTask::Id(world.boards.create_task(ann, chat, command, None).await.unwrap().id);
            let form = Some(ActiveForm::new("working".to_owned()).unwrap());
            let changes = TaskChanges { status: Some(status), active_form: form, ..TaskChanges::default() };
            world.clock.advance(Duration::from_micros(1));
            world.boards.change_task(bot, chat, task, changes).await.unwrap();
            let away = TaskChanges { state, ..TaskChanges::default() };
            world.boards.change_task(ann, chat, task, away).await.unwrap();
        }
    }

    /// Requests under keys: a room, an event, a text that stays and one that goes.
    async fn answer_once(&self, world: &World) {
        let (ann, chat) = (&self.users[0], self.chats[0]);
        let once = |key: &str| {
            Some(IdempotentRequest {
                key: IdempotencyKey::new(key).unwrap(),
                fingerprint: Fingerprint::new([200; 32]),
            })
        };
        world.chats.create_once(ann.caller, CreateChat::default(), once("room")).await.unwrap();
        for key in ["stays", "goes"] {
            let command = crate::world::text("only once", &[ParticipantId::Agent(self.agents[1].id)]);
            let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse().ok();
            let headers = SendHeaders { once: once(key), traceparent, client_id: Some(key.to_owned()) };
            let sent = world.messages.send_once(ann.caller, chat, command, headers).await.unwrap();
            if key == "goes" {
                world.messages.delete(ann.caller, chat, sent.id).await.unwrap();
            }
        }
    }

    /// A key with all that can be known of one, and one that was revoked.
    async fn make_keys(&self, world: &World) {
        let ann = &self.users[0];
        let until = world.clock.now().plus(Duration::from_secs(100_000));
        let (chat, agent) = (Some(self.chats[0]), Some(self.agents[0].id));
        let limited = KeyScope { is_read_only: true, chat, agent };
        for (name, expires_at, scope) in
            [("für \"Tests\"", Some(until), limited), ("gone", None, KeyScope::default())]
        {
            let command = CreateKey { name: Some(KeyName::new(name).unwrap()), expires_at, scope };
            let created = world.accounts.create_key(ann.id, command).await.unwrap();
            world.accounts.authenticate(created.key.reveal()).await.unwrap();
            if expires_at.is_none() {
                world.accounts.revoke_key(ann.caller, created.record.id).await.unwrap();
            }
        }
        world.accounts.write_uses().await.unwrap();
    }

    /// Invitations in every state.
    async fn invite(&self, world: &World) {
        let by = Authority::Admin(self.users[0].caller);
        let mut invited = Vec::new();
        for email in [None, Some("gäst@example.org".to_owned()), None] {
            let command = Invite { email, ..Invite::default() };
            invited.push(world.organizations.invite(by, command).await.unwrap());
        }
        world.organizations.revoke_invitation(by, invited[0].invitation.id).await.unwrap();
        world.guest("dan", invited[2].token.reveal()).await.unwrap();
        let name = OrganizationName::new("Paused").unwrap();
        let paused = Authority::Operator(world.organizations.create(name, None).await.unwrap().id);
        let reason = PauseReason::new("it \u{1} costs".to_owned()).unwrap();
        world.organizations.pause(paused, reason).await.unwrap();
    }

    /// All that they can read, a line each.
    pub async fn seen_in(&self, world: &World) -> Vec<String> {
        let mut seen = Vec::new();
        for user in &self.users {
            self.seen_by_user(world, user, &mut seen).await;
        }
        for agent in &self.agents {
            self.seen_by_agent(world, agent, &mut seen).await;
        }
        note(&mut seen, world.plans.list().await);
        note(&mut seen, world.plans.organizations().await);
        let by = Authority::Admin(self.users[0].caller);
        note(&mut seen, world.organizations.list_invitations(by, ALL).await);
        note(&mut seen, world.stores.secrets.secret("cursors", Secret([0; 32])).await.map(|secret| secret.0));
        seen
    }

    async fn seen_by_user(&self, world: &World, user: &TestUser, seen: &mut Vec<String>) {
        let caller = user.caller;
        note(seen, world.accounts.authenticate(&user.key).await);
        note(seen, world.accounts.profile(caller).await);
        let login = world.stores.logins.find_login(WhichLogin::User(user.id)).await;
        note(
            seen,
            login.map(|login| {
                login.and_then(|login| login.password).map(|known| known.hash.as_str().to_owned())
            }),
        );
        note(seen, world.accounts.list_keys(ParticipantId::User(user.id), ALL).await);
        note(seen, world.accounts.list_agents(caller, AgentListing::default(), ALL).await);
        note(seen, world.chats.list_chats(caller, ChatListing::default(), ALL).await);
        for chat in &self.chats {
            note(seen, world.chats.find_with_details(caller, *chat, ChatParts::ALL, true).await);
            note(seen, world.chats.roster(caller, *chat).await);
            note(seen, world.messages.history(caller, *chat, HistoryFilter::default(), ALL).await);
            note(seen, world.boards.board(caller, *chat, true).await);
            let tasks = world.boards.tasks(caller, *chat, TaskFilter::All, ALL).await;
            for task in tasks.iter().flat_map(|page| &page.rows) {
                note(seen, world.boards.task(caller, *chat, WhichTask::Id(task.id), true).await);
            }
            note(seen, tasks);
        }
        note(seen, world.peers.list(caller, ListPeers::default(), ALL).await);
        for group in UsageGroup::ALL {
            let scope = WorkScope::OwnedBy(user.id);
            note(seen, world.usage.list(scope, UsageFilter::default(), group, ALL).await);
        }
        note(seen, world.contacts.list(caller, None, ALL).await);
        note(seen, world.contacts.received_by_user(caller, ALL).await);
        note(seen, world.contacts.sent(caller, SentFilter::All, ALL).await);
        note(seen, world.memories.list_for_human(caller, MemoriesOfHuman::default(), ALL).await);
    }

    async fn seen_by_agent(&self, world: &World, agent: &TestAgent, seen: &mut Vec<String>) {
        let caller = agent.caller;
        note(seen, world.accounts.authenticate(&agent.key).await);
        note(seen, world.accounts.agent_record(caller).await);
        note(seen, world.accounts.doors(&[agent.id]).await);
        let reminders = ReminderFilter::default();
        note(seen, world.reminders.list(caller, reminders, ALL).await);
        note(seen, world.chats.list(caller, ALL).await);
        for chat in &self.chats {
            note(seen, world.messages.context(caller, *chat, ALL).await);
            note(seen, world.deliveries.next(caller, *chat).await);
            let filter = DeliveryFilter::All;
            note(seen, world.deliveries.list(caller, *chat, filter, Order::Ascending, ALL).await);
        }
        note(seen, world.peers.list(caller, ListPeers::default(), ALL).await);
        note(seen, world.peers.directory(caller, None, ALL).await);
        note(seen, world.contacts.list(caller, None, ALL).await);
        note(seen, world.contacts.received_by_agent(caller, ALL).await);
        note(seen, world.memories.list_for_agent(caller, MemoriesOfAgent::default(), ALL).await);
    }
}

fn texts() -> HistoryFilter {
    HistoryFilter { kinds: domain::message::Kinds::of(&[MessageKind::Text]), ..HistoryFilter::default() }
}

fn note<T: Debug, E: Debug>(seen: &mut Vec<String>, read: Result<T, E>) {
    seen.push(format!("{read:?}"));
}

async fn think(world: &World, agent: &TestAgent, chat: ChatId) {
    post(world, agent, chat, MessageKind::Thought, json!({"deep": [1.5, null, "\0"]})).await;
}

async fn post(world: &World, agent: &TestAgent, chat: ChatId, kind: MessageKind, metadata: Value) {
    let event = PostEvent {
        kind,
        content: EventContent::new("hm".to_owned()).unwrap(),
        metadata: EventMetadata::new(metadata.as_object().unwrap().clone()).unwrap(),
        in_reply_to: None,
    };
    world.messages.post_event(agent.caller, chat, event).await.unwrap();
}
