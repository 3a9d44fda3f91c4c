//! Working on messages.

use e2e::cast::Cast;
use e2e::{Api, Server};
use serde_json::{Value, json};

use crate::{refusal, remove, say};

/// The ids that the agent's list holds under a filter, oldest first.
async fn listed(agent: &Api, chat: &str, status: &str) -> Vec<String> {
    let query = if status.is_empty() { String::new() } else { format!("?status={status}") };
    crate::column(agent.get(&format!("/chats/{chat}/messages{query}")).await, "id")
}

async fn attempts(viewer: &Api, chat: &str, message: &str) -> Vec<Value> {
    let history = viewer.history(chat).await;
    let row = history.iter().find(|row| row["id"] == message).unwrap();
    row["metadata"]["attempts"].as_array().unwrap().clone()
}

#[tokio::test]
async fn case_25_the_walk_of_a_message() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (bot, chat) = (&cast.a1, cast.r1.as_str());
    let message = cast.u1.sent(chat, "work", &[&bot.id]).await;
    for (step, attempt, next) in
        [("processing", 1, true), ("failed", 1, true), ("processing", 2, true), ("processed", 2, false)]
    {
        let answer = bot.step(chat, &message, step).await.data();
        assert_eq!(answer["attempt_number"], json!(attempt), "{step}");
        assert_eq!(bot.next(chat).await.is_some(), next, "{step}");
    }
    assert_eq!(listed(bot, chat, "").await, Vec::<String>::new());
}

#[tokio::test]
async fn case_26_a_second_start_closes_the_first() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let message = cast.u1.sent(&cast.r1, "work", &[&cast.a1.id]).await;
    for number in 1..=2 {
        let answer = cast.a1.step(&cast.r1, &message, "processing").await.data();
        assert_eq!(answer["attempt_number"], json!(number));
    }
    let attempts = attempts(&cast.u1, &cast.r1, &message).await;
    let open = attempts.iter().filter(|attempt| attempt["status"] == "processing").count();
    assert_eq!((attempts.len(), open), (2, 1));
}

#[tokio::test]
async fn case_27_nothing_is_finished_that_was_not_begun() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let message = cast.u1.sent(&cast.r1, "work", &[&cast.a1.id]).await;
    for step in ["processed", "failed"] {
        let answer = cast.a1.step(&cast.r1, &message, step).await;
        assert_eq!(refusal(&answer), (422, "validation_error"));
        let told = answer.body["error"]["details"]["/processing_attempt"].as_array().unwrap();
        assert!(!told.is_empty());
    }
}

#[tokio::test]
async fn case_28_work_that_a_crash_left_open_is_offered_at_once() {
    let mut server = Server::start().await;
    let cast = Cast::on(&server).await;
    let message = cast.u1.sent(&cast.r1, "work", &[&cast.a1.id]).await;
    cast.a1.step(&cast.r1, &message, "processing").await.data();
    assert_eq!(cast.a1.next(&cast.r1).await.as_deref(), Some(message.as_str()));
    server.crash().await;
    assert_eq!(cast.a1.next(&cast.r1).await.as_deref(), Some(message.as_str()));
}

#[tokio::test]
async fn case_29_a_backlog_comes_oldest_first_and_once() {
    let mut server = Server::start().await;
    let cast = Cast::on(&server).await;
    let mut sent = Vec::new();
    for number in 0..5 {
        sent.push(cast.u1.sent(&cast.r1, &format!("{number}"), &[&cast.a1.id]).await);
    }
    server.crash().await;
    let mut worked = Vec::new();
    while let Some(message) = cast.a1.next(&cast.r1).await {
        cast.a1.step(&cast.r1, &message, "processing").await.data();
        cast.a1.step(&cast.r1, &message, "processed").await.data();
        worked.push(message);
    }
    assert_eq!(worked, sent);
}

#[tokio::test]
async fn case_30_ones_own_message_may_be_worked_on_and_is_never_offered() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let own = cast.a1.sent(&cast.r1, "mine", &[&cast.u1.id]).await;
    for step in ["processing", "processed"] {
        assert_eq!(cast.a1.step(&cast.r1, &own, step).await.status, 200);
        assert_eq!(cast.a1.next(&cast.r1).await, None);
        assert_eq!(cast.a2.next(&cast.r1).await, None);
    }
}

#[tokio::test]
async fn case_31_a_message_of_another_room_is_none_of_this() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let second = crate::room(&cast.u1, &[&cast.a1]).await;
    let message = cast.u1.sent(&second, "there", &[&cast.a1.id]).await;
    for step in ["processing", "processed", "failed"] {
        assert_eq!(refusal(&cast.a1.step(&cast.r1, &message, step).await), (404, "not_found"));
    }
}

#[tokio::test]
async fn case_32_two_agents_work_apart() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let message = cast.u1.sent(&cast.r1, "both", &[&cast.a1.id, &cast.a2.id]).await;
    cast.a1.step(&cast.r1, &message, "processing").await.data();
    cast.a1.step(&cast.r1, &message, "processed").await.data();
    assert_eq!(cast.a1.next(&cast.r1).await, None);
    assert_eq!(cast.a2.next(&cast.r1).await.as_deref(), Some(message.as_str()));
    assert_eq!(refusal(&cast.a2.step(&cast.r1, &message, "processed").await), (422, "validation_error"));
}

#[tokio::test]
async fn case_33_who_is_removed_finds_nothing_and_who_returns_finds_it_again() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let message = cast.u1.sent(&cast.r1, "work", &[&cast.a1.id]).await;
    assert_eq!(remove(&cast.u1, &cast.r1, &cast.a1).await.status, 200);
    let next = cast.a1.get(&format!("/chats/{}/messages/next", cast.r1)).await;
    assert_eq!(refusal(&next), (404, "not_found"));
    assert_eq!(refusal(&cast.a1.step(&cast.r1, &message, "processing").await), (404, "not_found"));
    assert_eq!(cast.u1.add(&cast.r1, &cast.a1.id).await.status, 201);
    assert_eq!(cast.a1.next(&cast.r1).await.as_deref(), Some(message.as_str()));
}

#[tokio::test]
async fn case_34_each_filter_holds_its_states() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (bot, chat) = (&cast.a1, cast.r1.as_str());
    let mut ids = Vec::new();
    for steps in [&[][..], &["processing"], &["processing", "failed"], &["processing", "processed"]] {
        let id = cast.u1.sent(chat, "work", &[&bot.id]).await;
        for step in steps {
            bot.step(chat, &id, step).await.data();
        }
        ids.push(id);
    }
    say(&cast.u1, chat, "not for it", json!([{"id": cast.a2.id}])).await.data();
    let of = |indexes: &[usize]| indexes.iter().map(|index| ids[*index].clone()).collect::<Vec<_>>();
    for (status, expected) in [
        ("", of(&[0, 1, 2])),
        ("pending", of(&[0, 2])),
        ("processing", of(&[1])),
        ("processed", of(&[3])),
        ("failed", of(&[2])),
        ("all", of(&[0, 1, 2, 3])),
    ] {
        assert_eq!(listed(bot, chat, status).await, expected, "{status}");
    }
}

#[tokio::test]
async fn case_35_parallel_starts_are_numbered_without_gaps() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let message = cast.u1.sent(&cast.r1, "work", &[&cast.a1.id]).await;
    let starts = (0..20).map(|_| {
        let (bot, chat, message) = (cast.a1.clone(), cast.r1.clone(), message.clone());
        tokio::spawn(async move {
            bot.step(&chat, &message, "processing").await.data()["attempt_number"].as_u64()
        })
    });
    let mut numbers = Vec::new();
    for start in starts.collect::<Vec<_>>() {
        numbers.push(start.await.unwrap().unwrap());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
}
