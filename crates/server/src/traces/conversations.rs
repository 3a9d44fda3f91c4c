//! Spans of conversations: of texts, of their deliveries, and of the attempts of agents.
//!
//! An event has the state of a message, and does not say what has changed. It is what has the newest time of the
//! message. So each change has one span, of the server that has stored it, and nothing needs to be remembered.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::delivery::{Attempt, AttemptState, Delivery};
use domain::event::DomainEvent;
use domain::id::{AgentId, ChatId, MessageId, ParticipantId};
use domain::message::{Cause, Message, TraceParent};
use domain::ports::{Clock, EventPublisher};
use domain::time::Timestamp;
use domain::usage::{TokenCounts, UsageReport};
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{
    IdGenerator, RandomIdGenerator, SpanData, SpanEvents, SpanLinks, SpanProcessor,
};

use super::queue::Queue;
use crate::adapters::SystemClock;

/// The maximum number of open attempts whose usage is remembered.
const MAX_REPORTED: usize = 10_000;

/// Makes spans of the events that it passes on.
pub(crate) struct ConversationSpans {
    queue: Queue,
    to: Arc<dyn EventPublisher>,
    /// What was reported during attempts that have not ended.
    reported: Mutex<HashMap<(MessageId, AgentId), TokenCounts>>,
}

impl EventPublisher for ConversationSpans {
    fn publish(&self, event: DomainEvent) {
        match &event {
            DomainEvent::MessageCreated { message, .. } => self.accepted(message),
            DomainEvent::EventCreated { message } => self.report(message),
            DomainEvent::MessageUpdated { message } => self.updated(message),
            _ => {}
        }
        self.to.publish(event);
    }

    /// Deliveries have spans whether or not a human sees them.
    fn has_human_subscribers(&self, _: ChatId) -> bool {
        true
    }
}

impl ConversationSpans {
    pub(super) fn new(queue: Queue, to: Arc<dyn EventPublisher>) -> Self {
        Self { queue, to, reported: Mutex::default() }
    }

    fn accepted(&self, message: &Message) {
        let Some(at) = recorded(message) else { return };
        let span = TraceParent::span_of(message.id);
        let cause = match message.cause {
            Cause::Known(place) => Some(TraceParent::span_of(place.message.unwrap_or(place.root))),
            Cause::None | Cause::Ambiguous { .. } => None,
        };
        let is_stated = !at.is_own_of(message.id);
        let parent = if is_stated { Some(at.span()) } else { cause };
        let mut made = made("accept", message, at, span, parent, message.created_at);
        made.parent_span_is_remote = is_stated;
        made.end_time = made.start_time.max(system(SystemClock.now()));
        made.attributes.push(KeyValue::new("openinference.span.kind", "CHAIN"));
        if let ParticipantId::Agent(agent) = message.sender {
            made.attributes.extend(of_agent(agent, Some(message.sender_name.clone())));
        }
        self.queue.on_end(made);
    }

    fn report(&self, event: &Message) {
        // What is not recorded has no span that would take it away again.
        if recorded(event).is_none() {
            return;
        }
        let (Cause::Known(place), Some(agent)) = (event.cause, event.sender.agent()) else { return };
        let (Some(message), Some(report)) = (place.message, UsageReport::of(event)) else { return };
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.len() >= MAX_REPORTED {
            // Their attempts were most likely ended by another server.
            reported.clear();
        }
        let sum = reported.entry((message, agent)).or_default();
        *sum = sum.plus(report.tokens);
    }

    fn updated(&self, message: &Message) {
        let Some(at) = recorded(message) else { return };
        let times = message.deliveries.iter().flat_map(times);
        let newest = times.fold(message.updated_at, Ord::max);
        for delivery in &message.deliveries {
            let attempts = delivery.attempts();
            let is_fetched = |first: &Attempt| first.number.get() == 1 && first.started_at == newest;
            let is_taken = match delivery.delivered_at() {
                Some(delivered_at) => delivered_at == newest,
                None => attempts.first().is_some_and(is_fetched),
            };
            if is_taken {
                self.delivered(message, at, delivery, newest);
            }
            for attempt in attempts.iter().filter(|attempt| attempt.completed_at() == Some(newest)) {
                self.attempted(message, at, delivery.agent(), attempt, newest);
            }
        }
    }

    fn delivered(&self, message: &Message, at: TraceParent, delivery: &Delivery, end: Timestamp) {
        let mut made = below("deliver", message, at, delivery.agent(), message.created_at, end);
        made.attributes.push(KeyValue::new("openinference.span.kind", "CHAIN"));
        self.queue.on_end(made);
    }

    fn attempted(
        &self,
        message: &Message,
        at: TraceParent,
        agent: AgentId,
        attempt: &Attempt,
        end: Timestamp,
    ) {
        let mut made = below("attempt", message, at, agent, attempt.started_at, end);
        made.attributes.extend([
            KeyValue::new("openinference.span.kind", "AGENT"),
            KeyValue::new("gen_ai.operation.name", "invoke_agent"),
            KeyValue::new("parlance.attempt", i64::from(attempt.number.get())),
        ]);
        // What an agent says about its failure is content.
        made.status = match attempt.state {
            AttemptState::Failed { .. } => Status::error(""),
            AttemptState::Open | AttemptState::Succeeded { .. } => Status::Ok,
        };
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tokens) = reported.remove(&(message.id, agent)) {
            made.attributes.extend([
                KeyValue::new("gen_ai.usage.input_tokens", tokens.input.cast_signed()),
                KeyValue::new("gen_ai.usage.output_tokens", tokens.output.cast_signed()),
            ]);
        }
        drop(reported);
        self.queue.on_end(made);
    }
}

/// The message's place in its trace, if the trace is recorded.
fn recorded(message: &Message) -> Option<TraceParent> {
    message.traceparent.filter(|at| at.is_sampled())
}

/// All times at which a delivery has changed.
fn times(delivery: &Delivery) -> impl Iterator<Item = Timestamp> {
    let of_attempts =
        delivery.attempts().iter().flat_map(|attempt| [Some(attempt.started_at), attempt.completed_at()]);
    let others = [
        delivery.delivered_at(),
        delivery.dead().map(|dead| dead.at),
        delivery.restart().map(|restart| restart.at),
    ];
    of_attempts.chain(others).flatten()
}

/// The span of an agent's part, below that of the message.
fn below(
    name: &'static str,
    message: &Message,
    at: TraceParent,
    agent: AgentId,
    start: Timestamp,
    end: Timestamp,
) -> SpanData {
    let span = u64::from_be_bytes(RandomIdGenerator::default().new_span_id().to_bytes());
    let mut made = made(name, message, at, span, Some(TraceParent::span_of(message.id)), start);
    made.end_time = made.start_time.max(system(end));
    let mut mentions = message.mentions.iter();
    let mention = mentions.find(|mention| mention.id == ParticipantId::Agent(agent));
    made.attributes.extend(of_agent(agent, mention.map(|mention| mention.name.clone())));
    made
}

fn made(
    name: &'static str,
    message: &Message,
    at: TraceParent,
    span: u64,
    parent: Option<u64>,
    start: Timestamp,
) -> SpanData {
    let (trace, span, start_time) = (at.trace().into(), span.into(), system(start));
    let chat = message.chat_id.to_string();
    SpanData {
        span_context: SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::default()),
        parent_span_id: parent.map_or(SpanId::INVALID, SpanId::from),
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: name.into(),
        start_time,
        end_time: start_time,
        attributes: vec![
            KeyValue::new("gen_ai.conversation.id", chat.clone()),
            KeyValue::new("session.id", chat),
            KeyValue::new("messaging.message.id", message.id.to_string()),
        ],
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: Status::Unset,
        instrumentation_scope: InstrumentationScope::builder("parlance").build(),
    }
}

fn of_agent(agent: AgentId, name: Option<String>) -> impl Iterator<Item = KeyValue> {
    let name = name.map(|name| KeyValue::new("gen_ai.agent.name", name));
    [KeyValue::new("gen_ai.agent.id", agent.to_string())].into_iter().chain(name)
}

fn system(time: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(time.micros().max(0).cast_unsigned())
}
