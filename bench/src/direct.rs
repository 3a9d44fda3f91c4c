//! The store called without HTTP, sockets, callers and rules: as many senders as the server has, in the same rooms.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use adapters_postgres::{PostgresConfig, PostgresStore};
use adapters_sqlite::{Location, SqliteStore};
use domain::chat::Named;
use domain::id::{AgentId, ChatId, MessageId, ParticipantId};
use domain::message::{MaxHops, Mention, MentionKind, MessageKind, MessageRepository, NewMessage};
use domain::store::OnCommit;
use domain::time::Timestamp;
use e2e::Api;
use futures_util::future::join_all;
use uuid::Uuid;

use crate::places::Served;
use crate::sends::recipients;
use crate::stats::per_second;

/// The store of a server, opened beside it.
pub(crate) struct Direct {
    store: Arc<dyn MessageRepository>,
    senders: Vec<(ChatId, ParticipantId, Vec<Mention>)>,
}

impl Direct {
    /// Sender n sends to room n.
    pub(crate) async fn open(served: &Served, senders: &[Api], receivers: &[Api], rooms: &[String]) -> Self {
        let store: Arc<dyn MessageRepository> = if let Some(url) = served.database_url() {
            Arc::new(PostgresStore::open(&PostgresConfig::at(&url)).await.unwrap())
        } else {
            let file = served.server.data().join("parlance.db");
            Arc::new(SqliteStore::open(&Location::File(file)).unwrap())
        };
        let agent = |agent: &Api| ParticipantId::Agent(AgentId::parse(&agent.id).unwrap());
        let senders = senders.iter().zip(rooms).enumerate().map(|(room, (sender, chat))| {
            let mentions = recipients(room).map(|receiver| Mention {
                id: agent(&receivers[receiver]),
                handle: format!("ann/agent-{receiver}"),
                name: format!("Agent {receiver}"),
                kind: MentionKind::Mention,
            });
            (ChatId::parse(chat).unwrap(), agent(sender), mentions.to_vec())
        });
        let senders = senders.collect();
        Self { store, senders }
    }

    /// Messages a second, when each sends as fast as it is answered.
    pub(crate) async fn rate(&self, time: Duration, bytes: usize) -> f64 {
        let until = Instant::now() + time;
        let tasks = self.senders.iter().cloned().map(|(chat, sender, mentions)| {
            let store = self.store.clone();
            tokio::spawn(async move {
                let mut count = 0;
                while Instant::now() < until {
                    let named = Named {
                        id: sender,
                        handle: "sender".to_owned(),
                        name: "Sender".to_owned(),
                        is_external: None,
                    };
                    let text =
                        NewMessage::new(id(), chat, named, MessageKind::Text, "x".repeat(bytes), now());
                    let new = NewMessage { mentions: mentions.clone(), max_hops: MaxHops::default(), ..text };
                    store.append(new, OnCommit::nothing()).await.unwrap().unwrap();
                    count += 1;
                }
                count
            })
        });
        let counts = join_all(tasks.collect::<Vec<_>>()).await;
        per_second(counts.into_iter().map(Result::unwrap).sum(), time)
    }
}

fn id() -> MessageId {
    MessageId::new(Uuid::now_v7())
}

fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_micros(i64::try_from(now.as_micros()).unwrap())
}
