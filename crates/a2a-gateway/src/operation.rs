//! The operations of the protocol, whatever the binding.

use a2a::{
    DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTasksRequest, SVC_PARAM_VERSION, SendMessageRequest,
    SendMessageResponse, TaskPushNotificationConfig, VERSION,
};
use actix_web::HttpRequest;
use actix_web::web::Query;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::failure::{Failure, Fault};
use crate::session::Session;
use crate::stream::{TaskStream, slot};
use crate::task::TaskId;
use crate::{cancel, follow, list, push, read, send};

/// An operation with its parameters.
pub(crate) enum Operation {
    /// Sends a message, and waits for what becomes of it.
    Send(Box<SendMessageRequest>),
    /// Sends a message, and streams what becomes of it.
    SendStreaming(Box<SendMessageRequest>),
    /// Reads a task.
    Get(GetTaskRequest),
    /// Lists tasks.
    List(Box<ListTasksRequest>),
    /// Cancels the task with this id.
    Cancel(String),
    /// Streams what becomes of the task with this id.
    Subscribe(String),
    /// Makes a configuration of push notifications, or changes one.
    SetPush(Box<TaskPushNotificationConfig>),
    /// Reads one.
    GetPush(GetTaskPushNotificationConfigRequest),
    /// Lists those of a task.
    ListPushes(ListTaskPushNotificationConfigsRequest),
    /// Removes one.
    DeletePush(DeleteTaskPushNotificationConfigRequest),
    /// Reads the card for those who have a credential.
    ExtendedCard,
}

/// The result of an operation.
pub(crate) enum Outcome {
    Value(Value),
    Stream(Box<TaskStream>),
}

/// Checks that the client speaks this version of the protocol. One that names none speaks 0.3.
pub(crate) fn check_version(request: &HttpRequest) -> Result<(), Failure> {
    let header = request.headers().get(SVC_PARAM_VERSION).map(|value| value.to_str().unwrap_or_default());
    let named = header.map(str::to_owned).or_else(|| {
        let query = Query::<Vec<(String, String)>>::from_query(request.query_string()).ok()?.into_inner();
        query.into_iter().find_map(|(name, value)| (name == SVC_PARAM_VERSION).then_some(value))
    });
    let major = |version: &str| version.trim().split('.').next().map(str::to_owned);
    if named.as_deref().and_then(major) == major(VERSION) {
        return Ok(());
    }
    let said = format!(
        "This server speaks version {VERSION} of A2A. Send the header {SVC_PARAM_VERSION}: {VERSION}."
    );
    Err(Failure::new(Fault::VersionNotSupported, said))
}

/// The number of messages that are shown, if it is given.
pub(crate) fn length(given: Option<i32>) -> Result<Option<usize>, Failure> {
    let checked = given.map(usize::try_from).transpose();
    checked.map_err(|_| Failure::invalid("historyLength", "must not be negative"))
}

impl Operation {
    /// Runs it.
    pub(crate) async fn run(self, session: &Session) -> Result<Outcome, Failure> {
        match self {
            Self::Send(request) => {
                let configuration = request.configuration.as_ref();
                let history = length(configuration.and_then(|given| given.history_length))?;
                let returns = configuration.and_then(|given| given.return_immediately).unwrap_or(false);
                let id = send::send(session, &request).await?;
                let tree = if returns {
                    read::tree(session, id).await?
                } else {
                    follow::settled(session, id).await?
                };
                shown(SendMessageResponse::Task(tree.task(history, true)))
            }
            Self::SendStreaming(request) => {
                let configuration = request.configuration.as_ref();
                let history = length(configuration.and_then(|given| given.history_length))?;
                // Before the message is sent: one that is refused must not be sent again.
                let slot = slot(session)?;
                let id = send::send(session, &request).await?;
                let stream = TaskStream::open(session, id, history, slot, true).await?;
                Ok(Outcome::Stream(Box::new(stream)))
            }
            Self::Get(request) => {
                let history = length(request.history_length)?;
                let tree = read::tree(session, task(&request.id)?).await?;
                shown(tree.task(history, true))
            }
            Self::List(request) => shown(list::list(session, &request).await?),
            Self::Cancel(id) => {
                let tree = cancel::cancel(session, task(&id)?).await?;
                shown(tree.task(None, true))
            }
            Self::Subscribe(id) => {
                let stream = TaskStream::open(session, task(&id)?, None, slot(session)?, false).await?;
                Ok(Outcome::Stream(Box::new(stream)))
            }
            Self::SetPush(config) => shown(push::set(session, &config).await?),
            Self::GetPush(request) => shown(push::get(session, &request).await?),
            Self::ListPushes(request) => shown(push::list(session, &request).await?),
            Self::DeletePush(request) => {
                push::delete(session, &request).await?;
                shown(Map::new())
            }
            Self::ExtendedCard => {
                let said = "There is no other card than the public one.";
                Err(Failure::new(Fault::UnsupportedOperation, said))
            }
        }
    }
}

fn task(id: &str) -> Result<TaskId, Failure> {
    TaskId::parse(id).ok_or_else(Failure::no_task)
}

fn shown(value: impl Serialize) -> Result<Outcome, Failure> {
    let value = serde_json::to_value(value);
    value.map(Outcome::Value).map_err(|_| Failure::new(Fault::Internal, "The result cannot be shown."))
}
