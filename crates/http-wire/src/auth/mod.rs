//! Authentication of requests.
//!
//! [`users_only`], [`operators_only`], [`agents_only`], [`mcp_door`], [`a2a_door`], and, for the generic paths, [`any_caller`] guard everything
//! that needs a credential, so that a client without a valid one learns neither the existing paths
//! nor the faults of a body; the extractors pass the caller to a handler.

pub mod credential;
mod noted;

use std::future::{Ready, ready};

use actix_web::body::{BodySize, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderMap;
use actix_web::middleware::Next;
use actix_web::{Error, FromRequest, HttpMessage, HttpRequest, web};
use domain::account::{
    AccountService, AuthenticateError, Authenticated, Door, Operator, Presented, PresentedSession, Reach,
    TokenService,
};
use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::id::{AgentId, ChatId, ParticipantId};

use crate::error::{ApiError, ErrorCode};
use crate::limit::{self, Class, RateLimits, RateState, ReadPermit};
use crate::request_scope::StreamedBody;
pub use credential::{Credential, Unusable};
pub use noted::Noted;

/// Admits humans: 401 without a valid credential, 403 for an agent, 429 for too many requests.
pub async fn users_only<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let admitted = admit(&request, credential::of_interface, as_user).await?;
    answer(request, next, admitted).await
}

/// Admits operators: as [`users_only`], and 403 for other users, and for keys with limits.
pub async fn operators_only<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let admitted = admit(&request, credential::of_interface, as_user).await?;
    let checked = async {
        let UserAuth(operator) = caller(request.request())?;
        let scope = caller::<Presented>(request.request())?.scope();
        Ok::<_, ApiError>(accounts(&request)?.check_operator(operator, scope).await?)
    };
    let operator = checked.await.map_err(|error| admitted.rate.into_iter().fold(error, limit::with_rate))?;
    request.extensions_mut().insert(OperatorAuth(operator));
    answer(request, next, admitted).await
}

fn as_user(admitted: Authenticated) -> Result<UserAuth, ApiError> {
    match admitted.caller {
        Caller::User(caller) => {
            admitted.as_itself()?;
            Ok(UserAuth(caller))
        }
        Caller::Agent(_) => Err(forbidden("Agents cannot use this path. Send the credential of a user.")),
    }
}

fn accounts(request: &ServiceRequest) -> Result<&web::Data<AccountService>, ApiError> {
    let accounts = request.app_data::<web::Data<AccountService>>();
    accounts.ok_or_else(|| ApiError::defect("the account service is not registered"))
}

/// Admits agents: 401 without a valid credential, 403 for a human, 429 for too many requests.
pub async fn agents_only<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let admitted = admit(&request, credential::of_interface, |admitted| match admitted.caller {
        Caller::Agent(caller) => Ok(AgentAuth(caller)),
        Caller::User(_) => Err(forbidden("Users cannot use this path. Send the API key of an agent.")),
    });
    let admitted = admitted.await?;
    answer(request, next, admitted).await
}

/// Admits humans and agents, with the credentials of the generic paths: 401 without a valid one,
/// 429 for too many requests.
pub async fn any_caller<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let admitted =
        admit(&request, credential::of_generic_path, |admitted| Ok(CallerAuth(admitted.as_itself()?)));
    let admitted = admitted.await?;
    answer(request, next, admitted).await
}

/// Admits humans and agents to MCP, whose requests tell in their bodies what they reach. Answers as [`any_caller`] does,
/// except that [`DoorAuth`] passes on what the plan and the key permit, to be checked for each operation.
pub async fn mcp_door<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    enter(request, next, Some(Door::Mcp)).await
}

/// Admits humans and agents to A2A, like [`mcp_door`]. It is a door of the agent that is called, not of the caller.
pub async fn a2a_door<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    enter(request, next, None).await
}

async fn enter<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
    door: Option<Door>,
) -> Result<ServiceResponse<B>, Error> {
    let accept =
        |admitted: Authenticated| admitted.as_itself().map(|_| DoorAuth(admitted)).map_err(ApiError::from);
    let admitted = admit_within(&request, credential::of_door, door, |_, _| Ok(()), accept).await?;
    answer(request, next, admitted).await
}

/// Reads the credential of a path from the headers.
type ReadCredential = for<'a> fn(&'a HeaderMap) -> Result<Credential<'a>, Unusable>;

/// An authenticated caller.
struct Admitted {
    who: ParticipantId,
    class: Class,
    rate: Option<RateState>,
    limits: web::Data<RateLimits>,
    door: Option<Door>,
}

/// Authenticates the caller, and checks that its plan and key permit a request with this path.
async fn admit<T: 'static>(
    request: &ServiceRequest,
    read: ReadCredential,
    accept: impl FnOnce(Authenticated) -> Result<T, ApiError>,
) -> Result<Admitted, ApiError> {
    let by_path = |request: &ServiceRequest, admitted: Authenticated| {
        within_plan(request, admitted).and_then(|()| within_scope(request, admitted))
    };
    admit_within(request, read, Some(Door::Rest), by_path, accept).await
}

/// Authenticates the caller, counts the request, and keeps the result of `accept` for the handler.
/// An authenticated caller is counted, whether or not it is accepted.
async fn admit_within<T: 'static>(
    request: &ServiceRequest,
    read: ReadCredential,
    door: Option<Door>,
    is_within: impl FnOnce(&ServiceRequest, Authenticated) -> Result<(), ApiError>,
    accept: impl FnOnce(Authenticated) -> Result<T, ApiError>,
) -> Result<Admitted, ApiError> {
    let accounts = accounts(request)?;
    let limits = RateLimits::of(request.request())?.clone();
    let unauthorized = |message: &'static str| ApiError::new(ErrorCode::Unauthorized, message);
    let credential = read(request.headers()).map_err(|unusable| {
        limits.may_ask(request.request()).err().unwrap_or_else(|| unauthorized(unusable.message()))
    })?;
    let looking = look(request.request(), accounts, credential, door);
    let looked_at =
        limits.try_out(request.request(), credential, looking).await.map_err(|error| match error.code() {
            ErrorCode::Unauthorized => unauthorized(credential.rejected()),
            _ => error,
        })?;
    let who = match &looked_at {
        Ok(admitted) => admitted.caller.participant(),
        Err(kept_out) => *kept_out,
    };
    // The path as the routes match it, so that no other spelling of it counts differently.
    let class = Class::of(request.method(), request.match_info().as_str());
    let note = |error: ApiError| noted::refusal(request.request(), who, door, error);
    let rate = limits.spend(who, class).transpose().map_err(limit::refused).map_err(note)?;
    let accepted = looked_at
        .map_err(|who| AuthenticateError::Disabled(who).into())
        .and_then(|admitted| is_within(request, admitted).map(|()| admitted))
        .and_then(|admitted| Ok((accept(admitted)?, admitted.presented)));
    let (auth, presented) = accepted.map_err(note).map_err(|error| match rate {
        Some(rate) => limit::with_rate(error, rate),
        None => error,
    })?;
    request.extensions_mut().insert(auth);
    request.extensions_mut().insert(presented);
    request.extensions_mut().insert(read);
    Ok(Admitted { who, class, rate, limits, door })
}

/// Runs the request; a read waits for a permit. The response has the headers of the caller's rate,
/// and its bytes are counted.
async fn answer<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
    Admitted { who, class, rate, limits, door }: Admitted,
) -> Result<ServiceResponse<B>, Error> {
    if request.method().is_safe() {
        let permit = read_permit(&limits, who, class).await;
        let permit = permit.map_err(|error| {
            let error = noted::refusal(request.request(), who, door, error);
            rate.into_iter().fold(error, limit::with_rate)
        })?;
        request.extensions_mut().insert(permit);
    }
    let mut response = next.call(request).await?;
    end_read(response.request());
    noted::response(&response, who, door);
    let is_streamed = response.response().extensions().contains::<StreamedBody>();
    if let BodySize::Sized(bytes) = response.response().body().size()
        && !is_streamed
    {
        limits.count_response(who, bytes);
    }
    for (name, value) in rate.into_iter().flat_map(limit::headers) {
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

/// Gives the permit of a read back. A handler that goes on without the store does so early.
pub fn end_read(request: &HttpRequest) {
    request.extensions_mut().remove::<ReadPermit>();
}

/// Waits for the permit of a read.
async fn read_permit(limits: &RateLimits, who: ParticipantId, class: Class) -> Result<ReadPermit, ApiError> {
    limits.may_read(who, class).await?.permit().await
}

/// Checks the credential again after a body that took long to arrive: one that was revoked meanwhile
/// must not change anything. Does nothing if no credential was checked before.
pub async fn check_again(request: &HttpRequest) -> Result<(), ApiError> {
    let read = request.extensions().get::<ReadCredential>().copied();
    let (Some(read), Some(accounts)) = (read, request.app_data::<web::Data<AccountService>>()) else {
        return Ok(());
    };
    let unauthorized = |message: &'static str| ApiError::new(ErrorCode::Unauthorized, message);
    let credential = read(request.headers()).map_err(|unusable| unauthorized(unusable.message()))?;
    match authenticate(request, accounts, credential, None).await {
        Ok(_) => Ok(()),
        Err(AuthenticateError::Unauthorized) => Err(unauthorized(credential.rejected())),
        Err(error) => Err(error.into()),
    }
}

/// Authenticates a credential; a disabled holder gets its own error, being authenticated.
async fn look(
    request: &HttpRequest,
    accounts: &AccountService,
    credential: Credential<'_>,
    door: Option<Door>,
) -> Result<Result<Authenticated, ParticipantId>, ApiError> {
    match authenticate(request, accounts, credential, door).await {
        Ok(admitted) => Ok(Ok(admitted)),
        Err(AuthenticateError::Disabled(who)) => Ok(Err(who)),
        Err(error) => Err(error.into()),
    }
}

/// Tokens are only accepted if a service for them is mounted.
async fn authenticate(
    request: &HttpRequest,
    accounts: &AccountService,
    credential: Credential<'_>,
    door: Option<Door>,
) -> Result<Authenticated, AuthenticateError> {
    match credential {
        Credential::Key(key) => accounts.authenticate_at(key, door).await,
        Credential::Token(token) => match request.app_data::<web::Data<TokenService>>() {
            Some(tokens) => tokens.authenticate(token).await,
            None => Err(AuthenticateError::Unauthorized),
        },
        Credential::Invitation(_) => Err(AuthenticateError::Unauthorized),
    }
}

/// The bases of the interfaces and the generic paths, the longest first.
const BASES: [&str; 4] = ["api/v1/agent/", "api/v1/me/", "api/v1/", "v1/"];

/// The path as the routes match it, below the base of its interface.
fn below_base(request: &ServiceRequest) -> &str {
    let path = request.match_info().as_str().trim_start_matches('/');
    BASES.iter().find_map(|base| path.strip_prefix(base)).unwrap_or(path)
}

/// Checks that the plan permits the request: memories, or anything else.
fn within_plan(request: &ServiceRequest, admitted: Authenticated) -> Result<(), ApiError> {
    if below_base(request).split('/').next() == Some("memories") {
        return check_memories(admitted);
    }
    Ok(())
}

/// Checks that the plan includes memories.
pub fn check_memories(admitted: Authenticated) -> Result<(), ApiError> {
    let refused = || forbidden("Your plan does not include memories. Ask the operator of the server.");
    if admitted.permits.memories { Ok(()) } else { Err(refused()) }
}

/// Checks that the scope of the key permits the request.
fn within_scope(request: &ServiceRequest, admitted: Authenticated) -> Result<(), ApiError> {
    let scope = admitted.presented.scope();
    scope.permits(reach(below_base(request)), !request.method().is_safe()).map_err(ApiError::from)
}

/// The resource of a request, by its path below the base. Another key of an agent is not within the
/// scope of the agent alone: it would outlive the key that made it.
fn reach(path: &str) -> Reach {
    let mut parts = path.trim_end_matches('/').split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("profile"), None, None) => Reach::Profile,
        (Some("agents"), Some(_), Some("rotate-key" | "api-key" | "pause" | "resume" | "webhook")) => {
            Reach::Rest
        }
        (Some("chats"), Some(id), _) => ChatId::parse(id).map_or(Reach::Rest, Reach::Chat),
        (Some("agents"), Some(id), _) => AgentId::parse(id).map_or(Reach::Rest, Reach::Agent),
        _ => Reach::Rest,
    }
}

fn forbidden(message: &str) -> ApiError {
    ApiError::new(ErrorCode::Forbidden, message)
}

/// The calling human; behind [`users_only`].
#[derive(Clone, Copy, Debug)]
pub struct UserAuth(pub UserCaller);

impl FromRequest for UserAuth {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(caller(request))
    }
}

/// The calling operator; behind [`operators_only`].
#[derive(Clone, Copy, Debug)]
pub struct OperatorAuth(pub Operator);

impl FromRequest for OperatorAuth {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(caller(request))
    }
}

/// The session of the caller's token; `None` for a key, and for a token of the operator. Behind
/// [`users_only`].
#[derive(Clone, Copy, Debug)]
pub struct SessionAuth(pub Option<PresentedSession>);

impl FromRequest for SessionAuth {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(caller::<Presented>(request).map(|presented| Self(presented.session())))
    }
}

/// The calling agent; behind [`agents_only`].
#[derive(Clone, Copy, Debug)]
pub struct AgentAuth(pub AgentCaller);

impl FromRequest for AgentAuth {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(caller(request))
    }
}

/// The extractor of one interface's caller, for handlers that both interfaces share.
pub trait CallerExtractor: FromRequest<Error = ApiError> + Into<Caller> {}

impl CallerExtractor for UserAuth {}
impl CallerExtractor for AgentAuth {}

impl From<UserAuth> for Caller {
    fn from(UserAuth(caller): UserAuth) -> Self {
        caller.into()
    }
}

impl From<AgentAuth> for Caller {
    fn from(AgentAuth(caller): AgentAuth) -> Self {
        caller.into()
    }
}

/// The caller; behind [`any_caller`].
#[derive(Clone, Copy, Debug)]
pub struct CallerAuth(pub Caller);

impl FromRequest for CallerAuth {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(caller(request))
    }
}

/// The caller at a door, with what its plan and its key permit; behind [`mcp_door`] and [`a2a_door`].
#[derive(Clone, Copy, Debug)]
pub struct DoorAuth(pub Authenticated);

impl FromRequest for DoorAuth {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(caller(request))
    }
}

fn caller<T: Copy + 'static>(request: &HttpRequest) -> Result<T, ApiError> {
    let known = request.extensions().get::<T>().copied();
    known.ok_or_else(|| ApiError::defect("a handler is mounted outside its guard"))
}
