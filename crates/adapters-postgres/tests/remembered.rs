//! A server's cached rooms, while another server changes them.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

#[expect(dead_code, reason = "here are two stores on one database")]
mod common;

use std::sync::Arc;

use adapters_postgres::PostgresStore;
use common::{database, open};
use domain::caller::Caller;
use domain::chat::ChatTitle;
use domain::id::{ChatId, ParticipantId};
use domain::message::{
    HistoryFilter, MentionError, MentionKind, MessageContent, RequestedMention, SendMessage, SendMessageError,
};
use domain::page::{PageRequest, Slice};
use domain::plan::{AssignPlan, Plan, PlanName, WhichOrganization};
use domain::ports::Clock;
use testkit::postgres::Database;
use testkit::{Stores, TestAgent, TestUser, World};

const ALL: PageRequest = PageRequest { slice: Slice::After { after: None, limit: 2000 }, count: true };

/// A room that both servers know, with a human and two agents; four texts are in it.
struct Scene {
    here: Arc<World>,
    there: Arc<World>,
    ann: TestUser,
    bot: TestAgent,
    other: TestAgent,
    chat: ChatId,
    _database: Database,
}

impl Scene {
    async fn set() -> Self {
        let database = database().await;
        let mut worlds = Vec::new();
        for server in 0..2 {
            let world = World::on(Stores::of(&open(&database).await, PostgresStore::close));
            // Ids carry the time.
            world.clock.advance(std::time::Duration::from_secs(server * 1000));
            // Names are known from now on, as where the log of changes is followed.
            world.callers.confirm(world.clock.steady());
            worlds.push(Arc::new(world));
        }
        let (there, here) = (worlds.pop().unwrap(), worlds.pop().unwrap());
        let ann = here.user("ann").await;
        let (bot, other) = (here.agent(&ann, "Bot").await, here.agent(&ann, "Other").await);
        let chat = here.chat(ann.caller, &[bot.id.into(), other.id.into()]).await;
        let scene = Self { here, there, ann, bot, other, chat, _database: database };
        for _ in 0..2 {
            // The first gives the title, or makes the agent active.
            scene.send(&scene.here, scene.ann.caller, &scene.bot).await.unwrap();
            scene.send(&scene.here, scene.bot.caller, &scene.other).await.unwrap();
        }
        scene
    }

    async fn send(
        &self,
        at: &World,
        from: impl Into<Caller>,
        to: &TestAgent,
    ) -> Result<(), SendMessageError> {
        let mention = RequestedMention {
            id: Some(ParticipantId::Agent(to.id).to_string()),
            handle: None,
            kind: Some(MentionKind::Mention),
        };
        let content = MessageContent::new("hello".to_owned()).unwrap();
        let sent = at.messages.send(
            from,
            self.chat,
            SendMessage {
                content,
                mentions: vec![mention],
                respond_by: None,
                in_reply_to: None,
                attachments: Vec::new(),
            },
        );
        sent.await.map(|_| ())
    }

    /// The sequences of all that is in the room, and whether times follow them.
    async fn sequences(&self) -> Vec<i64> {
        let history = self.there.messages.history(self.ann.caller, self.chat, HistoryFilter::default(), ALL);
        let mut rows = history.await.unwrap().rows;
        rows.reverse();
        assert!(
            rows.windows(2).all(|pair| pair[0].created_at < pair[1].created_at),
            "times follow sequences"
        );
        rows.iter().map(|message| message.sequence.get()).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_write_in_turns_leave_no_gap() {
    let scene = Scene::set().await;
    for turn in 0..20 {
        let at = if turn % 3 == 0 { &scene.there } else { &scene.here };
        scene.send(at, scene.ann.caller, &scene.bot).await.unwrap();
    }
    assert_eq!(scene.sequences().await, (1..=24).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_removed_elsewhere_gets_nothing_and_says_nothing() {
    let scene = Scene::set().await;
    let (caller, chat) = (scene.ann.caller, scene.chat);
    scene.there.chats.remove_participant(caller, chat, scene.other.id).await.unwrap();
    let refused = scene.send(&scene.here, scene.bot.caller, &scene.other).await.unwrap_err();
    let SendMessageError::Mention(MentionError::NotInChat { index: 0, available }) = refused else {
        panic!("{refused}");
    };
    assert_eq!(available, [scene.ann.handle.clone(), scene.bot.handle.clone()]);
    let refused = scene.send(&scene.here, scene.other.caller, &scene.bot).await.unwrap_err();
    assert!(matches!(refused, SendMessageError::ChatNotFound), "{refused}");
    scene.send(&scene.here, scene.ann.caller, &scene.bot).await.unwrap();
    // Who comes back is found, though nobody here was told.
    scene.there.add(caller, chat, scene.other.id.into(), domain::chat::Role::Member).await;
    scene.send(&scene.here, scene.bot.caller, &scene.other).await.unwrap();
    assert_eq!(scene.sequences().await, (1..=6).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_title_that_was_given_elsewhere_stays() {
    let scene = Scene::set().await;
    let title = ChatTitle::given(Some("another")).unwrap().unwrap();
    scene.there.chats.rename(scene.ann.caller, scene.chat, title).await.unwrap();
    scene.send(&scene.here, scene.ann.caller, &scene.bot).await.unwrap();
    let chat = scene.there.chats.find(scene.ann.caller, scene.chat).await.unwrap();
    assert_eq!(chat.display_title(), "another");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_was_given_elsewhere_counts() {
    let scene = Scene::set().await;
    let plan = Plan { name: PlanName::new("five").unwrap(), messages: Some(5), ..Plan::enterprise() };
    scene.there.plans.configure(vec![plan.clone()]).await.unwrap();
    let organization = WhichOrganization::OfUser("ann".to_owned());
    scene.there.plans.assign(AssignPlan { organization, plan: plan.name }).await.unwrap().unwrap();
    scene.send(&scene.here, scene.ann.caller, &scene.bot).await.unwrap();
    for _ in 0..2 {
        let refused = scene.send(&scene.here, scene.ann.caller, &scene.bot).await.unwrap_err();
        assert!(matches!(refused, SendMessageError::Limit(reached) if reached.current == 5));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_written_into_a_room_that_was_deleted_elsewhere() {
    let scene = Scene::set().await;
    scene.there.chats.delete(scene.ann.caller, scene.chat).await.unwrap();
    let refused = scene.send(&scene.here, scene.ann.caller, &scene.bot).await.unwrap_err();
    assert!(matches!(refused, SendMessageError::ChatNotFound), "{refused}");
}
