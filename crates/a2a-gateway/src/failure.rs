//! Failures in the words of the protocol: a code in JSON-RPC, and a `google.rpc.Status` in the HTTP binding.

use a2a::errordetails::{BAD_REQUEST_TYPE, ERROR_INFO_TYPE, PROTOCOL_DOMAIN};
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE, ContentType};
use actix_web::{HttpResponse, ResponseError};
use http_wire::error::render::note;
use http_wire::error::{ApiError, ErrorCode};
use http_wire::request_scope::Verbatim;
use serde_json::{Value, json};

/// The domain of reasons that the protocol does not define.
const OWN_DOMAIN: &str = "parlance";

macro_rules! faults {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $status:ident, $grpc:literal, $reason:literal;)+) => {
        /// What went wrong.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Fault {
            $($(#[$doc])* $variant,)+
        }

        impl Fault {
            /// The code in JSON-RPC.
            const fn code(self) -> i32 {
                match self { $(Self::$variant => $code,)+ }
            }

            /// The status in the HTTP binding.
            const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)+ }
            }

            /// The status as gRPC names it.
            const fn grpc(self) -> &'static str {
                match self { $(Self::$variant => $grpc,)+ }
            }

            /// The reason, which the protocol's libraries turn into their errors.
            const fn reason(self) -> &'static str {
                match self { $(Self::$variant => $reason,)+ }
            }
        }
    };
}

faults! {
    /// There is no such task for the caller.
    TaskNotFound = -32001, NOT_FOUND, "NOT_FOUND", "TASK_NOT_FOUND";
    /// The task has ended.
    TaskNotCancelable = -32002, BAD_REQUEST, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE";
    /// Push notifications are turned off.
    PushNotificationNotSupported = -32003, BAD_REQUEST, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED";
    /// The operation is not possible, or not for this task.
    UnsupportedOperation = -32004, BAD_REQUEST, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION";
    /// A part is neither text nor data.
    ContentTypeNotSupported = -32005, BAD_REQUEST, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED";
    /// The client speaks another version of the protocol.
    VersionNotSupported = -32009, BAD_REQUEST, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED";
    /// The body is not JSON.
    Parse = -32700, BAD_REQUEST, "INVALID_ARGUMENT", "PARSE_ERROR";
    /// The body is not a request.
    InvalidRequest = -32600, BAD_REQUEST, "INVALID_ARGUMENT", "INVALID_REQUEST";
    /// There is no such method.
    MethodNotFound = -32601, NOT_FOUND, "NOT_FOUND", "METHOD_NOT_FOUND";
    /// A parameter is wrong.
    InvalidParams = -32602, BAD_REQUEST, "INVALID_ARGUMENT", "INVALID_PARAMS";
    /// The credential is not valid.
    Unauthenticated = -32000, UNAUTHORIZED, "UNAUTHENTICATED", "UNAUTHORIZED";
    /// The caller has no permission, or a limit of the plan is reached.
    Forbidden = -32000, FORBIDDEN, "PERMISSION_DENIED", "FORBIDDEN";
    /// The current state does not allow it.
    Conflict = -32000, CONFLICT, "ABORTED", "CONFLICT";
    /// Too many requests.
    RateLimited = -32000, TOO_MANY_REQUESTS, "RESOURCE_EXHAUSTED", "RATE_LIMITED";
    /// The server cannot do it now.
    Unavailable = -32603, SERVICE_UNAVAILABLE, "UNAVAILABLE", "SERVICE_UNAVAILABLE";
    /// A defect of the server.
    Internal = -32603, INTERNAL_SERVER_ERROR, "INTERNAL", "INTERNAL_ERROR";
}

impl Fault {
    fn of(code: ErrorCode) -> Self {
        match code.status() {
            StatusCode::NOT_FOUND => Self::TaskNotFound,
            StatusCode::UNAUTHORIZED => Self::Unauthenticated,
            StatusCode::FORBIDDEN => Self::Forbidden,
            StatusCode::CONFLICT => Self::Conflict,
            StatusCode::TOO_MANY_REQUESTS => Self::RateLimited,
            StatusCode::SERVICE_UNAVAILABLE => Self::Unavailable,
            status if status.is_server_error() => Self::Internal,
            _ => Self::InvalidParams,
        }
    }

    /// The code under which it is logged and counted.
    const fn logged_as(self) -> ErrorCode {
        match self {
            Self::TaskNotFound | Self::MethodNotFound => ErrorCode::NotFound,
            Self::TaskNotCancelable | Self::Conflict => ErrorCode::Conflict,
            Self::Parse | Self::InvalidRequest => ErrorCode::BadRequest,
            Self::Unauthenticated => ErrorCode::Unauthorized,
            Self::Forbidden => ErrorCode::Forbidden,
            Self::RateLimited => ErrorCode::RateLimited,
            Self::Unavailable => ErrorCode::ServiceUnavailable,
            Self::Internal => ErrorCode::InternalError,
            Self::PushNotificationNotSupported
            | Self::UnsupportedOperation
            | Self::ContentTypeNotSupported
            | Self::VersionNotSupported
            | Self::InvalidParams => ErrorCode::InvalidParams,
        }
    }

    /// Whether its status is that of a JSON-RPC response too: those that proxies and clients act on before they read a body.
    const fn is_of_transport(self) -> bool {
        matches!(
            self,
            Self::Unauthenticated
                | Self::Forbidden
                | Self::Conflict
                | Self::RateLimited
                | Self::Unavailable
                | Self::Internal
        )
    }
}

/// A failure of an operation.
#[derive(Debug)]
pub(crate) struct Failure {
    fault: Fault,
    error: ApiError,
}

impl Failure {
    /// A failure with a message for the client.
    pub(crate) fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, error: ApiError::new(fault.logged_as(), message) }
    }

    /// A wrong parameter.
    pub(crate) fn invalid(parameter: &str, fault: &str) -> Self {
        let failure = Self::new(Fault::InvalidParams, format!("{parameter} {fault}."));
        Self { error: failure.error.with_detail(parameter, fault), ..failure }
    }

    /// There is no such task for the caller.
    pub(crate) fn no_task() -> Self {
        Self::new(Fault::TaskNotFound, "You have no task with this ID with this agent.")
    }

    /// The code under which it is logged and counted.
    pub(crate) fn code(&self) -> ErrorCode {
        self.error.code()
    }

    /// The reason in the words of the protocol.
    pub(crate) const fn reason(&self) -> &'static str {
        self.fault.reason()
    }

    /// What went wrong.
    #[cfg(test)]
    pub(crate) const fn fault(&self) -> Fault {
        self.fault
    }

    /// Whether there is no such task, or none that can be read.
    pub(crate) const fn is_of_task(&self) -> bool {
        matches!(self.fault, Fault::TaskNotFound | Fault::UnsupportedOperation)
    }

    /// Whether the caller has no permission.
    pub(crate) const fn is_forbidden(&self) -> bool {
        matches!(self.fault, Fault::Forbidden)
    }

    /// Whether the same request may succeed a little later.
    pub(crate) const fn is_temporary(&self) -> bool {
        matches!(self.fault, Fault::RateLimited | Fault::Unavailable)
    }

    /// The faults of single values.
    fn violations(&self) -> Vec<Value> {
        let faults = self.error.details().iter().filter_map(|(field, faults)| {
            let faults = faults.as_array()?.iter().filter_map(Value::as_str).collect::<Vec<_>>();
            Some(json!({"field": field, "description": faults.join("; ")}))
        });
        faults.collect()
    }

    /// The details, as both bindings show them.
    fn details(&self) -> Value {
        let domain = if self.fault.code() == -32000 { OWN_DOMAIN } else { PROTOCOL_DOMAIN };
        let info = json!({"@type": ERROR_INFO_TYPE, "reason": self.fault.reason(), "domain": domain});
        let violations = self.violations();
        if violations.is_empty() {
            return json!([info]);
        }
        json!([info, {"@type": BAD_REQUEST_TYPE, "fieldViolations": violations}])
    }

    /// The answer to a request of JSON-RPC with this id; logged and counted as on REST.
    pub(crate) fn rpc(&self, id: &Value) -> HttpResponse {
        let status = if self.fault.is_of_transport() { self.fault.status() } else { StatusCode::OK };
        self.response(status, &self.rpc_body(id))
    }

    fn rpc_body(&self, id: &Value) -> Value {
        let error =
            json!({"code": self.fault.code(), "message": self.error.message(), "data": self.details()});
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }

    /// The answer in the HTTP binding; logged and counted as on REST.
    pub(crate) fn status(&self) -> HttpResponse {
        let status = self.fault.status();
        let error = json!({
            "code": status.as_u16(), "status": self.fault.grpc(), "message": self.error.message(),
            "details": self.details(),
        });
        self.response(status, &json!({"error": error}))
    }

    fn response(&self, status: StatusCode, body: &Value) -> HttpResponse {
        note(&self.error);
        let mut builder = HttpResponse::build(status);
        for (name, value) in self.error.error_response().headers() {
            if ![CONTENT_TYPE, CONTENT_LENGTH].contains(name) {
                builder.insert_header((name.clone(), value.clone()));
            }
        }
        let mut response = builder.insert_header(ContentType::json()).body(body.to_string());
        response.extensions_mut().insert(Verbatim);
        response
    }
}

impl<E: Into<ApiError>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        Self { fault: Fault::of(error.code()), error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_use_cases_have_codes_of_the_protocol() {
        let failure = |code| Failure::from(ApiError::new(code, "x"));
        for (code, expected, status, rpc) in [
            (ErrorCode::NotFound, -32001, 404, 200),
            (ErrorCode::ValidationError, -32602, 400, 200),
            (ErrorCode::MentionedParticipantNotInRoom, -32602, 400, 200),
            (ErrorCode::Forbidden, -32000, 403, 403),
            (ErrorCode::LimitReached, -32000, 403, 403),
            (ErrorCode::Conflict, -32000, 409, 409),
            (ErrorCode::RateLimited, -32000, 429, 429),
            (ErrorCode::ServiceUnavailable, -32603, 503, 503),
            (ErrorCode::InternalError, -32603, 500, 500),
        ] {
            let failure = failure(code);
            assert_eq!(failure.fault.code(), expected, "{code:?}");
            assert_eq!(failure.status().status().as_u16(), status, "{code:?}");
            assert_eq!(failure.rpc(&json!(1)).status().as_u16(), rpc, "{code:?}");
        }
    }

    #[test]
    fn wrong_parameters_are_named() {
        let failure = Failure::invalid("historyLength", "must not be negative");
        let body = failure.rpc_body(&json!("a"));
        assert_eq!((&body["id"], &body["error"]["code"]), (&json!("a"), &json!(-32602)));
        assert_eq!(body["error"]["data"][0]["reason"], "INVALID_PARAMS");
        let violation = &body["error"]["data"][1]["fieldViolations"][0];
        assert_eq!(violation, &json!({"field": "historyLength", "description": "must not be negative"}));
        assert_eq!(body["error"]["message"], "historyLength must not be negative.");
    }
}
