//! `POST /a2a/{agent}`: one request of JSON-RPC.

use a2a::{CancelTaskRequest, SubscribeToTaskRequest, methods};
use actix_web::http::header::ContentType;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use http_wire::auth::DoorAuth;
use http_wire::error::ApiError;
use http_wire::strict_json::{self, JsonText};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::failure::{Failure, Fault};
use crate::operation::{Operation, Outcome, check_version};
use crate::session::{Gateway, Session};
use crate::stream::Frame;

pub(crate) async fn answer(
    DoorAuth(admitted): DoorAuth,
    request: HttpRequest,
    gateway: Data<Gateway>,
    JsonText(text): JsonText,
) -> Result<HttpResponse, ApiError> {
    let session = Session::open(gateway.into_inner(), admitted, request).await?;
    let (id, operation) = read(&text);
    let done = async {
        let operation = operation?;
        check_version(&session.request)?;
        operation.run(&session).await
    };
    let done = done.await;
    session.note(&done);
    Ok(match done {
        Ok(Outcome::Value(result)) => {
            let body = json!({"jsonrpc": "2.0", "id": id, "result": result});
            HttpResponse::Ok().insert_header(ContentType::json()).body(body.to_string())
        }
        Ok(Outcome::Stream(stream)) => stream.response(Frame::Rpc(id)),
        Err(failure) => failure.rpc(&id),
    })
}

/// The id of a request, and its operation. The id is null if it cannot be read.
fn read(text: &[u8]) -> (Value, Result<Operation, Failure>) {
    if let Err(error) = strict_json::check(text) {
        return (Value::Null, Err(Failure::new(Fault::Parse, error.message())));
    }
    let invalid = |message: &str| Failure::new(Fault::InvalidRequest, message);
    let Ok(Value::Object(mut request)) = serde_json::from_slice(text) else {
        return (Value::Null, Err(invalid("The body is not a request of JSON-RPC. Send one object.")));
    };
    let id = request.remove("id").unwrap_or_default();
    if !matches!(id, Value::String(_) | Value::Number(_)) {
        return (Value::Null, Err(invalid("A request needs an id, which is a string or a number.")));
    }
    if request.get("jsonrpc") != Some(&json!("2.0")) {
        return (id, Err(invalid("The member jsonrpc must be \"2.0\".")));
    }
    let params = request.remove("params").filter(|params| !params.is_null()).unwrap_or_else(|| json!({}));
    match request.get("method") {
        Some(Value::String(method)) => (id, operation(method, params)),
        _ => (id, Err(invalid("The member method must be a string."))),
    }
}

fn operation(method: &str, params: Value) -> Result<Operation, Failure> {
    Ok(match method {
        methods::SEND_MESSAGE => Operation::Send(given(params)?),
        methods::SEND_STREAMING_MESSAGE => Operation::SendStreaming(given(params)?),
        methods::GET_TASK => Operation::Get(given(params)?),
        methods::LIST_TASKS => Operation::List(given(params)?),
        methods::CANCEL_TASK => Operation::Cancel(given::<CancelTaskRequest>(params)?.id),
        methods::SUBSCRIBE_TO_TASK => Operation::Subscribe(given::<SubscribeToTaskRequest>(params)?.id),
        methods::CREATE_PUSH_CONFIG => Operation::SetPush(given(params)?),
        methods::GET_PUSH_CONFIG => Operation::GetPush(given(params)?),
        methods::LIST_PUSH_CONFIGS => Operation::ListPushes(given(params)?),
        methods::DELETE_PUSH_CONFIG => Operation::DeletePush(given(params)?),
        methods::GET_EXTENDED_AGENT_CARD => Operation::ExtendedCard,
        _ => {
            let said = format!("There is no method `{method}` in version 1.0 of A2A.");
            return Err(Failure::new(Fault::MethodNotFound, said));
        }
    })
}

/// Reads parameters. Unknown members are ignored, as the protocol wants.
pub(crate) fn given<T: DeserializeOwned>(params: Value) -> Result<T, Failure> {
    serde_json::from_value(params)
        .map_err(|error| Failure::new(Fault::InvalidParams, format!("The parameters are wrong: {error}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_of_the_protocol_are_read() {
        let code = |text: &str| {
            let (id, operation) = read(text.as_bytes());
            (id, operation.err().map(|failure| failure.fault()))
        };
        let (one, none) = (json!(1), Value::Null);
        for (text, id, fault) in [
            ("", &none, Some(Fault::Parse)),
            ("{", &none, Some(Fault::Parse)),
            (r#"{"id":1,"id":2}"#, &none, Some(Fault::Parse)),
            ("[]", &none, Some(Fault::InvalidRequest)),
            (r#"{"jsonrpc":"2.0","method":"GetTask"}"#, &none, Some(Fault::InvalidRequest)),
            (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, &one, Some(Fault::InvalidRequest)),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, &one, Some(Fault::InvalidRequest)),
            (r#"{"jsonrpc":"2.0","id":1,"method":"message/send"}"#, &one, Some(Fault::MethodNotFound)),
            (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"}"#, &one, Some(Fault::InvalidParams)),
            (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}"#, &one, Some(Fault::InvalidParams)),
            (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x","y":1}}"#, &one, None),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks"}"#, &one, None),
        ] {
            assert_eq!(code(text), (id.clone(), fault), "{text}");
        }
    }
}
