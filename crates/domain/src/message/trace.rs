//! The trace of a message, across programs (W3C Trace Context). Pure.
//!
//! Whoever sends a message may state its trace in the header `traceparent`. The message keeps it, and its readers get it as
//! it is. What follows from the message continues the trace, unless its sender states another one. So one trace runs through
//! a whole tree, even if only its root came with one.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

use crate::id::MessageId;
use crate::idempotency::IdempotentRequest;

/// A place in a trace: the trace, and the span that is the parent of what follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceParent {
    trace: u128,
    span: u64,
    is_sampled: bool,
}

/// The header is malformed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("malformed traceparent")]
pub struct MalformedTraceParent;

impl TraceParent {
    /// The id of the trace; never 0.
    pub const fn trace(self) -> u128 {
        self.trace
    }

    /// The id of the span; never 0.
    pub const fn span(self) -> u64 {
        self.span
    }

    /// Returns whether spans of the trace are recorded.
    pub const fn is_sampled(self) -> bool {
        self.is_sampled
    }

    /// The id of the span that stands for a message: the second half of its id, which is random.
    #[expect(clippy::cast_possible_truncation, reason = "only that half is wanted")]
    pub const fn span_of(message: MessageId) -> u64 {
        message.uuid().as_u128() as u64
    }

    /// Returns whether the sender of `message` has stated no trace: the span is that of the message.
    pub const fn is_own_of(self, message: MessageId) -> bool {
        self.span == Self::span_of(message)
    }

    /// The place of a new message, of the one that its sender states, or that is begun for it ([`BeginTraces`]), and that
    /// of its cause. What is stated goes before the trace of the cause, and that before a new one.
    pub fn of_new(stated: Option<Self>, cause: Option<Self>, message: MessageId) -> Option<Self> {
        let is_stated = |stated: &Self| !stated.is_own_of(message);
        let continued = || cause.map(|cause| Self { span: Self::span_of(message), ..cause });
        stated.filter(is_stated).or_else(continued).or(stated)
    }
}

impl FromStr for TraceParent {
    type Err = MalformedTraceParent;

    /// Reads `version-trace-span-flags` in lower-case hexadecimal; later versions may add parts.
    fn from_str(text: &str) -> Result<Self, MalformedTraceParent> {
        const LENGTH: usize = 55;
        let (known, more) = text.split_at_checked(LENGTH).ok_or(MalformedTraceParent)?;
        let mut parts = known.split('-');
        let mut part = |length: usize| {
            let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            let is_number = |part: &&str| part.len() == length && part.bytes().all(is_digit);
            parts.next().filter(is_number).ok_or(MalformedTraceParent)
        };
        let (version, trace, span, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        let is_whole = match version {
            "ff" => false,
            "00" => more.is_empty(),
            _ => more.is_empty() || more.starts_with('-'),
        };
        let trace = u128::from_str_radix(trace, 16).map_err(|_| MalformedTraceParent)?;
        let span = u64::from_str_radix(span, 16).map_err(|_| MalformedTraceParent)?;
        let flags = u8::from_str_radix(flags, 16).map_err(|_| MalformedTraceParent)?;
        let is_sound = is_whole && trace != 0 && span != 0;
        is_sound.then_some(Self { trace, span, is_sampled: flags & 1 == 1 }).ok_or(MalformedTraceParent)
    }
}

/// The header, in version 00.
impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.is_sampled))
    }
}

impl Serialize for TraceParent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TraceParent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Whether the server begins a trace for a text that is part of none: by default, it does not.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct BeginTraces(Option<f64>);

impl BeginTraces {
    /// Begins them; this share of them, from 0 to 1, is recorded.
    pub const fn recording(share: f64) -> Self {
        Self(Some(share))
    }

    /// The trace that begins with a text: its id is that of the text.
    pub(super) fn of(self, message: MessageId) -> Option<TraceParent> {
        let share = self.0?;
        let (trace, span) = (message.uuid().as_u128(), TraceParent::span_of(message));
        // The first two bits are the same in all ids; 53 others make a number exactly.
        #[expect(clippy::cast_precision_loss, reason = "nothing is lost")]
        let place = ((span << 2) >> 11) as f64 / 2_f64.powi(53);
        Some(TraceParent { trace, span, is_sampled: place < share })
    }
}

/// What the headers of a request say about the message in its body.
#[derive(Clone, Debug, Default)]
pub struct SendHeaders {
    /// Set for a request with an idempotency key.
    pub once: Option<IdempotentRequest>,
    /// Set if the sender states the trace.
    pub traceparent: Option<TraceParent>,
    /// The id that the sender's client has given a text, if its protocol has such ids.
    pub client_id: Option<String>,
}

impl From<Option<IdempotentRequest>> for SendHeaders {
    fn from(once: Option<IdempotentRequest>) -> Self {
        Self { once, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn message(id: &str) -> MessageId {
        MessageId::new(id.parse::<Uuid>().unwrap())
    }

    #[test]
    fn well_formed_headers_are_followed() {
        for (good, flags) in [
            (format!("00-{TRACE}-{SPAN}-01"), "01"),
            (format!("00-{TRACE}-{SPAN}-ff"), "01"),
            (format!("00-{TRACE}-{SPAN}-02"), "00"),
            (format!("01-{TRACE}-{SPAN}-01"), "01"),
            (format!("cc-{TRACE}-{SPAN}-01-what-comes-later"), "01"),
        ] {
            let read = good.parse::<TraceParent>().unwrap();
            assert_eq!(read.to_string(), format!("00-{TRACE}-{SPAN}-{flags}"), "{good}");
        }
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
            assert_eq!(bad.parse::<TraceParent>(), Err(MalformedTraceParent), "{bad}");
        }
    }

    #[test]
    fn a_trace_goes_on_unless_the_sender_states_another() {
        let own = message("01985b6e-0000-7abc-8123-456789abcdef");
        let parse = |text: &str| Some(text.parse::<TraceParent>().unwrap());
        let stated = parse("00-11111111111111111111111111111111-2222222222222222-01");
        let cause = parse("00-33333333333333333333333333333333-4444444444444444-00");
        let continued = parse("00-33333333333333333333333333333333-8123456789abcdef-00");
        let begun = parse("00-01985b6e00007abc8123456789abcdef-8123456789abcdef-01");
        assert_eq!(BeginTraces::recording(1.0).of(own), begun);
        for (given, cause, expected) in [
            (None, None, None),
            (stated, None, stated),
            (stated, cause, stated),
            (begun, None, begun),
            (begun, cause, continued),
            (None, cause, continued),
        ] {
            assert_eq!(TraceParent::of_new(given, cause, own), expected, "{given:?} {cause:?}");
        }
    }

    #[test]
    fn a_share_of_the_traces_is_recorded() {
        let first = message("01985b6e-0000-7abc-8000-000000000000");
        let last = message("01985b6e-0000-7abc-bfff-ffffffffffff");
        let middle = message("01985b6e-0000-7abc-9fff-000000000000");
        let recorded = |share| {
            [first, middle, last].map(|id| BeginTraces::recording(share).of(id).unwrap().is_sampled())
        };
        assert_eq!(BeginTraces::default().of(first), None);
        assert_eq!(recorded(0.0), [false; 3]);
        assert_eq!(recorded(0.4), [true, false, false]);
        assert_eq!(recorded(0.6), [true, true, false]);
        assert_eq!(recorded(1.0), [true; 3]);
    }
}
