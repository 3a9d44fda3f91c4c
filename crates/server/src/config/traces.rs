//! Exporting traces of requests and of conversations.

use domain::message::BeginTraces;

use super::key::Key;
use super::parse;
use super::values::Values;
use crate::traces::Endpoint;

/// The collector, and the share of requests that are traced.
#[derive(Clone, Debug)]
pub struct TraceConfig {
    /// The collector; `None` if no traces are sent.
    pub endpoint: Option<Endpoint>,
    /// The share of requests that are traced, except those whose client decides.
    pub sample_ratio: f64,
    /// The name of the server at the collector.
    pub service_name: String,
    /// Whether messages and attempts have spans.
    pub conversations: bool,
}

impl TraceConfig {
    /// Whether texts begin traces: only those that are recorded somewhere.
    pub(crate) fn begin_traces(&self) -> BeginTraces {
        let is_on = self.conversations && self.endpoint.is_some();
        if is_on { BeginTraces::recording(self.sample_ratio) } else { BeginTraces::default() }
    }
}

pub(super) fn read(values: &mut Values) -> TraceConfig {
    values.section("Traces");
    let endpoint = Key::text(
        "otlp_endpoint",
        "URL",
        "off",
        "Trace collector that receives spans by OTLP over HTTP, for example `http://127.0.0.1:4318`.",
    );
    let ratio = Key::number(
        "otlp_sample_ratio",
        "RATIO",
        "1",
        "Share of requests that are traced, from 0 to 1. A request's `traceparent` header takes precedence.",
    );
    let name = Key::text("otlp_service_name", "NAME", "parlance", "Service name of this server in traces.");
    let conversations = Key::switch(
        "otlp_gen_ai",
        "false",
        "Whether messages, their deliveries, and the attempts of agents have spans as well, with attributes of \
         OpenTelemetry's conventions for generative AI, which are in development and can change. A text without a \
         `traceparent` then begins a trace, which its answers continue. See *Traces* in [operations.md](operations.md).",
    );
    TraceConfig {
        endpoint: values.read(endpoint.secret(without_user), endpoint_or_off),
        sample_ratio: values.read(ratio, share),
        service_name: values.read(name, parse::text),
        conversations: values.read(conversations, parse::switch),
    }
}

fn endpoint_or_off(text: &str) -> Result<Option<Endpoint>, String> {
    if text == "off" { Ok(None) } else { text.parse().map(Some) }
}

/// The endpoint if it is valid. An invalid one may contain a secret, and is hidden.
fn without_user(text: &str) -> String {
    if endpoint_or_off(text).is_ok() { text.to_owned() } else { "(hidden)".to_owned() }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("'{text}' is not a number from 0 to 1, such as 0.1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_from_0_to_1() {
        assert_eq!(
            ["0", "0.25", "1"].map(|text| share(text).unwrap().to_bits()),
            [0.0, 0.25, 1.0].map(f64::to_bits)
        );
        for bad in ["", "-0.1", "1.1", "NaN", "inf", "1/2"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_may_be_secret_is_not_shown() {
        assert_eq!(without_user("http://collector:4318"), "http://collector:4318");
        assert_eq!(without_user("http://u:secret@collector:4318"), "(hidden)");
    }
}
