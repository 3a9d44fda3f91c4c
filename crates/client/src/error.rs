//! Why a request had no result.

use std::time::Duration;

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::text::on_one_line;

/// Why a request had no result. Texts of the server are on one line, without control characters.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ClientError {
    /// There was no connection, or it ended before the answer was complete. The request may have had an effect.
    #[error("cannot reach {server}: {reason}")]
    Unreachable {
        /// The address.
        server: String,
        /// What happened.
        reason: String,
    },
    /// The server shows a certificate that cannot be verified.
    #[error("the certificate of {server} cannot be verified: {reason}")]
    Untrusted {
        /// The address.
        server: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The server cannot answer at the moment, or asks for a pause.
    #[error("{server} cannot answer at the moment: {message}")]
    Unavailable {
        /// The address.
        server: String,
        /// What it says.
        message: String,
        /// The pause that it asks for.
        retry_after: Option<Duration>,
    },
    /// The server does not know the key, or knows it no longer.
    #[error("{server} does not accept the API key")]
    Unauthorized {
        /// The address.
        server: String,
    },
    /// The server refuses the request.
    #[error("the server refused the request: {message}")]
    Refused {
        /// The status.
        status: u16,
        /// The word for programs, such as `not_found`.
        code: String,
        /// What it says.
        message: String,
    },
    /// The answer is none of this API.
    #[error("{server} does not answer like a Parlance server: {reason}")]
    Foreign {
        /// The address.
        server: String,
        /// What is wrong with the answer.
        reason: String,
    },
}

impl ClientError {
    /// Returns whether what was asked for does not exist, or the caller may not see it.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// Returns whether the request may have taken effect, although no response confirms it.
    pub fn is_unclear(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Unavailable { .. } | Self::Foreign { .. } => true,
            Self::Untrusted { .. } | Self::Unauthorized { .. } | Self::Refused { .. } => false,
        }
    }

    /// Returns whether it was done already.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { status: 409, .. })
    }

    /// The error that an answer with this status means.
    pub(crate) fn of(server: String, status: StatusCode, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let envelope = serde_json::from_slice::<Envelope>(body).ok();
        let message = envelope.as_ref().map(Envelope::message);
        let status_line = || format!("HTTP status {status}");
        match (status.as_u16(), envelope) {
            (401, _) => Self::Unauthorized { server },
            (408 | 429 | 500.., _) => {
                Self::Unavailable { server, message: message.unwrap_or_else(status_line), retry_after }
            }
            (code @ 400.., Some(envelope)) => {
                let message = message.unwrap_or_default();
                Self::Refused { status: code, code: on_one_line(&envelope.error.code), message }
            }
            _ => Self::Foreign { server, reason: status_line() },
        }
    }
}

/// The form of every failure.
#[derive(Deserialize)]
struct Envelope {
    error: Failed,
}

#[derive(Deserialize)]
struct Failed {
    code: String,
    message: String,
    /// For a validation error, the faults of each value.
    #[serde(default)]
    details: Value,
}

impl Envelope {
    /// The message, and for a validation error the faults.
    fn message(&self) -> String {
        let Failed { code, message, details } = &self.error;
        let faults = details.as_object().into_iter().flatten().filter_map(|(place, faults)| {
            let first = faults.as_array()?.first()?.as_str()?;
            Some(format!("{place} {first}"))
        });
        let faults = faults.collect::<Vec<_>>().join(", ");
        let is_told = code != "validation_error" || faults.is_empty();
        on_one_line(if is_told { message } else { &faults })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> ClientError {
        let retry_after = Some(Duration::from_secs(2));
        ClientError::of(
            "http://x".to_owned(),
            StatusCode::from_u16(status).unwrap(),
            retry_after,
            body.as_bytes(),
        )
    }

    #[test]
    fn an_answer_that_is_a_failure_is_told_by_its_envelope() {
        let body = r#"{"error":{"code":"not_found","message":"No such\u001b[2J room","request_id":"1"}}"#;
        let error = of(404, body);
        assert!(error.is_not_found());
        assert_eq!(error.to_string(), "the server refused the request: No such\u{fffd}[2J room");
        let body = r#"{"error":{"code":"validation_error","message":"Request validation failed","details":{"/message/content":["can't be blank"]}}}"#;
        assert_eq!(
            of(422, body).to_string(),
            "the server refused the request: /message/content can't be blank"
        );
    }

    #[test]
    fn statuses_tell_what_may_pass_from_what_may_not() {
        for status in [408, 429, 500, 503] {
            let ClientError::Unavailable { retry_after, .. } = of(status, "") else { panic!("{status}") };
            assert_eq!(retry_after, Some(Duration::from_secs(2)));
        }
        assert!(matches!(of(401, ""), ClientError::Unauthorized { .. }));
        for status in [301, 404] {
            assert!(matches!(of(status, "<html>"), ClientError::Foreign { .. }), "{status}");
        }
    }
}
