use domain::delivery::{DeliveryKey, DeliveryStep, FailureText};
use domain::message::{
    BeginTraces, EventContent, EventMetadata, MentionKind, MessageContent, MessageKind, PostEvent,
    RequestedMention, SendHeaders, SendMessage,
};
use domain::services::{Ports, Services};
use opentelemetry::Value;
use serde_json::json;
use testkit::{FixedClock, RecordingPublisher, TestAgent, World};
use tokio::sync::mpsc;

use super::super::queue;
use super::*;

/// A world whose events become spans, its services that begin traces, the spans, and what makes them.
fn traced(share: f64) -> (World, Services, mpsc::Receiver<SpanData>, Arc<ConversationSpans>) {
    let (queue, spans) = queue::queue();
    let events = Arc::new(ConversationSpans::new(queue, Arc::new(RecordingPublisher::default())));
    let noon = Timestamp::parse("2026-07-01T12:00:00Z").unwrap();
    let world = World::with_publisher(Arc::new(FixedClock::at(noon)), events.clone());
    let services =
        Services::new(Ports { begin_traces: BeginTraces::recording(share), ..world.ports.clone() });
    (world, services, spans, events)
}

fn to(agents: &[&TestAgent]) -> SendMessage {
    let mention = |agent: &&TestAgent| RequestedMention {
        id: Some(agent.id.to_string()),
        handle: None,
        kind: Some(MentionKind::Mention),
    };
    let content = MessageContent::new("go".to_owned()).unwrap();
    let mentions = agents.iter().map(mention).collect();
    SendMessage { content, mentions, in_reply_to: None, respond_by: None, attachments: Vec::new() }
}

fn report() -> PostEvent {
    let usage = json!({"band_usage": {"input_tokens": 12, "output_tokens": 3}});
    PostEvent {
        kind: MessageKind::Task,
        content: EventContent::new("usage".to_owned()).unwrap(),
        metadata: EventMetadata::new(usage.as_object().cloned().unwrap()).unwrap(),
        in_reply_to: None,
    }
}

fn attribute(span: &SpanData, name: &str) -> Option<Value> {
    span.attributes.iter().find(|one| one.key.as_str() == name).map(|one| one.value.clone())
}

/// The names of all spans since the last call, each with its agent and its seconds.
fn told(spans: &mut mpsc::Receiver<SpanData>) -> Vec<(String, String, u64)> {
    let mut told = Vec::new();
    while let Ok(span) = spans.try_recv() {
        let agent = attribute(&span, "gen_ai.agent.name").map_or_else(String::new, |name| name.to_string());
        let seconds = span.end_time.duration_since(span.start_time).unwrap().as_secs();
        told.push((span.name.to_string(), agent, seconds));
    }
    told
}

#[tokio::test]
async fn every_change_has_one_span() {
    let (world, services, mut spans, events) = traced(1.0);
    let ann = world.user("ann").await;
    let (bot, scout) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Scout").await);
    let chat = world.chat(ann.caller, &[bot.id.into(), scout.id.into()]).await;
    let message = services.messages.send(ann.caller, chat, to(&[&bot, &scout])).await.unwrap().id;
    let accepted = spans.try_recv().unwrap();
    assert_eq!((accepted.name.as_ref(), accepted.parent_span_id), ("accept", SpanId::INVALID));
    let tick = || world.clock.advance(Duration::from_secs(1));
    let span = |name: &str, agent: &str, seconds| (name.to_owned(), agent.to_owned(), seconds);
    let step = async |agent: &TestAgent, step| {
        tick();
        world.deliveries.advance(agent.caller, chat, message, step).await.unwrap();
    };
    tick();
    let taken = DeliveryKey { message, agent: bot.id };
    world.deliveries.mark_delivered(vec![taken]).await.unwrap();
    assert_eq!(told(&mut spans), [span("deliver", "Bot", 1)]);
    tick();
    let edited = MessageContent::new("go on".to_owned()).unwrap();
    world.messages.edit(ann.caller, chat, message, edited).await.unwrap();
    step(&bot, DeliveryStep::Begin).await;
    assert_eq!(told(&mut spans), []);
    step(&scout, DeliveryStep::Begin).await;
    assert_eq!(told(&mut spans), [span("deliver", "Scout", 4)], "it has fetched the message");
    step(&bot, DeliveryStep::Fail(FailureText::new("my secret".to_owned()).unwrap())).await;
    let failed = spans.try_recv().unwrap();
    assert_eq!((failed.name.as_ref(), failed.status.clone()), ("attempt", Status::error("")));
    assert!(!format!("{failed:?}").contains("secret"), "{failed:?}");
    step(&bot, DeliveryStep::Begin).await;
    step(&bot, DeliveryStep::Begin).await;
    assert_eq!(told(&mut spans), [span("attempt", "Bot", 1)], "superseded");

    for _ in 0..2 {
        world.messages.post_event(bot.caller, chat, report()).await.unwrap();
    }
    assert_eq!(events.reported.lock().unwrap().len(), 1);
    let answer = services.messages.send(bot.caller, chat, to(&[&scout])).await.unwrap().id;
    let answered = spans.try_recv().unwrap();
    assert_eq!(answered.span_context.trace_id(), accepted.span_context.trace_id());
    assert_eq!(answered.parent_span_id, accepted.span_context.span_id());
    assert_eq!(answered.span_context.span_id(), TraceParent::span_of(answer).into());
    step(&scout, DeliveryStep::Succeed).await;
    let by_scout = spans.try_recv().unwrap();
    assert_eq!(attribute(&by_scout, "gen_ai.usage.input_tokens"), None);
    step(&bot, DeliveryStep::Succeed).await;
    let by_bot = spans.try_recv().unwrap();
    assert_eq!(by_bot.parent_span_id, accepted.span_context.span_id());
    for (name, value) in [
        ("gen_ai.conversation.id", Value::from(chat.to_string())),
        ("session.id", chat.to_string().into()),
        ("gen_ai.agent.id", bot.id.to_string().into()),
        ("gen_ai.agent.name", "Bot".into()),
        ("gen_ai.operation.name", "invoke_agent".into()),
        ("openinference.span.kind", "AGENT".into()),
        ("parlance.attempt", 3_i64.into()),
        ("gen_ai.usage.input_tokens", 24_i64.into()),
        ("gen_ai.usage.output_tokens", 6_i64.into()),
    ] {
        assert_eq!(attribute(&by_bot, name), Some(value), "{name}");
    }
    assert_eq!(told(&mut spans), []);
}

#[tokio::test]
async fn what_is_not_recorded_has_no_span() {
    let (world, services, mut spans, events) = traced(0.0);
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    // Of a server that begins no trace, and of one that records none.
    for services in [&world, &services] {
        let message = services.messages.send(ann.caller, chat, to(&[&bot])).await.unwrap().id;
        for step in [DeliveryStep::Begin, DeliveryStep::Succeed] {
            services.deliveries.advance(bot.caller, chat, message, step.clone()).await.unwrap();
            services.messages.post_event(bot.caller, chat, report()).await.unwrap();
        }
    }
    assert!(events.reported.lock().unwrap().is_empty(), "no span would take it away");
    assert_eq!(told(&mut spans), []);
    let at = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse().unwrap();
    let stated = SendHeaders { traceparent: Some(at), ..SendHeaders::default() };
    services.messages.send_once(ann.caller, chat, to(&[&bot]), stated).await.unwrap();
    let accepted = spans.try_recv().unwrap();
    assert_eq!(accepted.span_context.trace_id(), at.trace().into());
    assert_eq!((accepted.parent_span_id, accepted.parent_span_is_remote), (at.span().into(), true));
}
