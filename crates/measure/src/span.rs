//! Spans: the outcome of a request and the duration of its parts, for tracing it across programs.
//!
//! No span is made before [`trace_with`] is called; the check is one atomic load. A part, such as work in the
//! store, has a span only inside a recorded request, so background work has none. A span holds no more of a
//! request than its log line: the route's pattern, but no path, query, key, or content.

use std::fmt;
use std::sync::OnceLock;

use opentelemetry::trace::{
    FutureExt, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId,
    TraceState, WithContext,
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

    /// Parses the header and its companion `tracestate`. A malformed header gives `None` and is ignored.
    pub fn read(parent: &str, state: Option<&str>) -> Option<Self> {
        let (trace, span, flags) = parts(parent)?;
        let state = state.filter(|state| state.len() <= Self::STATE_BYTES);
        let state = state.and_then(|state| state.parse::<TraceState>().ok()).unwrap_or_default();
        Some(Self(SpanContext::new(trace, span, flags, true, state)))
    }

    /// The id of the trace.
    pub fn trace(&self) -> Trace {
        Trace(self.0.trace_id())
    }
}

/// `version-trace-span-flags` in lower-case hexadecimal; later versions may add parts.
fn parts(text: &str) -> Option<(TraceId, SpanId, TraceFlags)> {
    const LENGTH: usize = 55;
    let (known, more) = text.split_at_checked(LENGTH)?;
    let mut parts = known.split('-');
    let mut part = |length: usize| {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        parts.next().filter(|part| part.len() == length && part.bytes().all(is_digit))
    };
    let (version, trace, span, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
    let whole = match version {
        "ff" => false,
        "00" => more.is_empty(),
        _ => more.is_empty() || more.starts_with('-'),
    };
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    (whole && trace != TraceId::INVALID && span != SpanId::INVALID).then_some((trace, span, flags))
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

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    #[test]
    fn well_formed_headers_are_followed() {
        for good in [
            format!("00-{TRACE}-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-ff"),
            format!("01-{TRACE}-{SPAN}-01"),
            format!("cc-{TRACE}-{SPAN}-01-what-comes-later"),
        ] {
            let parent = TraceParent::read(&good, Some("a=1")).unwrap();
            assert_eq!(parent.trace().to_string(), TRACE, "{good}");
            assert!(parent.0.is_sampled() && parent.0.is_remote());
            assert_eq!(parent.0.trace_state().get("a"), Some("1"));
        }
        let parent = TraceParent::read(&format!("00-{TRACE}-{SPAN}-00"), Some(&"a=1,".repeat(200))).unwrap();
        assert!(!parent.0.is_sampled() && parent.0.trace_state().header().is_empty());
    }

    #[test]
    fn malformed_headers_are_ignored() {
        for bad in [
            String::new(),
            "00".to_owned(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("00-{TRACE}-{SPAN}-01 "),
            format!("cc-{TRACE}-{SPAN}-01more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{}-{SPAN}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-+{}-{SPAN}-01", &TRACE[1..]),
            format!("00-{TRACE}{SPAN}--01-"),
            format!("00_{TRACE}_{SPAN}_01"),
            "é".repeat(40),
        ] {
            assert!(TraceParent::read(&bad, None).is_none(), "{bad}");
        }
    }

    #[test]
    fn there_are_no_spans_by_default() {
        let parent = TraceParent::read(&format!("00-{TRACE}-{SPAN}-01"), None);
        assert!(RequestSpan::begin("GET", || unreachable!(), "1", parent.as_ref()).is_none());
        let _inside = Context::new().with_remote_span_context(parent.unwrap().0).attach();
        assert!(step("store.read").0.is_none());
        assert_eq!(step("store.read").carry().within(|| 7), 7);
    }
}
