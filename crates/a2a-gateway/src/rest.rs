//! `/a2a/{agent}/v1/…`: the HTTP binding.

use a2a::{GetTaskRequest, ListTasksRequest};
use actix_web::http::Method;
use actix_web::web::{Bytes, Data, Query};
use actix_web::{HttpRequest, HttpResponse};
use http_wire::auth::DoorAuth;
use http_wire::error::ApiError;
use http_wire::strict_json::{self, JsonText};
use serde_json::{Map, Value};

use crate::failure::{Failure, Fault};
use crate::operation::{Operation, Outcome, check_version};
use crate::rpc::given;
use crate::session::{Gateway, Session};
use crate::stream::Frame;

/// The media type of answers.
const A2A_JSON: &str = "application/a2a+json";

/// The parameters that are numbers or truth values.
const NOT_TEXT: [&str; 3] = ["historyLength", "pageSize", "includeArtifacts"];

pub(crate) async fn answer(
    DoorAuth(admitted): DoorAuth,
    request: HttpRequest,
    gateway: Data<Gateway>,
    JsonText(text): JsonText,
) -> Result<HttpResponse, ApiError> {
    let session = Session::open(gateway.into_inner(), admitted, request).await?;
    let done = async {
        check_version(&session.request)?;
        operation(&session.request, &text)?.run(&session).await
    };
    let done = done.await;
    session.note(&done);
    Ok(match done {
        Ok(Outcome::Value(value)) => HttpResponse::Ok().content_type(A2A_JSON).body(value.to_string()),
        Ok(Outcome::Stream(stream)) => stream.response(Frame::Plain),
        Err(failure) => failure.status(),
    })
}

/// The operation of a request, by its method and the rest of its path.
fn operation(request: &HttpRequest, text: &Bytes) -> Result<Operation, Failure> {
    let rest = request.match_info().get("rest").unwrap_or_default();
    let (is_get, is_post) = (request.method() == Method::GET, request.method() == Method::POST);
    let parts = rest.split('/').collect::<Vec<_>>();
    Ok(match parts.as_slice() {
        ["message:send"] if is_post => Operation::Send(given(body(text)?)?),
        ["message:stream"] if is_post => Operation::SendStreaming(given(body(text)?)?),
        ["tasks"] if is_get => Operation::List(Box::new(given::<ListTasksRequest>(query(request)?.into())?)),
        ["tasks", task, "pushNotificationConfigs"] if is_post => {
            Operation::SetPush(given(named(&[("taskId", task)], body(text)?))?)
        }
        ["tasks", task, "pushNotificationConfigs"] if is_get => {
            Operation::ListPushes(given(named(&[("taskId", task)], query(request)?.into()))?)
        }
        ["tasks", task, "pushNotificationConfigs", id] if is_get => {
            Operation::GetPush(given(named(&[("taskId", task), ("id", id)], Map::new().into()))?)
        }
        ["tasks", task, "pushNotificationConfigs", id] if request.method() == Method::DELETE => {
            Operation::DeletePush(given(named(&[("taskId", task), ("id", id)], Map::new().into()))?)
        }
        ["extendedAgentCard"] if is_get => Operation::ExtendedCard,
        ["tasks", task] => match task.split_once(':') {
            Some((id, "cancel")) if is_post => Operation::Cancel(id.to_owned()),
            Some((id, "subscribe")) if is_get || is_post => Operation::Subscribe(id.to_owned()),
            None if is_get => {
                Operation::Get(given::<GetTaskRequest>(named(&[("id", task)], query(request)?.into()))?)
            }
            _ => return Err(unknown()),
        },
        _ => return Err(unknown()),
    })
}

/// Parameters with these, which the path has.
fn named(path: &[(&str, &str)], mut parameters: Value) -> Value {
    if let Value::Object(parameters) = &mut parameters {
        parameters.extend(path.iter().map(|(name, text)| ((*name).to_owned(), (*text).into())));
    }
    parameters
}

fn unknown() -> Failure {
    Failure::new(Fault::MethodNotFound, "A2A 1.0 has no operation with this method and path.")
}

/// The body as JSON.
fn body(text: &Bytes) -> Result<Value, Failure> {
    let unreadable = |message: &str| Failure::new(Fault::InvalidRequest, message);
    strict_json::check(text).map_err(|error| unreadable(error.message()))?;
    serde_json::from_slice(text).map_err(|_| unreadable("The body is not JSON."))
}

/// The parameters of the query, as members of a JSON object.
fn query(request: &HttpRequest) -> Result<Map<String, Value>, Failure> {
    let unreadable = |_| Failure::new(Fault::InvalidParams, "The query string cannot be read.");
    let pairs = Query::<Vec<(String, String)>>::from_query(request.query_string()).map_err(unreadable)?;
    let member = |(name, text): (String, String)| {
        let value =
            if NOT_TEXT.contains(&name.as_str()) { text.parse().unwrap_or(text.into()) } else { text.into() };
        (name, value)
    };
    Ok(pairs.into_inner().into_iter().map(member).collect())
}
