//! The daily work of agents, and changes.

use std::time::Duration;

use domain::account::{AgentListing, AgentRepository, CreateKey, Door};
use domain::chat::{AddParticipantCommand, ChatTitle, CreateChat, Role};
use domain::contact::{ContactRepository, Handle, RequestAction, SendRequest, WhichContact, WhichRequest};
use domain::delivery::{
    DeliveryFilter, DeliveryKey, DeliveryRepository, DeliveryStep, Listening, SubscriptionId,
};
use domain::id::{AccountId, ChatId, MessageId, ParticipantId, Sequence, UserId};
use domain::idempotency::{Fingerprint, IdempotencyKey, IdempotencyRepository, IdempotentRequest};
use domain::message::{
    Ageing, DeadlineWalk, MentionKind, MessageContent, RequestedMention, Retention, SendMessage,
};
use domain::page::Order;
use domain::ports::Clock;
use domain::store::OnCommit;
use domain::time::Timestamp;
use testkit::NOON;

use super::fill::{MESSAGE, ROOM, at, id};
use super::{FIRST, Watched, after};

impl Watched {
    pub(super) async fn work(&mut self) {
        let (store, chat, bot) = (self.store.clone(), self.chat, self.bot.id);
        let half = self.size.messages / 2;
        self.costs("next", 200, store.next(bot, chat, Timestamp::from_micros(NOON))).await.unwrap().unwrap();
        let viewer = self.viewer();
        // The last message has a thousand open ones before it, and another has none.
        for (number, rows) in [(half - 1, 1300), (half / 2, 100)] {
            let reading = store.receipts(viewer, chat, MessageId::new(id(MESSAGE, number)));
            self.costs("receipts", rows, reading).await.unwrap().unwrap();
        }
        let filters = [
            (DeliveryFilter::Open, 600),
            (DeliveryFilter::Pending, 600),
            (DeliveryFilter::All, 600),
            // The thousand open ones are searched for others.
            (DeliveryFilter::Processed, 2500),
            (DeliveryFilter::Processing, 200),
            (DeliveryFilter::Failed, 200),
        ];
        for (filter, rows) in filters {
            for (order, page) in [(Order::Ascending, after(half / 2)), (Order::Descending, FIRST)] {
                let reading = store.list(bot, chat, filter, order, page);
                self.costs(&format!("deliveries {filter:?} {order:?}"), rows, reading)
                    .await
                    .unwrap()
                    .unwrap();
            }
        }
        let room = |number| ChatId::new(id(ROOM, number));
        let listening = (1..=20).map(|number| Listening {
            subscription: SubscriptionId::new(number),
            agent: bot,
            chat: room(number.cast_signed() * 5),
            since: Sequence::default(),
            joined_at: Timestamp::from_micros(0),
        });
        let rooms = (1..=20).map(room).collect();
        self.costs("newest messages of chats", 60, store.last_sequences(rooms)).await.unwrap();
        self.costs("unacknowledged", 1000, store.unacknowledged(listening.collect(), 8)).await.unwrap();
        self.costs("work on a backlog", 1000, store.backlog_work(bot, chat, Sequence::new(i64::MAX)))
            .await
            .unwrap();
        self.costs(
            "new messages",
            100,
            store.new_messages(bot, room(5), [1, 3].map(Sequence::new).to_vec(), OnCommit::nothing()),
        )
        .await
        .unwrap();
        let deliveries = self.world.deliveries.clone();
        let taken =
            (0..100).map(|n| DeliveryKey { message: MessageId::new(id(MESSAGE, half + 1 + n)), agent: bot });
        self.costs("mark delivered", 3000, deliveries.mark_delivered(taken.collect())).await.unwrap();
        let message = MessageId::new(id(MESSAGE, half - 10));
        for step in [DeliveryStep::Begin, DeliveryStep::Succeed] {
            let advancing = deliveries.advance(self.bot.caller, chat, message, step);
            self.costs("advance", 100, advancing).await.unwrap();
        }
        let forgetting = store.forget(Timestamp::from_micros(at(50)), 100);
        self.costs("forget answers", 500, forgetting).await.unwrap();
    }

    pub(super) async fn changes(&mut self) {
        self.sends().await;
        let (ann, chats) = (self.ann.clone(), self.world.chats.clone());
        self.world.clock.advance(Duration::from_secs(1));
        let chat =
            self.costs("create", 40, chats.create(ann.caller, CreateChat::default())).await.unwrap().id;
        let own = AccountId::new(id(12, 3));
        let command = AddParticipantCommand { candidate: own, role: Role::Member };
        self.costs("add", 200, chats.add_participant(ann.caller, chat, command)).await.unwrap();
        let title = ChatTitle::renamed("Plan").unwrap();
        self.costs("rename", 100, chats.rename(ann.caller, chat, title)).await.unwrap();
        self.costs("remove", 100, chats.remove_participant(ann.caller, chat, own)).await.unwrap();
        self.costs("delete", 100, chats.delete(ann.caller, chat)).await.unwrap();

        let contacts = self.world.contacts.clone();
        let to = Handle::new("user/agent-123").unwrap();
        let asking = contacts.send(ann.caller, SendRequest { to: to.clone(), message: None });
        let request = self.costs("ask", 100, asking).await.unwrap();
        let which = WhichRequest::Id(request.id);
        self.costs("answer", 100, contacts.answer(ann.caller, which, RequestAction::Cancel)).await.unwrap();
        let gone = contacts.remove(ann.caller, WhichContact::With(to));
        self.costs("no contact", 100, gone).await.unwrap_err();
        let overdue = Timestamp::from_micros(at(-5));
        let store = self.store.clone();
        let expiring = ContactRepository::expire(&*store, overdue, 200, OnCommit::nothing());
        self.costs("expire", 100, expiring).await.unwrap();
        self.changes_keys().await;
        self.deletes_an_agent().await;
    }

    async fn changes_keys(&mut self) {
        let (accounts, ann, bot) = (self.world.accounts.clone(), self.ann.caller, self.bot.clone());
        let command = CreateKey::default();
        // The keys of this fixture are numbered again; those of the one that filled the tables
        // exist.
        for _ in 0..2 {
            let nobody = UserId::new(id(1, 0));
            accounts.create_key(nobody, command.clone()).await.unwrap_err();
        }
        let created = self.costs("create a key", 40, accounts.create_key(ann.user, command)).await.unwrap();
        accounts.authenticate(created.key.reveal()).await.unwrap();
        accounts.note_failure(bot.id, Door::Rest, "forbidden", None);
        self.costs("note uses of a key and a door", 40, accounts.write_uses()).await.unwrap();
        self.costs("doors of an agent", 20, accounts.doors(&[bot.id])).await.unwrap();
        let revoked = accounts.authenticate_at("thnv_a_x", Some(Door::Rest));
        self.costs("an unknown key", 20, revoked).await.unwrap_err();
        let revoking = accounts.revoke_key(ann, created.record.id);
        self.costs("revoke a key", 40, revoking).await.unwrap();
        let like = accounts.keys_like("nothing");
        self.costs("keys that begin like this", 20, accounts.revoke_keys(like)).await.unwrap();
        self.costs("rotate a key", 60, accounts.rotate_key(ann.user, bot.id)).await.unwrap();
    }

    async fn sends(&mut self) {
        let (ann, bot, messages) = (self.ann.caller, self.bot.clone(), self.world.messages.clone());
        let command = || SendMessage {
            content: MessageContent::new("hello".to_owned()).unwrap(),
            mentions: vec![RequestedMention {
                id: Some(ParticipantId::Agent(bot.id).to_string()),
                handle: None,
                kind: Some(MentionKind::Mention),
            }],
            respond_by: None,
            in_reply_to: None,
            attachments: Vec::new(),
        };
        let (deliveries, small) = (self.world.deliveries.clone(), ChatId::new(id(ROOM, 10)));
        let begun = deliveries.next(bot.caller, self.chat).await.unwrap().unwrap().id;
        let large = self.chat;
        let step = |step| deliveries.advance(bot.caller, large, begun, step);
        step(DeliveryStep::Begin).await.unwrap();
        for chat in [self.chat, small] {
            let to = Some(ParticipantId::User(ann.user).to_string());
            let to_ann = RequestedMention { id: to, handle: None, kind: Some(MentionKind::Mention) };
            let answer = SendMessage { mentions: vec![to_ann], ..command() };
            self.costs("an agent's answer", 100, messages.send(bot.caller, chat, answer)).await.unwrap();
        }
        step(DeliveryStep::Succeed).await.unwrap();
        for chat in [self.chat, small] {
            let sent = self.costs("send", 100, messages.send(ann, chat, command())).await.unwrap();
            let key = IdempotencyKey::new("k").unwrap();
            for _ in 0..2 {
                let once =
                    Some(IdempotentRequest { key: key.clone(), fingerprint: Fingerprint::new([1; 32]) });
                self.costs("send once", 100, messages.send_once(ann, chat, command(), once)).await.unwrap();
            }
            let content = MessageContent::new("hello again".to_owned()).unwrap();
            self.costs("edit", 100, messages.edit(ann, chat, sent.id, content)).await.unwrap();
            self.costs("delete", 100, messages.delete(ann, chat, sent.id)).await.unwrap();
        }
        let minute = Duration::from_secs(60);
        let respond_by = Some(self.world.clock.now().plus(minute));
        messages.send(ann, self.chat, SendMessage { respond_by, ..command() }).await.unwrap();
        self.world.clock.advance(minute);
        for missed in [1, 0] {
            let mut walk = DeadlineWalk::default();
            let checking = messages.check_deadlines(&mut walk);
            assert_eq!(self.costs("check deadlines", 200, checking).await.unwrap().missed, missed);
        }
    }

    /// An agent that is in few chats, though there are many.
    async fn deletes_an_agent(&mut self) {
        let (accounts, ann) = (self.world.accounts.clone(), self.ann.caller);
        let own = self.store.list_agents(ann.user, AgentListing::default(), FIRST).await.unwrap().rows[10].id;
        // Each of its memories, of which there is one for every 800 messages, is read twice.
        self.costs("delete an agent", 300 + self.size.messages / 400, accounts.delete_agent(ann, own, true))
            .await
            .unwrap();
        while self.costs("erase", 100, accounts.erase_some()).await.unwrap() {}
    }

    /// A few of many, at the beginning and further on. Dead entries stay in the indexes for a
    /// while, so no check that reads them follows.
    pub(super) async fn erases_old_messages(&mut self) {
        self.world.clock.advance(Duration::from_secs(1000 * 24 * 60 * 60));
        let (messages, now) = (self.world.messages.clone(), self.world.clock.now());
        for which in [Ageing::Events, Ageing::Texts] {
            let mut walk = Retention::days(which, 2);
            for _ in 0..3 {
                self.costs("erase old", 5000, messages.erase_old(&mut walk, now)).await.unwrap();
            }
        }
    }
}
