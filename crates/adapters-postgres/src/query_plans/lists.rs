//! Lists of chats, messages, users, contacts, and memories.

use domain::account::{
    AccountStatusRepository, AgentListing, AgentRepository, AgentSort, KeyDigest, KeyRepository, UserHandle,
    UserRepository,
};
use domain::audit::{AuditAction, AuditFilter, AuditRepository, AuditScope};
use domain::caller::Caller;
use domain::change::{ChangePosition, ChangeRepository};
use domain::chat::{ChatListing, ChatParts, ChatRepository, ChatSort, ParticipantRepository};
use domain::contact::{ContactRepository, Handle, RequestStatus, SentFilter};
use domain::control::ControlRepository;
use domain::id::{ChatId, MessageId, ParticipantId, SessionId, SubjectId};
use domain::login::SessionRepository;
use domain::memory::{
    HumanScope, MemoriesOfAgent, MemoriesOfHuman, MemoryFilter, MemoryOwners, MemoryRepository,
};
use domain::message::{Anchor, HistoryFilter, Kinds, MessageKind, MessageRepository};
use domain::organization::Authority;
use domain::page::{Order, PageRequest};
use domain::peer::{ListPeers, PeerRepository};
use domain::text::NamePart;
use domain::time::Timestamp;

use super::fill::{MESSAGE, ROOM, at, id};
use super::{FIRST, Watched, after};

impl Watched {
    pub(super) async fn reads_of_rooms(&mut self) {
        let (store, ann, viewer, chat) = (self.store.clone(), self.ann.id, self.viewer(), self.chat);
        // Sorting by change reads all of the viewer's chats.
        let own = self.size.rooms / 10;
        let theirs = self.size.rooms * 3 / 10;
        let parts = ChatParts::ALL;
        for order in [Order::Ascending, Order::Descending] {
            for (agent_rooms, sort, rows) in [
                (false, ChatSort::Created, 0),
                (true, ChatSort::Created, 0),
                (false, ChatSort::Updated, own),
                (true, ChatSort::Updated, theirs),
            ] {
                let listing = ChatListing { agent_rooms, sort, order, parts, ..ChatListing::default() };
                for page in [FIRST, after(at(self.size.rooms / 2))] {
                    let reading = store.list(viewer, listing, page);
                    self.costs(&format!("rooms {sort:?} {order:?} {agent_rooms}"), 5000 + 4 * rows, reading)
                        .await
                        .unwrap();
                }
            }
        }
        self.costs("a room", 40, ChatRepository::find(&*store, viewer, chat)).await.unwrap();
        let details = ChatParts { details: true, ..ChatParts::default() };
        self.costs("a room's details", 100, store.find_with_details(ann, chat, details, false))
            .await
            .unwrap()
            .unwrap();
        self.costs("some rooms", 150, store.list_some(ann, vec![chat], ChatParts::ALL)).await.unwrap();
        self.costs("entrance", 60, store.entrance(viewer, chat)).await.unwrap();
        self.costs("membership", 10, store.membership(viewer, chat)).await.unwrap();
        for page in [FIRST, after(at(self.size.rooms / 2))] {
            self.costs("executions", 3000, store.executions(ann, self.bot.id, page)).await.unwrap().unwrap();
        }
        self.costs("roster", 60, store.roster(viewer, chat)).await.unwrap().unwrap();
    }

    pub(super) async fn reads_of_messages(&mut self) {
        let (store, viewer, chat, bot) = (self.store.clone(), self.viewer(), self.chat, self.bot.id);
        let last = self.size.messages / 2;
        let (text, thought) = (Kinds::of(&[MessageKind::Text]), Kinds::of(&[MessageKind::Thought]));
        let late = Some(Timestamp::from_micros(at(last - 5)));
        for (kinds, since) in
            [(Kinds::ALL, None), (text, None), (thought, None), (text, late), (Kinds::ALL, late)]
        {
            for page in [FIRST, after(last / 2)] {
                let reading = store.history(
                    viewer,
                    chat,
                    HistoryFilter { kinds, since, ..HistoryFilter::default() },
                    page,
                );
                self.costs(&format!("history {kinds:?} {since:?}"), 500, reading).await.unwrap().unwrap();
            }
        }
        let middle = MessageId::new(id(MESSAGE, last / 2));
        let half = Anchor::At(Timestamp::from_micros(at(last / 2)));
        for anchor in [Anchor::After(middle), Anchor::Before(middle), Anchor::Around(middle), half] {
            for kinds in [Kinds::ALL, thought] {
                let reading = store.surroundings(viewer, chat, anchor, kinds, 50);
                self.costs(&format!("{anchor:?} {kinds:?}"), 600, reading).await.unwrap().unwrap();
            }
        }
        let root = Some(MessageId::new(id(MESSAGE, 1)));
        for (oldest_first, page) in [(true, FIRST), (true, after(last / 2)), (false, after(last / 2))] {
            let filter = HistoryFilter { root, oldest_first, ..HistoryFilter::default() };
            self.costs("a tree", 600, store.history(viewer, chat, filter, page)).await.unwrap().unwrap();
        }
        for page in [FIRST, after(last / 2)] {
            self.costs("context", 600, store.context(bot, chat, page)).await.unwrap().unwrap();
        }
    }

    pub(super) async fn reads_of_people(&mut self) {
        let (store, ann, bot, chat) = (self.store.clone(), self.ann.clone(), self.bot.clone(), self.chat);
        self.costs("a key", 10, store.find_key(KeyDigest::new([1; 32]))).await.unwrap();
        for holder in [self.viewer(), ParticipantId::Agent(bot.id)] {
            for page in [FIRST, after(at(1))] {
                self.costs("keys", 20, store.list_keys(holder, page)).await.unwrap();
            }
        }
        let own = AuditScope::Of(Authority::Admin(ann.caller));
        for scope in [AuditScope::Everything, own] {
            for page in [FIRST, after(at(1))] {
                let since = Some(Timestamp::from_micros(at(0)));
                let filter = AuditFilter { since, ..AuditFilter::of(scope.clone()) };
                self.costs("the audit log", 700, store.list_audit(filter, page)).await.unwrap().unwrap();
            }
        }
        // No row matches, so a scan of another index would read all of it.
        let all = AuditFilter::of(AuditScope::Of(Authority::Admin(ann.caller)));
        let (subject, action) = (Some(bot.id.into()), Some(AuditAction::AgentRegistered));
        let filters = [
            AuditFilter { subject, actor: Some(SubjectId::new(ann.id.uuid())), action, ..all.clone() },
            AuditFilter { actor: subject, action: Some(AuditAction::KeyCreated), ..all.clone() },
            AuditFilter { action, ..all },
        ];
        for filter in filters {
            for count in [false, true] {
                let page = PageRequest { count, ..FIRST };
                let what = format!("{filter:?}");
                self.costs(&what, 30, store.list_audit(filter.clone(), page)).await.unwrap().unwrap();
            }
        }
        self.costs("the newest change", 10, store.newest_change()).await.unwrap();
        self.costs("changes", 200, store.changes_after(ChangePosition(0), 100)).await.unwrap();
        self.costs("whether a change is kept", 10, store.has_change(ChangePosition(1))).await.unwrap();
        self.costs("standing", 10, store.find_account_status(ann.id)).await.unwrap();
        self.costs("a session", 10, store.find_session(SessionId::new(ann.id.uuid()))).await.unwrap();
        self.costs("sessions", 20, store.list_sessions(ann.id, Timestamp::from_micros(at(0)))).await.unwrap();
        self.costs("a user", 10, store.find_user(ann.id)).await.unwrap();
        self.costs("a handle", 10, store.find_user_by_handle(&UserHandle::from_stored("ann".to_owned())))
            .await
            .unwrap();
        self.costs("an agent", 10, store.find_agent(bot.id)).await.unwrap();
        for sort in [AgentSort::Created, AgentSort::Name, AgentSort::Updated] {
            for order in [Order::Ascending, Order::Descending] {
                let listing = AgentListing { sort, order, ..AgentListing::default() };
                let reading = store.list_agents(ann.id, listing, FIRST);
                self.costs(&format!("agents {sort:?} {order:?}"), 500, reading).await.unwrap();
            }
        }
        // A network is read completely: some hundreds here.
        let network = 20 * (300 + self.size.users);
        for caller in [Caller::from(ann.caller), bot.caller.into()] {
            for not_in_chat in [None, Some(chat)] {
                for (name, page) in [(None, FIRST), (None, after(at(1))), (NamePart::new("7"), FIRST)] {
                    let wanted = ListPeers { not_in_chat, kind: None, name };
                    self.costs("peers", network, store.peers(caller, wanted, page)).await.unwrap().unwrap();
                }
            }
            for name in [None, NamePart::new("7")] {
                self.costs("directory", network, store.directory(caller, name, FIRST)).await.unwrap();
            }
        }
    }

    pub(super) async fn reads_of_contacts(&mut self) {
        let (store, ann, never) = (self.store.clone(), self.ann.clone(), Timestamp::from_micros(0));
        let viewer = self.viewer();
        // Without statistics all own rows may be sorted.
        let own = 400 + self.size.users;
        for page in [FIRST, after(at(self.size.users / 2))] {
            for name in [None, NamePart::new("7")] {
                // A search reads the other side of each.
                let rows = if name.is_some() { 10 * own } else { own };
                let reading = store.list_contacts(viewer, name, page.clone());
                self.costs("contacts", rows, reading).await.unwrap();
            }
            self.costs("received", own, store.list_received(viewer, never, page.clone())).await.unwrap();
            let all = store.list_received_by_all_of(ann.id, never, page.clone());
            self.costs("received by all", own, all).await.unwrap();
            for filter in [SentFilter::All, SentFilter::Only(RequestStatus::Pending)] {
                let reading = store.list_sent(viewer, filter, never, page.clone());
                self.costs(&format!("sent {filter:?}"), own, reading).await.unwrap();
            }
        }
        let other = ParticipantId::User(domain::id::UserId::new(id(1, 1)));
        self.costs("are contacts", 10, store.are_contacts(viewer, other)).await.unwrap();
        for handle in ["user7", "user/agent-7"] {
            let reading = store.resolve(ann.caller.into(), Handle::new(handle).unwrap());
            self.costs("resolve", 20, reading).await.unwrap().unwrap();
        }
    }

    pub(super) async fn reads_of_memories(&mut self) {
        let (store, ann, bot) = (self.store.clone(), self.ann.clone(), self.bot.clone());
        for owners in [MemoryOwners::Anybody, MemoryOwners::Own, MemoryOwners::Organization] {
            for subject in [None, Some(ann.id.into())] {
                let listing = MemoriesOfAgent { subject, owners, ..MemoriesOfAgent::default() };
                let reading = store.list_for_agent(bot.caller, listing, FIRST);
                // None of the organization's memories belongs to the organization itself: all are
                // skipped.
                let rows = if owners == MemoryOwners::Organization { self.size.messages } else { 1000 };
                self.costs(&format!("memories {owners:?} {subject:?}"), rows, reading).await.unwrap();
            }
        }
        let room = Some(ChatId::new(id(ROOM, 10)));
        for scope in [HumanScope::All, HumanScope::AboutMe, HumanScope::Chat] {
            let room = room.filter(|_| scope == HumanScope::Chat);
            let filter = MemoryFilter::default();
            let reading = store.list_for_human(
                ann.caller,
                MemoriesOfHuman { filter, scope, chat: room, source: None },
                FIRST,
            );
            self.costs(&format!("memories {scope:?}"), 2000 + self.size.rooms, reading)
                .await
                .unwrap()
                .unwrap();
        }
    }
}
