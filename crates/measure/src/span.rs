//! Spans: the outcome of a request and the duration of its parts, for tracing it across programs.
//!
//! No span is made before [`trace_with`] is called; the check is one atomic load. A part, such as work in the
//! store, has a span only inside a recorded request, so background work has none. A span holds no more of a
//! request than its log line: the route's pattern, but no path, query, key, or content.

use std::fmt;
use std::sync::OnceLock;

use opentelemetry::trace::{
    FutureExt, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt, TraceFlags, TraceId, TraceState,
    WithContext,
};
use opentelemetry::{Context, ContextGuard, KeyValue};
use opentelemetry_sdk::trace::SdkTracer;

use crate::request::known_method;

static TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// Turns spans on. A second call has no effect.
pub fn trace_with(tracer: SdkTracer) {
    let _ = TRACER.set(tracer);
}

/// The trace context that a client sends with its request (W3C Trace Context, `traceparent`).
#[derive(Clone, Debug)]
pub struct TraceParent(SpanContext);

impl TraceParent {
    /// The maximum length of a `tracestate` that is passed on, in bytes.
    const STATE_BYTES: usize = 512;

    /// The span of a trace, and the companion header `tracestate`. A malformed state is ignored.
    pub fn new(trace: u128, span: u64, is_sampled: bool, state: Option<&str>) -> Self {
        let flags = if is_sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
        let state = state.filter(|state| state.len() <= Self::STATE_BYTES);
        let state = state.and_then(|state| state.parse::<TraceState>().ok()).unwrap_or_default();
        Self(SpanContext::new(trace.into(), span.into(), flags, true, state))
    }

    /// The id of the trace.
    pub fn trace(&self) -> Trace {
        Trace(self.0.trace_id())
    }
}

/// The id of a trace; written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trace(TraceId);

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The span of a request. It ends with the response, or when it is dropped.
#[derive(Clone, Debug)]
pub struct RequestSpan(Context);

impl RequestSpan {
    /// Starts the span of a request; `None` if spans are off. `route` gives the pattern that the path matches,
    /// and is called only if spans are on.
    pub fn begin(
        method: &str,
        route: impl FnOnce() -> String,
        request: &str,
        parent: Option<&TraceParent>,
    ) -> Option<Self> {
        let tracer = TRACER.get()?;
        let around = parent
            .map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent.0.clone()));
        let (method, route) = (known_method(method), route());
        let span = SpanBuilder::from_name(format!("{method} {route}"))
            .with_kind(SpanKind::Server)
            .with_attributes([
                KeyValue::new("http.request.method", method),
                KeyValue::new("http.route", route),
                KeyValue::new("request.id", request.to_owned()),
            ])
            .start_with_context(tracer, &around);
        Some(Self(around.with_span(span)))
    }

    /// The id of its trace.
    pub fn trace(&self) -> Trace {
        Trace(self.0.span().span_context().trace_id())
    }

    /// Ends the span with the status of the response.
    pub fn answered(&self, status: u16) {
        let span = self.0.span();
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
        if status >= 500 {
            span.set_status(Status::error(""));
        }
        span.end();
    }

    /// Makes this the current span of the thread until the guard is dropped.
    pub fn enter(&self) -> ContextGuard {
        self.0.clone().attach()
    }

    /// Makes this the current span of the future.
    pub fn around<F: Future>(&self, work: F) -> WithContext<F> {
        work.with_context(self.0.clone())
    }
}

/// The span of a part of a request, until it is dropped. Empty unless the request is recorded.
#[derive(Debug)]
#[must_use]
pub struct Step(Option<Context>);

/// Starts a part of the current request.
pub fn step(name: &'static str) -> Step {
    let Some(tracer) = TRACER.get() else { return Step(None) };
    let begin = |current: &Context| {
        current.span().span_context().is_sampled().then(|| {
            let span = SpanBuilder::from_name(name).start_with_context(tracer, current);
            current.with_span(span)
        })
    };
    Step(Context::map_current(begin))
}

impl Step {
    /// The span, for work of this part that runs on another thread.
    pub fn carry(&self) -> Carried {
        Carried(self.0.clone())
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let Some(context) = &self.0 {
            context.span().end();
        }
    }
}

/// The span of a step, to continue it on another thread.
#[derive(Clone, Debug)]
pub struct Carried(Option<Context>);

impl Carried {
    /// Runs the work inside the step.
    pub fn within<T>(self, work: impl FnOnce() -> T) -> T {
        let _entered = self.0.map(Context::attach);
        work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(state: &str) -> TraceParent {
        TraceParent::new(0x0af7_6519, 0xb7ad, true, Some(state))
    }

    #[test]
    fn a_sound_state_is_passed_on() {
        let known = parent("a=1");
        assert_eq!(known.trace().to_string(), format!("{:032x}", 0x0af7_6519));
        assert!(known.0.is_sampled() && known.0.is_remote());
        assert_eq!(known.0.trace_state().get("a"), Some("1"));
        assert!(parent(&"a=1,".repeat(200)).0.trace_state().header().is_empty());
    }

    #[test]
    fn there_are_no_spans_by_default() {
        let parent = parent("");
        assert!(RequestSpan::begin("GET", || unreachable!(), "1", Some(&parent)).is_none());
        let _inside = Context::new().with_remote_span_context(parent.0).attach();
        assert!(step("store.read").0.is_none());
        assert_eq!(step("store.read").carry().within(|| 7), 7);
    }
}
