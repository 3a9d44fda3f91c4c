//! Opening a socket. Every check precedes the upgrade, so a refusal is a plain HTTP response.

use actix_web::body::BodyStream;
use actix_web::http::header::{AUTHORIZATION, HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use actix_web::web::{Data, Payload, Query};
use actix_web::{Error, FromRequest, HttpRequest, HttpResponse};
use domain::account::{ActAsError, AuthenticateError, Authenticated, Door, Presented};
use domain::caller::{AgentCaller, Caller};
use domain::id::{AgentId, ParticipantId};
use http_wire::auth::Credential;
use http_wire::auth::credential::{MAX_KEY_BYTES, MAX_TOKEN_BYTES};
use http_wire::error::{ApiError, ErrorCode};
use http_wire::limit::{self, Class, NotTried, Proof, RateLimits, RateState};

use crate::context::SocketContext;
use crate::frame::Version;
use crate::hub::{ClaimRefused, OnConflict};
use crate::inbound::guard;
use crate::machine::Machine;
use crate::outbox::Outbox;
use crate::subprotocol::{Offered, PHOENIX};
use crate::task::Socket;

/// The maximum size of an inbound message; clients send far smaller ones.
const MAX_INBOUND_BYTES: usize = 64 * 1024;

/// The value of `Retry-After` in seconds.
const RETRY_SECONDS: u32 = 5;

pub(crate) async fn connect(
    request: HttpRequest,
    body: Payload,
    context: Data<SocketContext>,
) -> Result<HttpResponse, Error> {
    let mut guarded = guard(body.into_inner(), MAX_INBOUND_BYTES);
    let body = Payload::from_request(&request, &mut guarded).await?;
    let (mut response, _, inbound) = actix_ws::handle(&request, body).map_err(|_| no_handshake())?;
    let offered = Offered::read(request.headers());
    if offered.phoenix {
        response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PHOENIX));
    }
    let parameters = Parameters::read(&request)?;
    let asked = Asked::read(&request, &offered, &parameters)?;
    let (caller, presented, rate) = admit(&context, &request, asked).await?;
    let with_rate = |error: ApiError| {
        let error = note(&context, caller.participant(), error);
        rate.into_iter().fold(error, limit::with_rate)
    };
    let on_conflict = parameters.on_conflict().map_err(with_rate)?;
    let claimed = context.hub.open(caller, presented, on_conflict).await;
    let (mut claim, inbox) = claimed.map_err(|why| with_rate(refused(why)))?;
    if let Caller::Agent(AgentCaller { agent, .. }) = caller {
        context.accounts.note_call(agent, Door::Socket);
    }

    let machine = Machine::new(parameters.version, caller, context.hub.config().max_topics)
        .limited_to(presented.scope())
        .with_boards(context.hub.config().features.boards);
    let outbox = Outbox::new(machine, inbox, claim.acknowledgements());
    let permit = claim.permit.take();
    let response = response.map_body(|_, handshake| BodyStream::new(outbox.body(handshake, permit)));
    let inbound = inbound
        .max_frame_size(MAX_INBOUND_BYTES)
        .aggregate_continuations()
        .max_continuation_size(MAX_INBOUND_BYTES);
    let socket = Socket { context, claim, outbox, version: parameters.version };
    actix_web::rt::spawn(socket.run(inbound));
    Ok(response.map_into_boxed_body())
}

/// The query parameters. They may hold a key, so they are never logged.
struct Parameters {
    version: Version,
    token: Option<String>,
    api_key: Option<String>,
    agent_id: Option<String>,
    on_conflict: Option<String>,
}

impl Parameters {
    fn read(request: &HttpRequest) -> Result<Self, ApiError> {
        let pairs = Query::<Vec<(String, String)>>::from_query(request.query_string());
        let mut pairs = pairs
            .map_err(|_| forbidden("The query string is not valid. Percent-encode its values."))?
            .into_inner();
        let mut take = |name: &str| {
            let index = pairs.iter().position(|(given, _)| given == name)?;
            Some(pairs.swap_remove(index).1)
        };
        let vsn = take("vsn");
        let version = Version::of_parameter(vsn.as_deref()).ok_or_else(|| {
            ApiError::new(
                ErrorCode::Forbidden,
                "The protocol version is not supported. Set vsn to 2.0.0 or 1.0.0.",
            )
        })?;
        // Some clients send a word for a missing value.
        let absent = |text: &String| matches!(text.as_str(), "" | "undefined" | "null");
        Ok(Self {
            version,
            token: take("token").filter(|text| !absent(text)),
            api_key: take("api_key").filter(|text| !absent(text)),
            agent_id: take("agent_id").filter(|text| !absent(text)),
            on_conflict: take("on_conflict"),
        })
    }

    fn on_conflict(&self) -> Result<OnConflict, ApiError> {
        match self.on_conflict.as_deref() {
            None | Some("supersede") => Ok(OnConflict::Supersede),
            Some("reject") => Ok(OnConflict::Reject),
            Some(_) => Err(ApiError::new(
                ErrorCode::InvalidOnConflict,
                "The value of on_conflict is not known. Set it to supersede or reject.",
            )),
        }
    }
}

/// The credential of a client, and the agent that it asks to act as.
#[derive(Clone, Copy)]
struct Asked<'a> {
    credential: Credential<'a>,
    agent: Option<AgentId>,
}

impl<'a> Asked<'a> {
    /// A header takes precedence over a sub-protocol, which takes precedence over the query; a
    /// token takes precedence over a key.
    fn read(
        request: &'a HttpRequest,
        offered: &'a Offered,
        parameters: &'a Parameters,
    ) -> Result<Self, ApiError> {
        let header = |name: &str| {
            let text = request.headers().get(name).and_then(|value| value.to_str().ok());
            text.filter(|text| !text.is_empty())
        };
        let credential = header("x-auth-token")
            .map(token_or_key)
            .or_else(|| header("x-api-key").map(Credential::Key))
            .or_else(|| offered.token.as_deref().map(token_or_key))
            .or_else(|| parameters.token.as_deref().map(token_or_key))
            .or_else(|| parameters.api_key.as_deref().map(Credential::Key))
            .ok_or_else(|| {
                let is_elsewhere = request.headers().contains_key(AUTHORIZATION);
                forbidden(if is_elsewhere { NOT_READ } else { MISSING })
            })?;
        let agent = parameters.agent_id.as_deref();
        let malformed =
            || forbidden("agent_id is not a valid id. Copy it from `parlance agent show OWNER/SLUG`.");
        let agent = agent.map(|agent| AgentId::parse(agent).ok_or_else(malformed)).transpose()?;
        Ok(Self { credential, agent })
    }
}

/// Authenticates the client and takes a socket permit: in the name of the caller, or in that of
/// the credential's holder if it may not act as the agent it asked for.
async fn admit(
    context: &SocketContext,
    request: &HttpRequest,
    asked: Asked<'_>,
) -> Result<(Caller, Presented, Option<RateState>), ApiError> {
    let limits = RateLimits::of(request)?;
    let holder = authenticate_rate_limited(context, request, limits, asked.credential).await?;
    let (counted, admitted) = match holder {
        Ok(holder) => {
            let caller = act_as(context, holder, asked.agent).await;
            let counted = caller.as_ref().unwrap_or(&holder.caller).participant();
            (
                counted,
                caller.map(|caller| (caller, holder.presented)).map_err(|error| not_acting(error, counted)),
            )
        }
        Err(AuthenticateError::Disabled(who)) => (who, Err(AuthenticateError::Disabled(who).into())),
        // Not 401: clients take that for a temporary failure and retry without end.
        Err(AuthenticateError::Unauthorized) => return Err(forbidden(rejected(asked.credential))),
        Err(AuthenticateError::Store(error)) => return Err(unavailable().with_cause(error)),
    };
    let noted = |error| note(context, counted, error);
    let rate = limits.spend(counted, Class::Connect).transpose().map_err(too_many).map_err(noted)?;
    match (admitted.map_err(noted), rate) {
        (Ok((caller, presented)), rate) => Ok((caller, presented, rate)),
        (Err(error), Some(rate)) => Err(limit::with_rate(error, rate)),
        (Err(error), None) => Err(error),
    }
}

/// Notes a refusal for the owner of an agent.
fn note(context: &SocketContext, who: ParticipantId, error: ApiError) -> ApiError {
    if let ParticipantId::Agent(agent) = who
        && !error.code().is_expected()
    {
        context.accounts.note_failure(agent, Door::Socket, error.code().as_str(), None);
    }
    error
}

/// Authenticates a credential, unless its address has failed too often.
async fn authenticate_rate_limited(
    context: &SocketContext,
    request: &HttpRequest,
    limits: &RateLimits,
    credential: Credential<'_>,
) -> Result<Result<Authenticated, AuthenticateError>, ApiError> {
    let proof = |holder: &Result<_, AuthenticateError>| match holder {
        Ok(_) | Err(AuthenticateError::Disabled(_)) => Proof::Good,
        Err(AuthenticateError::Unauthorized) => Proof::Bad,
        Err(AuthenticateError::Store(_)) => Proof::Undecided,
    };
    let checked = limits.check(request, credential, identify(context, credential), proof).await;
    checked.map_err(|not_tried| match not_tried {
        NotTried::KnownBad => forbidden(rejected(credential)),
        NotTried::ShutOut(rate) => limit::shut_out(rate, ErrorCode::TooManyRequests),
    })
}

async fn identify(
    context: &SocketContext,
    credential: Credential<'_>,
) -> Result<Authenticated, AuthenticateError> {
    match credential {
        Credential::Key(key) if key.len() <= MAX_KEY_BYTES => {
            context.accounts.authenticate_at(key, Some(Door::Socket)).await
        }
        Credential::Token(token) if token.len() <= MAX_TOKEN_BYTES => {
            context.tokens.authenticate(token).await
        }
        Credential::Key(_) | Credential::Token(_) | Credential::Invitation(_) => {
            Err(AuthenticateError::Unauthorized)
        }
    }
}

/// Resolves the caller: the holder of the credential, acting as the agent that the client asked
/// for.
async fn act_as(
    context: &SocketContext,
    holder: Authenticated,
    agent: Option<AgentId>,
) -> Result<Caller, ActAsError> {
    let Some(agent) = agent else { return holder.as_itself() };
    let acting = context.accounts.act_as(holder.caller, holder.presented.scope(), agent).await;
    acting.map(Caller::Agent)
}

/// Some clients send their key in the place of a token. A token contains dots, a key never does.
fn token_or_key(text: &str) -> Credential<'_> {
    if text.contains('.') { Credential::Token(text) } else { Credential::Key(text) }
}

/// The refusal of a holder whose credential is valid.
fn not_acting(error: ActAsError, holder: ParticipantId) -> ApiError {
    match error {
        // A handshake has one code for whatever the caller may not do.
        ActAsError::PlanExcludesHumans => {
            ApiError::new(ErrorCode::Forbidden, ApiError::from(error).message())
        }
        ActAsError::Store(error) => unavailable().with_cause(error),
        ActAsError::NotThisAgent(agent) => {
            tracing::info!(
                participant = %holder.uuid(),
                agent.id = %agent,
                "socket refused: this credential cannot act as the agent named by agent_id"
            );
            error.into()
        }
        ActAsError::Disabled(_) | ActAsError::OutOfScope(_) => error.into(),
    }
}

fn unavailable() -> ApiError {
    ApiError::new(ErrorCode::TrackingFailed, "The store is unavailable. Try again.")
        .with_retry_after(RETRY_SECONDS)
}

fn too_many(rate: RateState) -> ApiError {
    let error = ApiError::new(
        ErrorCode::TooManyRequests,
        "Too many attempts to connect. Try again after the seconds in Retry-After.",
    );
    limit::with_rate(error.with_retry_after(rate.retry_after_seconds()), rate)
}

/// The message for a rejected credential. Sockets accept credentials in other places than REST
/// does.
fn rejected(credential: Credential<'_>) -> &'static str {
    match credential {
        Credential::Key(text) if matches!(token_or_key(text), Credential::Token(_)) => {
            "A token was sent as an API key. Send it as x-auth-token, or as the query parameter token."
        }
        other => other.rejected(),
    }
}

/// The message for a missing credential.
const MISSING: &str = "Send a credential: an API key as x-api-key or a token as x-auth-token, or as the query \
 parameter api_key or token.";

/// The message for a credential in the header that only REST reads.
const NOT_READ: &str = "The socket does not read Authorization. Send the API key as x-api-key, or the token as \
 x-auth-token.";

/// The refusal of a request that does not ask for a WebSocket as the protocol says.
fn no_handshake() -> ApiError {
    ApiError::new(
        ErrorCode::BadRequest,
        "This path accepts only WebSocket connections. Connect with a Phoenix client.",
    )
}

fn forbidden(message: &'static str) -> ApiError {
    ApiError::new(ErrorCode::Forbidden, message)
}

fn refused(refused: ClaimRefused) -> ApiError {
    match refused {
        ClaimRefused::Ended => forbidden("The credential is no longer valid. Send a new API key or token."),
        ClaimRefused::Conflict => ApiError::new(
            ErrorCode::ConnectionConflict,
            "The agent is already connected. Close its other connection, or connect with on_conflict=supersede.",
        ),
        ClaimRefused::TooMany => ApiError::new(
            ErrorCode::TooManyRequests,
            "You have too many open sockets. Close one, then connect again.",
        )
        .with_retry_after(RETRY_SECONDS),
        ClaimRefused::Unavailable => unavailable(),
        ClaimRefused::Stopping => {
            ApiError::new(ErrorCode::TrackingFailed, "The server is stopping. Connect again in a second.")
                .with_retry_after(RETRY_SECONDS)
        }
    }
}
