//! Lists of rooms with what is told of them, observers, and renaming.

use std::time::Duration;

use domain::chat::{
    ChatKind, ChatListing, ChatParts, ChatSort, ChatStatus, ChatTitle, CreateChat, Entrance, ListedChat,
    Membership, ParticipantStatus, RenameChat, RenameChatRefused, Role, SHOWN_PARTICIPANTS, Standing,
    WorkStatus,
};
use domain::delivery::{DeliveryStep, FailureText};
use domain::id::{ChatId, ParticipantId};
use domain::message::MessageKind;
use domain::page::{Order, PAGE_BYTES, Page, PageRequest, Slice};
use domain::ports::Clock;
use domain::store::OnCommit;

use crate::{TestAgent, TestUser, World};

fn part(after: Option<domain::page::Position>, limit: u32) -> PageRequest {
    PageRequest { slice: Slice::After { after, limit }, count: false }
}

async fn rows(world: &World, viewer: ParticipantId, listing: ChatListing) -> Vec<ListedChat> {
    world.stores.chats.list(viewer, listing, part(None, 100)).await.unwrap().rows
}

/// The whole list, two rows at a time.
async fn followed(world: &World, viewer: ParticipantId, listing: ChatListing) -> Vec<ChatId> {
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = world.stores.chats.list(viewer, listing, part(after, 2)).await.unwrap();
        assert!(page.rows.len() == 2 || page.next.is_none());
        seen.extend(page.rows.iter().map(|listed| listed.chat.id));
        after = page.next;
        if after.is_none() {
            return seen;
        }
    }
}

/// Ann with two agents; four rooms, a second apart: Ann's own, one of Bot's with Scout, one of
/// Bot's with Ann, and one of Ann's about a task with both agents.
async fn scene(world: &World) -> (TestUser, TestAgent, TestAgent, [ChatId; 4]) {
    let ann = world.user("ann").await;
    let (bot, scout) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Scout").await);
    let second = || world.clock.advance(Duration::from_secs(1));
    let own = world.chat(ann.caller, &[]).await;
    second();
    let agents = world.chat(bot.caller, &[scout.id.into()]).await;
    second();
    let mixed = world.chat(bot.caller, &[ann.id.into()]).await;
    second();
    let command = CreateChat { kind: ChatKind::Task, ..CreateChat::default() };
    let task = world.chats.create(ann.caller, command).await.unwrap().id;
    for agent in [&bot, &scout] {
        world.add(ann.caller, task, agent.id.into(), Role::Member).await;
    }
    (ann, bot, scout, [own, agents, mixed, task])
}

/// Own rooms, or those of own agents as well, each once; by creation or change, both ways; of one
/// kind or status; by cursor and by number.
pub async fn rooms_are_listed_as_wanted(world: World) {
    let (ann, bot, _, [own, agents, mixed, task]) = scene(&world).await;
    let viewer = ParticipantId::User(ann.id);
    let plain = ChatListing::default();
    let all = ChatListing { agent_rooms: true, ..plain };
    assert_eq!(followed(&world, viewer, plain).await, [task, mixed, own]);
    assert_eq!(followed(&world, viewer, all).await, [task, mixed, agents, own]);
    let ascending = ChatListing { order: Order::Ascending, ..all };
    assert_eq!(followed(&world, viewer, ascending).await, [own, agents, mixed, task]);

    world.clock.advance(Duration::from_secs(1));
    world.send(ann.caller, own, "newest", &[]).await;
    let changed = ChatListing { sort: ChatSort::Updated, ..all };
    assert_eq!(followed(&world, viewer, changed).await, [own, task, mixed, agents]);
    let oldest = ChatListing { order: Order::Ascending, ..changed };
    assert_eq!(followed(&world, viewer, oldest).await, [agents, mixed, task, own]);

    let tasks = ChatListing { kind: Some(ChatKind::Task), ..all };
    assert_eq!(followed(&world, viewer, tasks).await, [task]);
    let archived = ChatListing { status: Some(ChatStatus::Archived), ..all };
    assert_eq!(followed(&world, viewer, archived).await, []);
    let active = ChatListing { status: Some(ChatStatus::Active), kind: Some(ChatKind::Direct), ..plain };
    assert_eq!(followed(&world, viewer, active).await, [mixed, own]);

    let page = PageRequest { slice: Slice::Numbered { number: 2, size: 3 }, count: true };
    let page = world.stores.chats.list(viewer, all, page).await.unwrap();
    assert_eq!((page.rows.len(), page.rows[0].chat.id, page.total), (1, own, Some(4)));
    // An agent has no agents of its own, whatever is asked.
    assert_eq!(followed(&world, ParticipantId::Agent(bot.id), all).await, [task, mixed, agents]);
    let ben = world.user("ben").await;
    assert_eq!(followed(&world, ParticipantId::User(ben.id), all).await, []);
}

/// A room without participants, or that the own agent left, is in no list.
pub async fn rooms_that_were_left_are_not_listed(world: World) {
    let (ann, bot, scout, [own, agents, mixed, task]) = scene(&world).await;
    let all = ChatListing { agent_rooms: true, ..ChatListing::default() };
    let viewer = ParticipantId::User(ann.id);
    world.chats.remove_participant(scout.caller, agents, scout.id).await.unwrap();
    assert_eq!(followed(&world, viewer, all).await, [task, mixed, agents, own], "Bot is still there");
    world.chats.delete(ann.caller, agents).await.unwrap();
    assert_eq!(followed(&world, viewer, all).await, [task, mixed, own]);
    world.chats.remove_participant(ann.caller, mixed, ann.id).await.unwrap();
    assert_eq!(followed(&world, viewer, all).await, [task, mixed, own]);
    assert_eq!(followed(&world, viewer, ChatListing::default()).await, [task, own]);
    assert_eq!(followed(&world, ParticipantId::Agent(bot.id), all).await, [task, mixed]);
}

/// Agents, participants, the newest message and the own standing, for all rooms of a page.
pub async fn rows_hold_the_parts_that_are_wanted(world: World) {
    let (ann, bot, scout, [own, agents, _, task]) = scene(&world).await;
    world.send(ann.caller, task, "first", &[ParticipantId::Agent(bot.id)]).await;
    let newest = world.send(ann.caller, task, "second", &[ParticipantId::Agent(scout.id)]).await.id;
    let parts = ChatParts::ALL;
    let listing = ChatListing { agent_rooms: true, parts, ..ChatListing::default() };
    let rows = rows(&world, ParticipantId::User(ann.id), listing).await;
    let row = |chat: ChatId| rows.iter().find(|row| row.chat.id == chat).unwrap();

    let filled = row(task);
    let names = |row: &ListedChat| {
        let agents = row.details.as_ref().unwrap().agents.iter();
        agents.map(|agent| (agent.id, agent.name.clone(), agent.handle.clone())).collect::<Vec<_>>()
    };
    let bots = [
        (bot.id, "Bot".to_owned(), bot.handle.clone()),
        (scout.id, "Scout".to_owned(), scout.handle.clone()),
    ];
    assert_eq!(names(filled), bots);
    let head = filled.roster.as_ref().unwrap();
    let mut ids = vec![ann.id.uuid(), bot.id.uuid(), scout.id.uuid()];
    ids.sort_unstable();
    let found = head.participants.iter().map(|one| one.id.uuid()).collect::<Vec<_>>();
    assert_eq!((found, head.count), (ids, 3));
    let whole = world.chats.roster(ann.caller, task).await.unwrap();
    assert_eq!(whole.find(ParticipantId::Agent(bot.id)), head.participants.iter().find(|p| p.name == "Bot"));
    let last = filled.last_message.as_ref().unwrap();
    assert_eq!((last.id, last.deliveries.len()), (newest, 1));
    let owner = Membership { role: Role::Owner, status: ParticipantStatus::Active };
    let of_agents = vec![(bot.id, Role::Member), (scout.id, Role::Member)];
    assert_eq!(filled.standing, Some(Standing { own: Some(owner), agents: of_agents }));

    let empty = row(own);
    assert_eq!((names(empty), empty.roster.as_ref().unwrap().count, &empty.last_message), (vec![], 1, &None));
    let seen_through = row(agents).standing.as_ref().unwrap();
    assert_eq!(seen_through.agents, [(bot.id, Role::Owner), (scout.id, Role::Member)]);
    assert!(seen_through.observes());

    let bare = world.chats.list(ann.caller, part(None, 100)).await.unwrap();
    assert_eq!(bare.rows.len(), 3);
}

/// The head of a roster ends at a hundred, and tells how many there are.
pub async fn long_rosters_are_cut(world: World) {
    let ann = world.user("ann").await;
    let chat = world.chat(ann.caller, &[]).await;
    for number in 0..=SHOWN_PARTICIPANTS {
        let agent = world.agent(&ann, &format!("agent {number}")).await;
        world.add(ann.caller, chat, agent.id.into(), Role::Member).await;
    }
    let parts = ChatParts { details: true, participants: true, ..ChatParts::default() };
    let listing = ChatListing { parts, ..ChatListing::default() };
    let rows = rows(&world, ParticipantId::User(ann.id), listing).await;
    let head = rows[0].roster.as_ref().unwrap();
    assert_eq!((head.participants.len(), head.count), (SHOWN_PARTICIPANTS, SHOWN_PARTICIPANTS as u64 + 2));
    assert!(head.participants.is_sorted_by_key(|participant| participant.id.uuid()));
    assert_eq!(rows[0].details.as_ref().unwrap().agents.len(), SHOWN_PARTICIPANTS);
}

/// Working while an attempt is open, failed when the last one failed, idle again when it is done
/// or when the agent has gone.
pub async fn a_room_shows_whether_its_agents_work(world: World) {
    let (ann, bot, _, [_, _, _, task]) = scene(&world).await;
    let message = world.send(ann.caller, task, "do it", &[ParticipantId::Agent(bot.id)]).await.id;
    let work = async || {
        let found = world.chats.find_with_details(ann.caller, task, ChatParts::ALL, false).await.unwrap();
        found.listed.details().work
    };
    let step = async |step| {
        world.deliveries.advance(bot.caller, task, message, step).await.unwrap();
    };
    assert_eq!(work().await, WorkStatus::Idle, "nothing has begun");
    step(DeliveryStep::Begin).await;
    assert_eq!(work().await, WorkStatus::Working);
    step(DeliveryStep::Fail(FailureText::new("no".to_owned()).unwrap())).await;
    assert_eq!(work().await, WorkStatus::Failed);
    step(DeliveryStep::Begin).await;
    step(DeliveryStep::Succeed).await;
    assert_eq!(work().await, WorkStatus::Idle);
    step(DeliveryStep::Begin).await;
    world.chats.remove_participant(ann.caller, task, bot.id).await.unwrap();
    assert_eq!(work().await, WorkStatus::Idle);
}

/// By kind, and only those that there are.
pub async fn messages_are_counted_by_kind(world: World) {
    let (ann, bot, _, [own, _, _, task]) = scene(&world).await;
    for _ in 0..3 {
        world.send(ann.caller, task, "text", &[]).await;
    }
    super::messages::thought(&world, &bot, task).await;
    let counts = async |chat, wanted| {
        world
            .chats
            .find_with_details(ann.caller, chat, ChatParts::default(), wanted)
            .await
            .unwrap()
            .message_counts
    };
    let mut found = counts(task, true).await.unwrap();
    found.sort_unstable_by_key(|(kind, _)| kind.as_str());
    assert_eq!(found, [(MessageKind::Text, 3), (MessageKind::Thought, 1)]);
    assert_eq!(counts(own, true).await, Some(vec![]));
    assert_eq!(counts(task, false).await, None);
}

/// A human sees a room through own agents for as long as one of them is in it.
pub async fn owners_observe_the_rooms_of_their_agents(world: World) {
    let (ann, bot, scout, [_, agents, _, _]) = scene(&world).await;
    let ben = world.user("ben").await;
    let chats = &world.stores.chats;
    let (viewer, stranger) = (ParticipantId::User(ann.id), ParticipantId::User(ben.id));
    let entrance = chats.entrance(viewer, agents).await.unwrap();
    assert_eq!(
        entrance.standing,
        Standing { own: None, agents: vec![(bot.id, Role::Owner), (scout.id, Role::Member)] }
    );
    let mut newest = entrance.clone();
    for _ in 0..2 {
        world.send(bot.caller, agents, "one more", &[ParticipantId::Agent(scout.id)]).await;
        newest.last_sequence = newest.last_sequence.next();
        assert_eq!(chats.entrance(viewer, agents).await.unwrap(), newest);
    }
    assert_eq!(chats.entrance(stranger, agents).await.unwrap(), Entrance::default());
    assert_eq!(chats.membership(viewer, agents).await.unwrap(), None, "observing is no membership");
    let roster = chats.roster(viewer, agents).await.unwrap().unwrap();
    assert_eq!(roster.participants.len(), 2);
    assert!(chats.find(viewer, agents).await.unwrap().is_some());
    assert!(chats.find_with_details(ann.id, agents, ChatParts::ALL, true).await.unwrap().is_some());
    assert_eq!(chats.find(stranger, agents).await.unwrap(), None);
    assert_eq!(chats.find_with_details(ben.id, agents, ChatParts::ALL, true).await.unwrap(), None);
    let filter = domain::message::HistoryFilter::default();
    let read = world.messages.history(ann.caller, agents, filter, part(None, 5)).await;
    assert!(read.is_ok());
    assert!(world.messages.history(ben.caller, agents, filter, part(None, 5)).await.is_err());

    world.chats.remove_participant(scout.caller, agents, scout.id).await.unwrap();
    assert!(chats.find(viewer, agents).await.unwrap().is_some(), "Bot is still in the room");
    world.chats.delete(ann.caller, agents).await.unwrap();
    assert_eq!(chats.entrance(viewer, agents).await.unwrap(), Entrance::default());
}

/// Title and time of change; never what the room last said, and not for good only until the next
/// message. A refusal leaves no trace.
pub async fn rooms_are_renamed_by_their_owners(world: World) {
    let (ann, bot, scout, [_, agents, mixed, _]) = scene(&world).await;
    world.send(ann.caller, mixed, "hello", &[]).await;
    let before = world.chats.find(ann.caller, mixed).await.unwrap();
    world.clock.advance(Duration::from_secs(5));
    let title = |text: &str| ChatTitle::renamed(text).unwrap();
    let rename = |chat, by| RenameChat { chat, by, changes: title("Plan B").into(), now: world.clock.now() };
    let chats = &world.stores.chats;
    let never = || OnCommit::new(|_| panic!("a refusal was announced"));
    let ben = world.user("ben").await;
    for (chat, by, expected) in [
        (mixed, ann.caller.into(), RenameChatRefused::NotOwner),
        (agents, ann.caller.into(), RenameChatRefused::NotOwner),
        (agents, scout.caller.into(), RenameChatRefused::NotOwner),
        (mixed, scout.caller.into(), RenameChatRefused::ChatNotFound),
        (mixed, ben.caller.into(), RenameChatRefused::ChatNotFound),
    ] {
        assert_eq!(chats.rename(rename(chat, by), never()).await.unwrap(), Err(expected), "{by:?}");
    }
    assert_eq!(world.chats.find(ann.caller, mixed).await.unwrap(), before);

    let renamed = world.chats.rename(bot.caller, mixed, title("Plan B")).await.unwrap();
    assert_eq!((renamed.chat.title.as_deref(), renamed.users), (Some("Plan B"), vec![ann.id]));
    let after = world.chats.find(ann.caller, mixed).await.unwrap();
    assert_eq!(after, renamed.chat);
    assert_eq!((after.updated_at, after.last_message_at), (world.clock.now(), before.last_message_at));
    world.chats.rename(bot.caller, agents, title("Fixed")).await.unwrap();
    world.send(bot.caller, agents, "another title", &[ParticipantId::Agent(scout.id)]).await;
    assert_eq!(world.chats.find(bot.caller, agents).await.unwrap().title.as_deref(), Some("Fixed"));
}

/// A page of rooms whose newest messages are large ends early, and goes on where it ended.
pub async fn heavy_rooms_end_a_page_early(world: World) {
    let ann = world.user("ann").await;
    let large = "x".repeat(PAGE_BYTES / 11);
    for _ in 0..20 {
        let chat = world.chat(ann.caller, &[]).await;
        world.send(ann.caller, chat, &large, &[]).await;
        world.clock.advance(Duration::from_secs(1));
    }
    let parts = ChatParts { last_message: true, ..ChatParts::default() };
    let listing = ChatListing { parts, ..ChatListing::default() };
    let read = async |after| -> Page<ListedChat> {
        world.stores.chats.list(ParticipantId::User(ann.id), listing, part(after, 100)).await.unwrap()
    };
    let first = read(None).await;
    assert!(first.is_cut(&part(None, 100)));
    let bytes = |page: &Page<ListedChat>| {
        page.rows
            .iter()
            .filter_map(|row| row.last_message.as_ref())
            .map(|one| one.content.len())
            .sum::<usize>()
    };
    assert!(bytes(&first) <= PAGE_BYTES && first.rows.len() == 10, "{}", first.rows.len());
    let rest = read(first.next).await;
    assert_eq!((first.rows.len() + rest.rows.len(), rest.next), (20, None));
}
