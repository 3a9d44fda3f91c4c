//! The configurations of push notifications: the URLs to which callers have the changes of their tasks sent.

use a2a::{
    AuthenticationInfo, DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    TaskPushNotificationConfig,
};
use domain::push::{
    MAX_OF_TASK, MAX_OF_USER, NewPush, PushAuthentication, PushConfig, PushCredential, PushFault, PushName,
    PushRefused, PushSecret, PushTarget, PushTask, SetPushError,
};

use crate::failure::{Failure, Fault};
use crate::read;
use crate::session::Session;
use crate::task::TaskId;

/// A configuration that a caller wants, for a task that may not exist yet.
pub(crate) struct Wanted {
    name: Option<PushName>,
    target: PushTarget,
    credential: PushCredential,
}

impl Wanted {
    /// Its name; without one, that of the task.
    fn name(&self, id: TaskId) -> PushName {
        self.name.clone().unwrap_or_else(|| PushName::checked(id.to_string()))
    }
}

/// The part of a request that a configuration is in, for the messages of failures.
#[derive(Clone, Copy)]
pub(crate) struct Place(pub(crate) &'static str);

impl Place {
    fn invalid(self, member: &str, fault: &str) -> Failure {
        Failure::invalid(&format!("{}{member}", self.0), fault)
    }
}

/// A text that is not empty: clients send an empty one for none.
fn given(text: Option<&String>) -> Option<&String> {
    text.filter(|text| !text.is_empty())
}

/// Checks a configuration.
pub(crate) fn wanted(
    session: &Session,
    config: &TaskPushNotificationConfig,
    place: Place,
) -> Result<Wanted, Failure> {
    let url = session.services().pushes.url(&config.url).ok_or_else(not_supported)?;
    let credential = session.credential().ok_or_else(|| {
        let said = "This access token has no session, so a push notification configuration could not end with it. Use an \
                    API key, or log in.";
        Failure::new(Fault::Forbidden, said)
    })?;
    let url = url.map_err(|fault| place.invalid("url", &fault.to_string()))?;
    let member = |member: &'static str| move |fault: PushFault| place.invalid(member, &fault.to_string());
    let name = given(config.id.as_ref()).map(|id| PushName::new(id)).transpose().map_err(member("id"))?;
    let secret = |text: &String| PushSecret::new(text.clone());
    let token = given(config.token.as_ref()).map(secret).transpose().map_err(member("token"))?;
    let authentication = config.authentication.as_ref().filter(|given| !given.scheme.is_empty());
    let authentication = authentication.map(|named| {
        let credentials = given(named.credentials.as_ref()).map(secret).transpose();
        let credentials = credentials.map_err(member("authentication.credentials"))?;
        let checked = PushAuthentication::new(named.scheme.clone(), credentials);
        checked.map_err(member("authentication.scheme"))
    });
    let authentication = authentication.transpose()?;
    Ok(Wanted { name, target: PushTarget { url, token, authentication }, credential })
}

/// Checks that the caller may have a configuration: one more, or one that the task has already.
pub(crate) async fn check_number(
    session: &Session,
    wanted: &Wanted,
    id: Option<TaskId>,
) -> Result<(), Failure> {
    let pushes = &session.services().pushes;
    if let Some(id) = id {
        let of_task = pushes.list(session.caller, task(session, id)).await?;
        if of_task.iter().any(|config| config.name == wanted.name(id)) {
            return Ok(());
        }
        if of_task.len() >= MAX_OF_TASK {
            return Err(refused(PushRefused::TooManyOfTask));
        }
    }
    if pushes.has_room(session.caller).await? {
        return Ok(());
    }
    Err(refused(PushRefused::TooManyOfUser))
}

/// Stores a configuration for a task of the caller.
pub(crate) async fn store(session: &Session, id: TaskId, wanted: Wanted) -> Result<PushConfig, SetPushError> {
    let new = NewPush { name: wanted.name(id), target: wanted.target };
    session.services().pushes.set(session.caller, wanted.credential, task(session, id), new).await
}

/// Makes a configuration, or changes the one with its id.
pub(crate) async fn set(
    session: &Session,
    config: &TaskPushNotificationConfig,
) -> Result<TaskPushNotificationConfig, Failure> {
    let wanted = wanted(session, config, Place(""))?;
    let id = own(session, &config.task_id, true).await?;
    Ok(shown(store(session, id, wanted).await.map_err(failure)?, true))
}

/// Reads a configuration.
pub(crate) async fn get(
    session: &Session,
    request: &GetTaskPushNotificationConfigRequest,
) -> Result<TaskPushNotificationConfig, Failure> {
    let all = all(session, &request.task_id).await?;
    let found = all.into_iter().find(|config| config.id.as_ref() == Some(&request.id));
    found.ok_or_else(|| {
        Failure::new(Fault::TaskNotFound, "The task has no push notification configuration with this ID.")
    })
}

/// Lists the configurations of a task, which are few: there is one page.
pub(crate) async fn list(
    session: &Session,
    request: &ListTaskPushNotificationConfigsRequest,
) -> Result<ListTaskPushNotificationConfigsResponse, Failure> {
    let configs = all(session, &request.task_id).await?;
    Ok(ListTaskPushNotificationConfigsResponse { configs, next_page_token: None })
}

/// Removes a configuration, if there is one with the id.
pub(crate) async fn delete(
    session: &Session,
    request: &DeleteTaskPushNotificationConfigRequest,
) -> Result<(), Failure> {
    let id = own(session, &request.task_id, true).await?;
    // No other ids are stored.
    if let Ok(name) = PushName::new(&request.id) {
        session.services().pushes.remove(session.caller, task(session, id), name).await?;
    }
    Ok(())
}

async fn all(session: &Session, task_id: &str) -> Result<Vec<TaskPushNotificationConfig>, Failure> {
    let id = own(session, task_id, false).await?;
    let configs = session.services().pushes.list(session.caller, task(session, id)).await?;
    // A key for reading does not read what receivers trust.
    let has_secrets = session.check_room(id.room, true).is_ok();
    Ok(configs.into_iter().map(|config| shown(config, has_secrets)).collect())
}

/// The task with an id, which must be the caller's.
async fn own(session: &Session, task_id: &str, is_change: bool) -> Result<TaskId, Failure> {
    if !session.services().pushes.is_on() {
        return Err(not_supported());
    }
    let id = TaskId::parse(task_id).ok_or_else(Failure::no_task)?;
    session.check_room(id.room, is_change)?;
    read::root(&session.reader(), id).await?;
    Ok(id)
}

fn task(session: &Session, id: TaskId) -> PushTask {
    PushTask { chat: id.room, first: id.first, agent: session.agent.id }
}

fn shown(config: PushConfig, has_secrets: bool) -> TaskPushNotificationConfig {
    let secret = |secret: PushSecret| has_secrets.then(|| secret.reveal().to_owned());
    let PushTarget { url, token, authentication } = config.target;
    TaskPushNotificationConfig {
        url: url.as_str().to_owned(),
        id: Some(config.name.as_str().to_owned()),
        task_id: TaskId { room: config.task.chat, first: config.task.first }.to_string(),
        token: token.and_then(secret),
        authentication: authentication.map(|given| AuthenticationInfo {
            scheme: given.scheme,
            credentials: given.credentials.and_then(secret),
        }),
        tenant: None,
    }
}

fn failure(error: SetPushError) -> Failure {
    match error {
        SetPushError::Refused(why) => refused(why),
        SetPushError::Store(error) => error.into(),
    }
}

fn refused(why: PushRefused) -> Failure {
    let said = match why {
        PushRefused::TooManyOfTask => format!(
            "A task can have at most {MAX_OF_TASK} push notification configurations. Delete one that you no longer need."
        ),
        PushRefused::TooManyOfUser => format!(
            "A user can have at most {MAX_OF_USER} push notification configurations of tasks that have not ended. Delete \
             some that you no longer need."
        ),
    };
    Failure::new(Fault::Forbidden, said)
}

fn not_supported() -> Failure {
    Failure::new(
        Fault::PushNotificationNotSupported,
        "Push notifications are turned off on this server. Subscribe to the task instead.",
    )
}
