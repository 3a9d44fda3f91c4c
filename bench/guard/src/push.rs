//! From the publishing of an event to the bytes of those who listen.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use actix_http::Request;
use actix_http::ws::{OpCode, Parser};
use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{Payload, Service, ServiceResponse};
use actix_web::test::TestRequest;
use bytes::{Bytes, BytesMut};
use domain::chat::Named;
use domain::event::DomainEvent;
use domain::id::{MessageId, ParticipantId, Sequence};
use domain::message::{Mention, MentionKind, Message, MessageKind, NewMessage};
use domain::ports::{Clock, EventPublisher};
use futures_util::{StreamExt, future, stream};
use testkit::TestAgent;
use uuid::Uuid;

use crate::scene::Scene;
use crate::walk::Walk;

/// How many humans listen to a fan-out.
const HUMANS: usize = 100;

/// One agent listens.
pub(crate) async fn to_an_agent<B: MessageBody + 'static>(
    scene: &Scene,
    app: &impl Service<Request, Response = ServiceResponse<B>, Error = Error>,
    walk: Walk,
) {
    let taken = Rc::new(Cell::new(0));
    listen(scene, app, &scene.recipients[0].key, &taken).await;
    publish(scene, &taken, 1, walk).await;
}

/// A hundred sockets of a human listen.
pub(crate) async fn to_humans<B: MessageBody + 'static>(
    scene: &Scene,
    app: &impl Service<Request, Response = ServiceResponse<B>, Error = Error>,
    walk: Walk,
) {
    let taken = Rc::new(Cell::new(0));
    for _ in 0..HUMANS {
        listen(scene, app, &scene.ann.key, &taken).await;
    }
    publish(scene, &taken, HUMANS, walk).await;
}

/// Publishes one message after the other; the next when all `listeners` have taken the one before.
async fn publish(scene: &Scene, taken: &Cell<usize>, listeners: usize, walk: Walk) {
    let events = (0..walk.prepared).map(|number| created(scene, number)).collect::<Vec<_>>();
    let mut events = events.into_iter();
    for (number, event) in events.by_ref().take(walk.steps).enumerate() {
        scene.hub.publish(event);
        while taken.get() < (number + 1) * listeners {
            tokio::task::yield_now().await;
        }
        assert_eq!(taken.get(), (number + 1) * listeners);
    }
    std::mem::forget(events);
}

/// A message for both recipients.
fn created(scene: &Scene, number: usize) -> DomainEvent {
    let mention = |agent: &TestAgent| Mention {
        id: ParticipantId::Agent(agent.id),
        handle: agent.handle.clone(),
        name: "An agent".to_owned(),
        kind: MentionKind::Mention,
    };
    let [researcher, writer] = &scene.recipients;
    let now = scene.world.clock.now();
    let sender = Named {
        id: ParticipantId::Agent(scene.sender.id),
        handle: scene.sender.handle.clone(),
        name: "Planner".to_owned(),
        is_external: None,
    };
    let content = format!("@[[{}]] please read what the three suppliers wrote since Monday.", researcher.id);
    let id = MessageId::new(Uuid::from_u128(number as u128));
    let new = NewMessage::new(id, scene.room, sender, MessageKind::Text, content, now);
    let sequence = Sequence::new(1 + i64::try_from(number).unwrap_or_default());
    let mentions = vec![mention(researcher), mention(writer)];
    let message = Message { mentions, ..new.into_message(sequence, now) };
    DomainEvent::MessageCreated { message, recipients: vec![researcher.id, writer.id] }
}

/// Opens a socket and joins the room; from then on `taken` counts its frames.
async fn listen<B: MessageBody + 'static>(
    scene: &Scene,
    app: &impl Service<Request, Response = ServiceResponse<B>, Error = Error>,
    key: &str,
    taken: &Rc<Cell<usize>>,
) {
    scene.go_on();
    let upgrade =
        TestRequest::get().uri("/api/v1/socket/websocket?vsn=2.0.0").insert_header(("x-api-key", key));
    let upgrade = upgrade
        .insert_header(("upgrade", "websocket"))
        .insert_header(("connection", "upgrade"))
        .insert_header(("sec-websocket-version", "13"))
        .insert_header(("sec-websocket-key", "x3JJHMbDL1EzLkh9GBhXDw=="));
    let mut join = BytesMut::new();
    let text = format!(r#"["1","1","chat_room:{}","phx_join",{{}}]"#, scene.room);
    Parser::write_message(&mut join, text.as_bytes(), OpCode::Text, true, true);
    // The client goes on listening.
    let said = stream::iter([Ok(join.freeze())]).chain(stream::pending()).boxed_local();
    let (upgrade, _) = upgrade.to_request().replace_payload(Payload::Stream { payload: said });

    let response = app.call(upgrade).await.unwrap();
    assert_eq!(response.status(), 101);
    let mut body = Box::pin(response.into_body());
    let reply = bytes(body.as_mut()).await;
    assert!(String::from_utf8_lossy(&reply).contains(r#""status":"ok""#), "{reply:?}");
    let taken = taken.clone();
    actix_web::rt::spawn(async move {
        loop {
            bytes(body.as_mut()).await;
            taken.set(taken.get() + 1);
        }
    });
}

/// What a socket has for its client.
async fn bytes<B: MessageBody>(mut body: Pin<&mut B>) -> Bytes {
    let read = future::poll_fn(|context| match body.as_mut().poll_next(context) {
        Poll::Ready(Some(Ok(bytes))) => Poll::Ready(Some(bytes)),
        Poll::Ready(_) => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    read.await.expect("the server keeps the socket open")
}
