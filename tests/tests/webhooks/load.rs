//! A slow receiver slows nobody else.

use std::sync::Arc;

use e2e::{Api, Server, Socket};
use reqwest::Method;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::receiver::{Delivery, Receiver};
use crate::scene::{FAST, LOCAL, Scene};

/// Gives the user's new agent a webhook, and sends it a message in each of so many rooms.
async fn busy_agent(server: &Server, user: &Api, name: &str, url: &str, rooms: usize) -> Scene {
    let bot = user.register(server, name).await;
    let mut scene = Scene { ann: user.clone(), bot, chat: String::new() };
    scene.hook(url).await;
    for _ in 0..rooms {
        scene.chat = scene.another_room().await;
        scene.send().await;
    }
    scene
}

/// Each request of the slow receiver lasts until the end of the test. Its agent has 8 at most, and those of its owner 32.
#[tokio::test]
async fn a_slow_receiver_slows_nobody_else() {
    let server = Server::start_alone(&[LOCAL, FAST]).await;
    let (held, opens) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (holds, gate) = (held.clone(), opens.clone());
    let receiver = Receiver::start(move |_| {
        let (holds, gate) = (holds.clone(), gate.clone());
        Box::pin(async move {
            holds.add_permits(1);
            gate.acquire().await.unwrap().forget();
            (200, "")
        })
    })
    .await;
    let is_held = async |requests| held.acquire_many(requests).await.unwrap().forget();
    let ann = server.user("ann");
    let slow = busy_agent(&server, &ann, "Slow", &receiver.url(), 12).await;
    is_held(8).await;

    // Another agent of its owner is sent its messages, and so is one with a socket in a room of the slow one.
    let other = Receiver::always(200, "").await;
    let quick = busy_agent(&server, &ann, "Quick", &other.url(), 3).await;
    other.wait(3).await;
    let listener = ann.register(&server, "Listener").await;
    assert_eq!(ann.add(&slow.chat, &listener.id).await.status, 201);
    let mut socket = Socket::of(&server, &listener).await;
    socket.join("r", &format!("chat_room:{}", slow.chat)).await;
    for _ in 0..20 {
        let message = ann.sent(&slow.chat, "hello", &[&slow.bot.id, &listener.id]).await;
        assert_eq!(socket.payload("message_created").await["id"], json!(message));
    }
    assert_eq!(receiver.received().len(), 8, "no more at the same time");

    // With all that its owner may have, another owner's agent is sent its messages.
    for number in 1..5 {
        busy_agent(&server, &ann, &format!("Slow {number}"), &receiver.url(), 8).await;
    }
    is_held(24).await;
    let waits = quick.send().await;
    let ben = busy_agent(&server, &server.user("ben"), "Bot", &other.url(), 3).await;
    other.wait(6).await;
    let last = ben.send().await;
    ben.becomes(&last, "delivered").await;
    assert_eq!(receiver.received().len(), 32, "no more at the same time");
    assert!(other.received().iter().all(|request| request.message() != waits), "its owner has 32 in flight");

    // The rest follows when the receiver responds.
    opens.add_permits(12 + 20 + 4 * 8);
    receiver.wait(12 + 20 + 4 * 8).await;
    quick.becomes(&waits, "delivered").await;
    let removed = ann.call(Method::DELETE, &slow.path(""), None).await;
    assert_eq!(removed.status, 204);
}
