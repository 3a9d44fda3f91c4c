//! Processing messages.

use e2e::Server;
use e2e::cast::Cast;

use crate::refusal;

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
