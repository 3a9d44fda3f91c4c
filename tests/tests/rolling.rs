//! An upgrade of servers on one database, one after the other, while work goes on.
//!
//! `PARLANCE_TEST_BEFORE` names the program of the earlier version. Without it, both versions are this one.

use std::path::PathBuf;

use e2e::proof::{Random, Stage, check};
use e2e::{Api, Fleet, PROGRAM, Server, Socket, program};
use serde_json::json;

/// Calls that are answered before the next step of the upgrade.
const CALLS: usize = 150;

fn before() -> PathBuf {
    std::env::var_os("PARLANCE_TEST_BEFORE").map_or_else(|| program().to_owned(), PathBuf::from)
}

/// A human and an agent in a room.
struct Pair {
    human: Api,
    agent: Api,
    room: String,
}

impl Pair {
    async fn meet(server: &Server) -> Self {
        let human = server.user("bea");
        let agent = human.register(server, "Bot").await;
        let room = human.create_chat().await;
        assert_eq!(human.add(&room, &agent.id).await.status, 201);
        Self { human, agent, room }
    }

    /// What is done on one server is heard on the other.
    async fn talk(&self, one: &Server, other: &Server) {
        let topic = format!("chat_room:{}", self.room);
        let mut of_agent = Socket::of(other, &self.agent).await;
        of_agent.join("1", &topic).await;
        let mut of_human = Socket::of(other, &self.human).await;
        of_human.join("1", &topic).await;
        let (human, agent) = (self.human.on(one), self.agent.on(one));
        let sent = human.sent(&self.room, "hello", &[&self.agent.id]).await;
        assert_eq!(of_agent.event("1", &topic, "message_created").await["id"], json!(sent));
        assert_eq!(of_human.payload("message_created").await["id"], json!(sent));
        for step in ["processing", "processed"] {
            assert_eq!(agent.step(&self.room, &sent, step).await.status, 200);
            loop {
                let updated = of_human.payload("message_updated").await;
                if updated["metadata"]["delivery_status"][&self.agent.id]["status"] == step {
                    break;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_are_upgraded_one_after_the_other_and_nothing_is_lost() {
    let before = before();
    let mut fleet = Fleet::with_nats(2, &[(PROGRAM, before.to_str().unwrap())]).await;
    let pair = Pair::meet(&fleet.servers[0]).await;
    let stage = Stage::begin(&fleet.servers, &mut Random::from_seed(1)).await;
    stage.goes_on(CALLS, &fleet.servers).await;
    for upgraded in 0..fleet.servers.len() {
        let server = &mut fleet.servers[upgraded];
        server.terminate().await;
        server.set(PROGRAM, program().to_str().unwrap());
        server.run().await;
        fleet.acquainted().await;
        stage.goes_on(CALLS, &fleet.servers).await;
        let [one, other] = &fleet.servers[..] else { panic!("two") };
        pair.talk(one, other).await;
        pair.talk(other, one).await;
    }
    let history = stage.end(&fleet.servers).await;
    let anomalies = check(&history);
    assert!(anomalies.is_empty(), "{anomalies:?}");
}
