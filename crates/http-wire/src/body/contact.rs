//! Bodies about contacts and contact requests.
//!
//! A missing or malformed handle is 400 here, as in the public API; any other fault is 422 as
//! everywhere.

use actix_web::http::StatusCode;
use domain::contact::{Handle, RequestAction, RequestMessage, SendRequest, WhichContact, WhichRequest};
use domain::id::{ContactRequestId, RecordId};
use serde_json::Value;

use crate::error::{ApiError, ErrorCode};
use crate::openapi::schema::{handle, text, word};
use crate::strict_json::{FromBody, NOT_AN_ID, ObjectReader, Optionality, Rejected, known};

fn bad_request(message: &str) -> ApiError {
    ApiError::new(ErrorCode::BadRequest, message)
}

fn parse_handle(text: &str, pointer: &str) -> Result<Handle, ApiError> {
    Handle::new(text).map_err(|fault| bad_request("The handle is malformed.").with_detail(pointer, fault))
}

fn parse_id<T>(id: Option<T>, pointer: &str) -> Result<T, ApiError> {
    id.ok_or_else(|| ApiError::validation().with_detail(pointer, NOT_AN_ID))
}

fn message(body: &mut ObjectReader<'_>) -> Result<Option<RequestMessage>, Rejected> {
    let message = body.optional_text("message", text().max(500), |text| RequestMessage::given(Some(text)));
    message.map(Option::flatten)
}

/// `POST …/contacts/add`.
#[derive(Clone, Debug)]
pub struct AddContactBody {
    handle: Option<String>,
    message: Option<RequestMessage>,
}

impl AddContactBody {
    /// Turns the body into a command.
    pub fn into_command(self) -> Result<SendRequest, ApiError> {
        let missing = || bad_request("Send a handle.").with_detail("/handle", "can't be blank");
        let to = parse_handle(&self.handle.ok_or_else(missing)?, "/handle")?;
        Ok(SendRequest { to, message: self.message })
    }
}

impl FromBody for AddContactBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        body.describe("handle", Optionality::Required, handle());
        let handle = body.any_text("handle");
        let message = message(body);
        Ok(Self { handle: handle?, message: message? })
    }
}

/// `POST …/contacts/requests`, wrapped or flat; the handle has two names.
#[derive(Clone, Debug)]
pub struct SendRequestBody {
    handle: Option<String>,
    message: Option<RequestMessage>,
}

impl SendRequestBody {
    /// The pointer to the handle in the wrapped form.
    const POINTER: &'static str = "/contact_request/recipient_handle";

    /// Turns a human's body into a command; a missing handle is 422.
    pub fn into_command(self) -> Result<SendRequest, ApiError> {
        self.command(ApiError::validation())
    }

    /// Turns an agent's body into a command; a missing handle is 400.
    pub fn into_agent_command(self) -> Result<SendRequest, ApiError> {
        self.command(bad_request("Send a handle."))
    }

    fn command(self, missing: ApiError) -> Result<SendRequest, ApiError> {
        let missing = || missing.with_detail(Self::POINTER, "can't be blank");
        let to = parse_handle(&self.handle.ok_or_else(missing)?, Self::POINTER)?;
        Ok(SendRequest { to, message: self.message })
    }
}

impl FromBody for SendRequestBody {
    const WRAPPER: Option<&'static str> = Some("contact_request");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let handles = body.one_of(&[("recipient_handle", handle()), ("handle", handle())]);
        let message = message(body);
        let [recipient, handle] = handles?;
        Ok(Self { handle: recipient.or(handle), message: message? })
    }
}

/// `POST …/contacts/requests/respond`.
#[derive(Clone, Debug)]
pub struct RespondBody {
    action: RequestAction,
    request_id: Option<String>,
    handle: Option<String>,
}

impl RespondBody {
    /// Turns the body into a command. The id takes precedence over the handle.
    pub fn into_command(self) -> Result<(WhichRequest, RequestAction), ApiError> {
        let which = match (self.request_id, self.handle) {
            (Some(id), _) => WhichRequest::Id(parse_id(ContactRequestId::parse(&id), "/request_id")?),
            (None, Some(handle)) => WhichRequest::With(parse_handle(&handle, "/handle")?),
            (None, None) => {
                let error = bad_request("Send either request_id or handle.");
                return Err(error.with_detail("/request_id", "can't be blank"));
            }
        };
        Ok((which, self.action))
    }
}

impl FromBody for RespondBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let action = body.text("action", word(RequestAction::WORDS), known(RequestAction::parse));
        let [request_id, handle] = body.one_of(&[("request_id", text()), ("handle", handle())])?;
        Ok(Self { action: action?, request_id, handle })
    }
}

/// `POST …/contacts/remove`.
#[derive(Clone, Debug)]
pub struct RemoveContactBody {
    contact_id: Option<String>,
    handle: Option<String>,
}

impl RemoveContactBody {
    /// Turns the body into a command. The id takes precedence over the handle.
    pub fn into_command(self) -> Result<WhichContact, ApiError> {
        match (self.contact_id, self.handle) {
            (Some(id), _) => Ok(WhichContact::Id(parse_id(RecordId::parse(&id), "/contact_id")?)),
            (None, Some(handle)) => Ok(WhichContact::With(parse_handle(&handle, "/handle")?)),
            (None, None) => {
                let error = bad_request("Send either contact_id or handle.");
                Err(error.with_detail("/contact_id", "can't be blank"))
            }
        }
    }
}

impl FromBody for RemoveContactBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let [contact_id, handle] = body.one_of(&[("contact_id", text()), ("handle", handle())])?;
        Ok(Self { contact_id, handle })
    }
}

/// `POST …/contacts/resolve`.
#[derive(Clone, Debug)]
pub struct ResolveBody(Option<Value>);

impl ResolveBody {
    /// The handle. Anything else is a validation error with status 400.
    pub fn into_handle(self) -> Result<Handle, ApiError> {
        let invalid = |fault: String| {
            ApiError::validation().with_status(StatusCode::BAD_REQUEST).with_detail("/handle", fault)
        };
        match self.0 {
            Some(Value::String(text)) => Handle::new(&text).map_err(|fault| invalid(fault.to_string())),
            Some(Value::Null) | None => Err(invalid("can't be blank".to_owned())),
            Some(_) => Err(invalid("is not a handle".to_owned())),
        }
    }
}

impl FromBody for ResolveBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        body.describe("handle", Optionality::Required, handle());
        Ok(Self(body.any("handle")))
    }
}
