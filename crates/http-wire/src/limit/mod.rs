//! Rate limiting.
//!
//! Authenticated callers are counted by identity, in a few classes of operations. An address is
//! counted for failed authentication only (`auth_throttle`): after too many failures, only credentials
//! that were valid a short time ago are checked, so that guessing costs no store access and does
//! not affect other clients behind the same address. A credential that was rejected a moment ago is
//! rejected again without a check: a client that repeats a revoked key is not guessing, and costs
//! nothing.
//!
//! Limits on concurrency hand out *permits*. The holder may proceed; dropping the permit admits the next
//! waiter. A read needs two, of its caller and of the server.

pub mod address;
mod auth_throttle;
mod class;
mod connections;
mod expiring_map;
mod logins;
mod rate_limiter;
mod reads;
mod trace;
mod transfers;

use std::sync::Arc;
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpRequest, web};
use domain::id::{ParticipantId, UserId};
use domain::login::Guess;
use domain::ports::Clock;

pub use address::Network;
pub use address::Source;
use auth_throttle::{AuthThrottle, CredentialCheck};
pub use class::Class;
pub use connections::{ConnectionLimit, ConnectionPermit, Connections};
pub use logins::LoginName;
pub(crate) use logins::SECONDS_PER_CODE;
use logins::{LoginRefused, Logins};
use rate_limiter::RateLimiter;
pub use rate_limiter::{Quota, RateState};
use reads::Reads;
pub use reads::{CallerReadPermit, ReadLimit, ReadPermit};

use crate::auth::Credential;
use crate::error::{ApiError, ErrorCode, unauthorized};
use trace::FailureTrace;
use transfers::Transfers;
pub use transfers::{SLOWEST, Transfer, TransferPermit};

/// The limits; `None` is no limit.
#[derive(Clone, Debug)]
pub struct RateLimitConfig {
    /// All operations without a quota of their own.
    pub general: Option<Quota>,
    /// The calls of an agent at work: `/next`, processing, the indicator.
    pub work: Option<Quota>,
    /// Contact requests and the registration of agents.
    pub invitations: Option<Quota>,
    /// Uploads and downloads.
    pub files: Option<Quota>,
    /// Opening sockets.
    pub connects: Option<Quota>,
    /// Failed authentication, for each address.
    pub failures: Option<Quota>,
    /// Requests without a credential, from one address.
    pub anonymous: Option<Quota>,
    /// Registrations, from one address.
    pub registrations: Option<Quota>,
    /// The size of read responses, in KiB.
    pub responses: Option<Quota>,
    /// The concurrent reads; there is always a limit.
    pub reads: ReadLimit,
    /// The concurrent requests for the next message; `None` if they count among the other reads.
    pub next_reads: Option<ReadLimit>,
    /// Proxies whose statement of the client's address is trusted.
    pub trusted_proxies: Vec<Network>,
}

impl Default for RateLimitConfig {
    fn default() -> Self {
        Self {
            general: Quota::new(500, 1000),
            work: Quota::new(2000, 4000),
            invitations: Quota::new(20, 500),
            files: Quota::new(20, 200),
            connects: Quota::new(20, 200),
            failures: Quota::new(2, 100),
            anonymous: Quota::new(100, 1000),
            registrations: Quota::per_hour(30),
            responses: Quota::new(8192, 65_536),
            reads: ReadLimit::default(),
            next_reads: None,
            trusted_proxies: Vec::new(),
        }
    }
}

impl RateLimitConfig {
    /// No limits on requests over time.
    pub fn off() -> Self {
        Self {
            general: None,
            work: None,
            invitations: None,
            files: None,
            connects: None,
            failures: None,
            anonymous: None,
            registrations: None,
            responses: None,
            reads: ReadLimit::default(),
            next_reads: None,
            trusted_proxies: Vec::new(),
        }
    }
}

/// Counts the requests of callers and addresses. One for all workers of the server.
pub struct RateLimits {
    clock: Arc<dyn Clock>,
    general: Option<RateLimiter>,
    work: Option<RateLimiter>,
    invitations: Option<RateLimiter>,
    files: Option<RateLimiter>,
    connects: Option<RateLimiter>,
    throttle: Option<AuthThrottle>,
    logins: Logins,
    anonymous: Option<RateLimiter>,
    registrations: Option<RateLimiter>,
    responses: Option<RateLimiter>,
    reads: Arc<Reads>,
    next_reads: Arc<Reads>,
    transfers: Arc<Transfers>,
    trusted_proxies: Vec<Network>,
    failures: FailureTrace,
}

/// The size up to which a response only costs the request.
const FREE_BYTES: u64 = 64 * 1024;

/// The amount by which responses may exceed the quota: a few are in flight when it is used up.
const RESPONSES_DEBT: Duration = Duration::from_secs(10);

impl RateLimits {
    /// Makes the limits, with this clock.
    pub fn new(config: RateLimitConfig, clock: Arc<dyn Clock>) -> Self {
        let limiter = |quota: Option<Quota>| quota.map(|quota| RateLimiter::new(quota, Duration::ZERO));
        let reads = Reads::new(config.reads);
        Self {
            general: limiter(config.general),
            work: limiter(config.work),
            invitations: limiter(config.invitations),
            files: limiter(config.files),
            connects: limiter(config.connects),
            throttle: config.failures.map(|quota| AuthThrottle::new(quota, clock.clone())),
            logins: Logins::new(config.failures.is_some(), clock.clone()),
            anonymous: limiter(config.anonymous),
            registrations: limiter(config.registrations),
            responses: config.responses.map(|quota| RateLimiter::new(quota, RESPONSES_DEBT)),
            next_reads: config.next_reads.map_or_else(|| reads.clone(), Reads::new),
            reads,
            transfers: Arc::default(),
            trusted_proxies: config.trusted_proxies,
            failures: FailureTrace::new(clock.clone()),
            clock,
        }
    }

    /// The limits of the application that got `request`.
    ///
    /// # Errors
    /// 500 if none are registered, as guesses would not be counted.
    pub fn of(request: &HttpRequest) -> Result<&web::Data<Self>, ApiError> {
        request.app_data().ok_or_else(|| ApiError::defect("the rate limits are not registered"))
    }

    /// The source of a request.
    pub fn source(&self, request: &HttpRequest) -> Option<Source> {
        address::source(request.peer_addr().map(|peer| peer.ip()), request.headers(), &self.trusted_proxies)
    }

    /// Returns whether the client has reached a trusted proxy over TLS.
    pub fn is_forwarded_tls(&self, request: &HttpRequest) -> bool {
        let peer = request.peer_addr().map(|peer| peer.ip());
        address::is_forwarded_tls(peer, request.headers(), &self.trusted_proxies)
    }

    /// Counts a failed authentication for the log.
    fn note_failure(&self, source: Option<Source>) {
        if let Some(source) = source {
            self.failures.note(source);
        }
    }

    /// Writes the log lines on failed authentication that are due; must be called about once a
    /// second.
    pub fn report_failures(&self) {
        self.failures.report();
    }

    /// Writes all remaining log lines on failed authentication, at the end.
    pub fn report_last_failures(&self) {
        self.failures.report_rest();
    }

    /// Decides whether `credential` from `source` may be checked; a refusal is counted for the log.
    /// The result is recorded on the attempt.
    async fn may_try(
        &self,
        source: Option<Source>,
        credential: Credential<'_>,
    ) -> Result<CredentialCheck<'_>, NotTried> {
        match &self.throttle {
            Some(throttle) => throttle.may_try(source, credential).await.map_err(|not_tried| {
                self.note_failure(source);
                match not_tried {
                    NotTried::ShutOut(rate) => NotTried::ShutOut(self.dated(rate)),
                    NotTried::KnownBad => NotTried::KnownBad,
                }
            }),
            None => Ok(CredentialCheck::uncounted()),
        }
    }

    /// Checks a credential that comes with `request`, unless too many from its address were
    /// guessed. `proof` interprets the result.
    ///
    /// # Errors
    /// The reason why the credential was not checked.
    pub async fn check<T>(
        &self,
        request: &HttpRequest,
        credential: Credential<'_>,
        look: impl Future<Output = T>,
        proof: impl FnOnce(&T) -> Proof,
    ) -> Result<T, NotTried> {
        let source = self.source(request);
        let attempt = self.may_try(source, credential).await?;
        let outcome = look.await;
        match proof(&outcome) {
            Proof::Good => attempt.good(),
            Proof::Bad => {
                attempt.bad();
                self.note_failure(source);
            }
            Proof::Incomplete | Proof::Undecided => attempt.undecided(),
        }
        Ok(outcome)
    }

    /// Does the same for a check that answers an invalid credential with 401.
    ///
    /// # Errors
    /// Those of `look`, 401 for a credential that was rejected a moment ago, and 429 after too many
    /// guesses.
    pub async fn try_out<T>(
        &self,
        request: &HttpRequest,
        credential: Credential<'_>,
        look: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let proof = |outcome: &Result<T, ApiError>| match outcome {
            Ok(_) => Proof::Good,
            Err(error) if error.code() == ErrorCode::Unauthorized => Proof::Bad,
            Err(_) => Proof::Undecided,
        };
        self.check(request, credential, look, proof).await?
    }

    /// Checks a password that comes with `request`, unless too many for `name` were wrong. `look`
    /// gets a function that decides whether the password or the code of an account may be compared,
    /// once the account is known.
    ///
    /// # Errors
    /// 429 after too many wrong passwords.
    pub async fn check_password<T>(
        &self,
        request: &HttpRequest,
        name: LoginName<'_>,
        look: impl AsyncFnOnce(&mut dyn FnMut(UserId, Guess) -> bool) -> T,
        proof: impl FnOnce(&T) -> Proof,
    ) -> Result<T, ApiError> {
        let source = self.source(request);
        let mut attempt = self.logins.may_try(source, name).map_err(|refusal| match refusal {
            // The password has not been checked yet, and may be correct.
            LoginRefused::Busy(rate) => refused(self.dated(rate)),
            LoginRefused::UsedUp(rate) => {
                self.note_failure(source);
                refused(self.dated(rate))
            }
        })?;
        let mut may_try = |user, guess| match guess {
            Guess::Password => attempt.may_try_account(user),
            Guess::Code => attempt.may_try_code(user),
        };
        let outcome = look(&mut may_try).await;
        match proof(&outcome) {
            Proof::Bad => self.note_failure(source),
            Proof::Good => attempt.good(),
            Proof::Incomplete => attempt.incomplete(),
            Proof::Undecided => attempt.undecided(),
        }
        Ok(outcome)
    }

    /// Counts a code of the account's second factor that comes without a password, and decides whether it may be
    /// compared.
    pub fn may_try_code(&self, user: UserId) -> bool {
        self.logins.may_try_code(user)
    }

    /// Counts an exchange of a refresh token, whatever its result: valid ones cost a write too.
    pub fn may_refresh(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let source = self.source(request);
        let Some(source) = source else { return Ok(()) };
        self.logins.may_refresh(source).map_err(|rate| refused(self.dated(rate)))
    }

    /// Counts a request without a credential.
    pub(crate) fn may_ask(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let source = self.source(request);
        let (Some(anonymous), Some(source)) = (&self.anonymous, source) else { return Ok(()) };
        let spent = anonymous.spend(source.key(), self.clock.steady());
        spent.map(|_| ()).map_err(|rate| refused(self.dated(rate)))
    }

    /// Counts a registration before anything is checked, whatever its result.
    pub fn check_registration_rate(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let source = self.source(request);
        let (Some(registrations), Some(source)) = (&self.registrations, source) else { return Ok(()) };
        let spent = registrations.spend(source.key(), self.clock.steady());
        spent.map(|_| ()).map_err(|rate| refused(self.dated(rate)))
    }

    /// Counts one request of `who`. Returns the state of its rate afterwards; `None` without a limit.
    pub fn spend(&self, who: ParticipantId, class: Class) -> Option<Result<RateState, RateState>> {
        let limiter = match class {
            Class::General => &self.general,
            Class::Work | Class::Next => &self.work,
            Class::Invitation => &self.invitations,
            Class::Files => &self.files,
            Class::Connect => &self.connects,
        };
        let spent = limiter.as_ref()?.spend(who.uuid().as_u128(), self.clock.steady());
        Some(spent.map(|rate| self.dated(rate)).map_err(|rate| self.dated(rate)))
    }

    /// Limiters use steady time, so that no limit depends on the clock setting; callers get a date.
    fn dated(&self, rate: RateState) -> RateState {
        let left = rate.reset.since(self.clock.steady());
        RateState { reset: self.clock.now().plus(left), ..rate }
    }

    /// Waits until `who` may run another read of this class, unless the size of earlier responses exceeds the
    /// quota.
    ///
    /// # Errors
    /// 429 if the caller has read too much or has too many queued reads, 503 after a long wait.
    pub async fn may_read(&self, who: ParticipantId, class: Class) -> Result<CallerReadPermit, ApiError> {
        let key = who.uuid().as_u128();
        let reads = if class == Class::Next { &self.next_reads } else { &self.reads };
        let permit = reads.caller_permit(key).await?;
        // Responses during the wait count as well.
        self.not_in_debt(key)?;
        Ok(permit)
    }

    /// Waits until a transfer to `who` that has begun may run its next read. It is never cut off for the size of responses.
    ///
    /// # Errors
    /// 429 if the caller has too many queued reads, 503 after a long wait.
    pub async fn may_continue(&self, who: ParticipantId) -> Result<ReadPermit, ApiError> {
        self.reads.caller_permit(who.uuid().as_u128()).await?.permit().await
    }

    fn not_in_debt(&self, key: u128) -> Result<(), ApiError> {
        let Some(rate) = self.responses.as_ref().and_then(|limiter| limiter.look(key, self.clock.steady()))
        else {
            return Ok(());
        };
        let message = "You have read too much in a short time. Request fewer rows, or try again after the seconds in \
                       Retry-After.";
        Err(ApiError::new(ErrorCode::RateLimited, message).with_retry_after(rate.retry_after_seconds()))
    }

    /// Begins an upload or a download, which counts until the permit is dropped.
    ///
    /// # Errors
    /// 429 if the caller has too many under way.
    pub fn begin_transfer(&self, who: ParticipantId, transfer: Transfer) -> Result<TransferPermit, ApiError> {
        self.transfers.begin(who.uuid().as_u128(), transfer)
    }

    /// Counts the bytes of a response to `who`, unless they are few. An excess delays the next
    /// read.
    pub fn count_response(&self, who: ParticipantId, bytes: u64) {
        if bytes > FREE_BYTES
            && let Some(limiter) = &self.responses
        {
            let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
            limiter.charge_many(who.uuid().as_u128(), kib, self.clock.steady());
        }
    }
}

/// Admits requests that need no credential: 429 for too many from one address.
pub async fn anonymous<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    RateLimits::of(request.request())?.may_ask(request.request())?;
    next.call(request).await
}

/// The result of checking a credential.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proof {
    /// It is valid.
    Good,
    /// It is invalid, so it counts as a guess.
    Bad,
    /// It is valid, but something more is required.
    Incomplete,
    /// Neither, as the check failed for another reason.
    Undecided,
}

/// The reason why a credential is not checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotTried {
    /// It was rejected a moment ago.
    KnownBad,
    /// Too many others from the same address were rejected.
    ShutOut(RateState),
}

impl From<NotTried> for ApiError {
    fn from(not_tried: NotTried) -> Self {
        match not_tried {
            NotTried::KnownBad => unauthorized(),
            NotTried::ShutOut(rate) => shut_out(rate, ErrorCode::RateLimited),
        }
    }
}

/// The refusal of an unchecked credential, as too many from its address were rejected. On REST and
/// at a socket the codes differ.
pub fn shut_out(rate: RateState, code: ErrorCode) -> ApiError {
    let seconds = rate.retry_after_seconds();
    let message = format!(
        "Too many failed authentications came from your address, so only credentials that were recently used from it \
         are accepted. This one was not checked. Try again in {seconds} s."
    );
    with_rate(ApiError::new(code, message).with_retry_after(seconds), rate)
}

/// The refusal of a request on REST.
pub fn refused(rate: RateState) -> ApiError {
    let error = ApiError::new(
        ErrorCode::RateLimited,
        "Too many requests. Try again after the seconds in Retry-After.",
    );
    with_rate(error.with_retry_after(rate.retry_after_seconds()), rate)
}

/// Adds the headers of the caller's rate to a refusal.
pub fn with_rate(error: ApiError, rate: RateState) -> ApiError {
    headers(rate).into_iter().fold(error, |error, (name, value)| error.with_header(name, value))
}

/// The headers of a caller's rate.
pub(crate) fn headers(rate: RateState) -> [(HeaderName, HeaderValue); 3] {
    [
        (HeaderName::from_static("x-ratelimit-limit"), HeaderValue::from(rate.limit)),
        (HeaderName::from_static("x-ratelimit-remaining"), HeaderValue::from(rate.remaining)),
        (HeaderName::from_static("x-ratelimit-reset"), HeaderValue::from(rate.reset_unix_seconds())),
    ]
}

#[cfg(test)]
mod tests;
