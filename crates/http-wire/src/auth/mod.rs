//! From a credential to a caller.
//!
//! [`users_only`], [`agents_only`] and, for the generic paths, [`any_caller`] stand before
//! everything that needs a credential, so that somebody without a valid one learns neither which
//! paths there are nor what is wrong with a body; the extractors hand the caller to a handler.

pub mod credential;

use std::future::{Ready, ready};

use actix_web::body::{BodySize, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderMap;
use actix_web::middleware::Next;
use actix_web::{Error, FromRequest, HttpMessage, HttpRequest, web};
use domain::account::{
    AccountService, AuthenticateError, Authenticated, Presented, PresentedSession, Reach, TokenService,
};
use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::id::{AgentId, ChatId, ParticipantId};

use crate::error::{ApiError, ErrorCode};
use crate::limit::{self, Class, RateLimits, ReadTurn, Standing};
pub use credential::{Credential, Unusable};

/// Lets humans pass: 401 without a valid credential, 403 for an agent, 429 for too many requests.
pub async fn users_only<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let admitted = admit(&request, credential::of_interface, |admitted| match admitted.caller {
        Caller::User(caller) => may_call(admitted).map(|()| UserAuth(caller)),
        Caller::Agent(_) => Err(forbidden("Agents cannot use this path; send the credential of a user")),
    });
    let admitted = admitted.await?;
    answer(request, next, admitted).await
}

/// Lets agents pass: 401 without a valid credential, 403 for a human, 429 for too many requests.
pub async fn agents_only<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let admitted = admit(&request, credential::of_interface, |admitted| match admitted.caller {
        Caller::Agent(caller) => Ok(AgentAuth(caller)),
        Caller::User(_) => Err(forbidden("Users cannot use this path; send the API key of an agent")),
    });
    let admitted = admitted.await?;
    answer(request, next, admitted).await
}

/// Lets humans and agents pass, with the credentials that the generic paths know: 401 without a
/// valid one, 429 for too many requests.
pub async fn any_caller<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let admitted = admit(&request, credential::of_generic_path, |admitted| {
        may_call(admitted).map(|()| CallerAuth(admitted.caller))
    });
    let admitted = admitted.await?;
    answer(request, next, admitted).await
}

/// How a path takes the credential from the headers.
type ReadCredential = for<'a> fn(&'a HeaderMap) -> Result<Credential<'a>, Unusable>;

/// Somebody who may call.
struct Admitted {
    who: ParticipantId,
    standing: Option<Standing>,
    limits: web::Data<RateLimits>,
}

/// Finds out who asks, counts the request, and keeps for the handler what `accept` makes of the
/// caller. Whoever is known is counted, whether or not they are accepted.
async fn admit<T: 'static>(
    request: &ServiceRequest,
    read: ReadCredential,
    accept: impl FnOnce(Authenticated) -> Result<T, ApiError>,
) -> Result<Admitted, ApiError> {
    let accounts = request
        .app_data::<web::Data<AccountService>>()
        .ok_or_else(|| ApiError::defect("the account service is not registered"))?;
    let limits = RateLimits::of(request.request())?.clone();
    let unauthorized = |told: &'static str| ApiError::new(ErrorCode::Unauthorized, told);
    let credential = read(request.headers()).map_err(|unusable| {
        limits.may_ask(request.request()).err().unwrap_or_else(|| unauthorized(unusable.told()))
    })?;
    let looking = look(request.request(), accounts, credential);
    let looked_at =
        limits.try_out(request.request(), credential, looking).await.map_err(|error| match error.code() {
            ErrorCode::Unauthorized => unauthorized(credential.rejected()),
            _ => error,
        })?;
    let who = match &looked_at {
        Ok(admitted) => admitted.caller.participant(),
        Err(kept_out) => *kept_out,
    };
    // The path as the routes see it, so that no other spelling of it counts differently.
    let class = Class::of(request.method(), request.match_info().as_str());
    let standing = limits.spend(who, class).transpose().map_err(limit::refused)?;
    let accepted = looked_at
        .map_err(|who| AuthenticateError::Disabled(who).into())
        .and_then(|admitted| within_plan(request, admitted).map(|()| admitted))
        .and_then(|admitted| within_scope(request, admitted).map(|()| admitted))
        .and_then(|admitted| Ok((accept(admitted)?, admitted.presented)));
    let (auth, presented) = accepted.map_err(|error| match standing {
        Some(standing) => limit::told(error, standing),
        None => error,
    })?;
    request.extensions_mut().insert(auth);
    request.extensions_mut().insert(presented);
    request.extensions_mut().insert(read);
    Ok(Admitted { who, standing, limits })
}

/// Lets the request go on, a read when it is its turn. Its answer tells how the caller stands, and its bytes count.
async fn answer<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
    Admitted { who, standing, limits }: Admitted,
) -> Result<ServiceResponse<B>, Error> {
    let turn = if request.method().is_safe() {
        Some(turn(&limits, who).await.map_err(|error| standing.into_iter().fold(error, limit::told))?)
    } else {
        None
    };
    let response = next.call(request).await;
    drop(turn);
    let mut response = response?;
    if let BodySize::Sized(bytes) = response.response().body().size() {
        limits.count_answer(who, bytes);
    }
    for (name, value) in standing.into_iter().flat_map(limit::headers) {
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

/// Waits for the turn of a read.
async fn turn(limits: &RateLimits, who: ParticipantId) -> Result<ReadTurn, ApiError> {
    limits.may_read(who).await?.turn().await
}

/// Looks at the credential once more, after a body that was long in coming: what ended meanwhile changes nothing any
/// more. Where no credential was looked at before, there is nothing to do.
pub(crate) async fn look_again(request: &HttpRequest) -> Result<(), ApiError> {
    let read = request.extensions().get::<ReadCredential>().copied();
    let (Some(read), Some(accounts)) = (read, request.app_data::<web::Data<AccountService>>()) else {
        return Ok(());
    };
    let unauthorized = |told: &'static str| ApiError::new(ErrorCode::Unauthorized, told);
    let credential = read(request.headers()).map_err(|unusable| unauthorized(unusable.told()))?;
    match authenticate(request, accounts, credential).await {
        Ok(_) => Ok(()),
        Err(AuthenticateError::Unauthorized) => Err(unauthorized(credential.rejected())),
        Err(error) => Err(error.into()),
    }
}

/// Finds out whose a credential is; whom the operator keeps out is told apart, being known.
async fn look(
    request: &HttpRequest,
    accounts: &AccountService,
    credential: Credential<'_>,
) -> Result<Result<Authenticated, ParticipantId>, ApiError> {
    match authenticate(request, accounts, credential).await {
        Ok(admitted) => Ok(Ok(admitted)),
        Err(AuthenticateError::Disabled(who)) => Ok(Err(who)),
        Err(error) => Err(error.into()),
    }
}

/// A token counts only where a service for tokens is mounted.
async fn authenticate(
    request: &HttpRequest,
    accounts: &AccountService,
    credential: Credential<'_>,
) -> Result<Authenticated, AuthenticateError> {
    match credential {
        Credential::Key(key) => accounts.authenticate(key).await,
        Credential::Token(token) => match request.app_data::<web::Data<TokenService>>() {
            Some(tokens) => tokens.authenticate(token).await,
            None => Err(AuthenticateError::Unauthorized),
        },
        Credential::Invitation(_) => Err(AuthenticateError::Unauthorized),
    }
}

/// Where the interfaces and the generic paths begin, the longest first.
const BASES: [&str; 4] = ["api/v1/agent/", "api/v1/me/", "api/v1/", "v1/"];

/// The path as the routes see it, below the base of its interface.
fn below_base(request: &ServiceRequest) -> &str {
    let path = request.match_info().as_str().trim_start_matches('/');
    BASES.iter().find_map(|base| path.strip_prefix(base)).unwrap_or(path)
}

/// Whether the plan has what is asked for: memories, or anything else.
fn within_plan(request: &ServiceRequest, admitted: Authenticated) -> Result<(), ApiError> {
    if !admitted.permits.memories && below_base(request).split('/').next() == Some("memories") {
        return Err(forbidden("Your plan does not include memories; ask the operator of the server"));
    }
    Ok(())
}

/// Whether the key may be used for what is asked.
fn within_scope(request: &ServiceRequest, admitted: Authenticated) -> Result<(), ApiError> {
    let scope = admitted.presented.scope();
    scope.permits(reach(below_base(request)), !request.method().is_safe()).map_err(ApiError::from)
}

/// What a request is about, by its path below the base. Another key of an agent is not a matter of the agent alone:
/// it would outlive the key that made it.
fn reach(path: &str) -> Reach {
    let mut parts = path.trim_end_matches('/').split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("profile"), None, None) => Reach::Profile,
        (Some("agents"), Some(_), Some("rotate-key")) => Reach::Rest,
        (Some("chats"), Some(id), _) => ChatId::parse(id).map_or(Reach::Rest, Reach::Chat),
        (Some("agents"), Some(id), _) => AgentId::parse(id).map_or(Reach::Rest, Reach::Agent),
        _ => Reach::Rest,
    }
}

/// A human calls only if the plan allows it.
fn may_call(admitted: Authenticated) -> Result<(), ApiError> {
    match admitted.caller {
        Caller::User(_) if !admitted.permits.human_interface => {
            let message = "Your plan does not include the API for humans; ask the operator of the server";
            Err(ApiError::new(ErrorCode::PlanRequired, message))
        }
        _ => Ok(()),
    }
}

fn forbidden(message: &str) -> ApiError {
    ApiError::new(ErrorCode::Forbidden, message)
}

/// The human who calls; behind [`users_only`].
#[derive(Clone, Copy, Debug)]
pub struct UserAuth(pub UserCaller);

impl FromRequest for UserAuth {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(caller(request))
    }
}

/// The session that the caller's token belongs to; `None` for a key, and for a token of the operator. Behind
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

/// The agent that calls; behind [`agents_only`].
#[derive(Clone, Copy, Debug)]
pub struct AgentAuth(pub AgentCaller);

impl FromRequest for AgentAuth {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(caller(request))
    }
}

/// Whoever calls; behind [`any_caller`].
#[derive(Clone, Copy, Debug)]
pub struct CallerAuth(pub Caller);

impl FromRequest for CallerAuth {
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
