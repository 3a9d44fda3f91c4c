//! Which message each one follows from, through crashes and on several servers.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Fleet, Server, Socket};
use futures_util::future::join_all;
use serde_json::{Value, json};

/// Ann's agents in her room: those of the cast, and a third.
async fn team(server: &Server, cast: &Cast) -> [Api; 3] {
    let third = cast.u1.register(server, "Last").await;
    assert_eq!(cast.u1.add(&cast.r1, &third.id).await.status, 201);
    [cast.a1.on(server), cast.a2.on(server), third]
}

async fn step(agent: &Api, room: &str, message: &str, step: &str) {
    assert_eq!(agent.step(room, message, step).await.status, 200, "{step}");
}

/// Asserts that these messages form a chain, whoever reads them: one root, and its sender as originator.
async fn assert_chain(ann: &Api, room: &str, chain: &[String]) {
    let history = ann.history(room).await;
    let rows = ann.get(&format!("/chats/{room}/messages/{}/tree", chain[2])).await.data();
    let tree = rows.as_array().unwrap();
    assert_eq!(tree.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>(), chain);
    for (hop, row) in tree.iter().enumerate() {
        let cause = if hop > 0 { place(ann, &chain[0], &chain[hop - 1], hop) } else { Value::Null };
        assert_eq!((&row["hop"], &row["cause_id"]), (&json!(hop), &cause["message_id"]));
        let read = history.iter().find(|message| message["id"] == row["id"]).unwrap();
        assert_eq!((&row["metadata"]["cause"], &read["metadata"]["cause"]), (&cause, &cause));
    }
}

fn place(originator: &Api, root: &str, message: &str, hop: usize) -> Value {
    let originator = json!({"id": originator.id, "type": "User"});
    json!({"message_id": message, "root_id": root, "hop": hop, "originator": originator})
}

/// The server is killed between an agent's attempt and its answer.
#[tokio::test]
async fn a_chain_has_one_root_though_a_server_is_killed() {
    let mut server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (team, room) = (team(&server, &cast).await, &cast.r1);
    let mut chain = vec![cast.u1.sent(room, "go", &[&team[0].id]).await];
    for (index, agent) in team.iter().enumerate() {
        let cause = chain[index].clone();
        assert_eq!(agent.next(room).await.as_deref(), Some(cause.as_str()));
        step(agent, room, &cause, "processing").await;
        if index == 1 {
            server.crash().await;
        }
        let to = team.get(index + 1).map_or(&cast.u1.id, |next| &next.id);
        chain.push(agent.sent(room, "further", &[to]).await);
        step(agent, room, &cause, "processed").await;
    }
    assert_chain(&cast.u1, room, &chain).await;
    let fresh = team[0].sent(room, "something else", &[&cast.u1.id]).await;
    let history = cast.u1.history(room).await;
    let fresh = history.iter().find(|message| message["id"] == fresh.as_str()).unwrap();
    assert_eq!(fresh["metadata"].get("cause"), None, "nothing is open");
}

/// The next new message that a socket is told of.
async fn created(socket: &mut Socket) -> Value {
    loop {
        let mut frame = socket.frame().await;
        if frame[3] == "message_created" {
            return frame[4].take();
        }
    }
}

/// Every agent is on another server than the one before it, one of which is killed; frames tell the same on both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_goes_over_two_servers() {
    let mut fleet = Fleet::with_nats(2, &[]).await;
    let cast = Cast::on(&fleet.servers[0]).await;
    let (team, room) = (team(&fleet.servers[0], &cast).await, &cast.r1);
    let topic = format!("chat_room:{room}");
    let mut human = Socket::of(&fleet.servers[0], &cast.u1).await;
    human.join("1", &topic).await;
    fleet.acquainted().await;
    let mut chain = vec![cast.u1.sent(room, "go", &[&team[0].id]).await];
    created(&mut human).await;
    for (index, agent) in team.iter().enumerate() {
        let there = agent.on(&fleet.servers[1]);
        let cause = chain[index].clone();
        step(&there, room, &cause, "processing").await;
        if index == 1 {
            // It is gone for as long as the agent takes to answer.
            fleet.servers[1].kill9();
        }
        let at = &fleet.servers[usize::from(index != 1)];
        let to = team.get(index + 1).map_or(&cast.u1.id, |next| &next.id);
        chain.push(agent.on(at).sent(room, "further", &[to]).await);
        let said = created(&mut human).await;
        assert_eq!(said["metadata"]["cause"], place(&cast.u1, &chain[0], &cause, index + 1));
        if index == 1 {
            fleet.servers[1].run().await;
            fleet.all_are("ready").await;
            fleet.acquainted().await;
        }
        step(&agent.on(&fleet.servers[1]), room, &cause, "processed").await;
    }
    assert_chain(&cast.u1, room, &chain).await;
}

/// Agents that write at the same time, each on a message of its own, in one room: no cause is mixed up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn causes_are_not_mixed_up_at_the_same_time() {
    let server = Server::start_with(&[("PARLANCE_RATE_LIMITS", "false")]).await;
    let cast = Cast::on(&server).await;
    let (team, room) = (team(&server, &cast).await, &cast.r1);
    let work = async |agent: &Api| {
        let mut written = Vec::new();
        for number in 0..20 {
            let asked = cast.u1.sent(room, &format!("question {number}"), &[&agent.id]).await;
            step(agent, room, &asked, "processing").await;
            for answer in 0..2 {
                written.push((
                    agent.sent(room, &format!("answer {answer}"), &[&cast.u1.id]).await,
                    asked.clone(),
                ));
            }
            step(agent, room, &asked, "processed").await;
        }
        written
    };
    let written = join_all(team.iter().map(work)).await.concat();
    let history = cast.u1.history(room).await;
    assert_eq!(history.len(), written.len() * 3 / 2);
    for (answer, asked) in written {
        let read = history.iter().find(|message| message["id"] == answer.as_str()).unwrap();
        assert_eq!(read["metadata"]["cause"], place(&cast.u1, &asked, &asked, 1));
    }
}
