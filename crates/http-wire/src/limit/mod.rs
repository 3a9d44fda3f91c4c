//! How often somebody may ask.
//!
//! Whoever has proved who they are is counted by that, in one of a few classes of operations. An
//! address is counted for failed authentication only ([`throttle`]): from there, once too much was guessed, only
//! credentials that were good a short time ago are looked at, so that whoever guesses costs no
//! look at the store and harms nobody else behind the same address. A credential that was bad a
//! moment ago is bad still: a client that repeats a revoked key is no guesser, and costs nothing.

pub mod address;
mod auth_throttle;
mod class;
mod connections;
mod expiring_map;
mod logins;
mod rate_limiter;
mod reads;
mod trace;

use std::sync::Arc;
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpRequest, web};
use domain::id::{ParticipantId, UserId};
use domain::ports::Clock;

pub use address::Network;
pub use address::Source;
use auth_throttle::{Attempt, AuthThrottle};
pub use class::Class;
pub use connections::{Connected, ConnectionLimit, Connections};
pub use logins::LoginName;
use logins::{LoginRefused, Logins};
use rate_limiter::RateLimiter;
pub use rate_limiter::{Quota, Standing};
use reads::Reads;
pub use reads::{ReadLimit, ReadSeat, ReadTurn};

use crate::auth::Credential;
use crate::error::{ApiError, ErrorCode, unauthorized};
use trace::FailureTrace;

/// The limits; `None` is no limit.
#[derive(Clone, Debug)]
pub struct RateLimitConfig {
    /// Everything that has no quota of its own.
    pub general: Option<Quota>,
    /// The calls of an agent at work: `/next`, processing, the indicator.
    pub work: Option<Quota>,
    /// Contact requests and the registration of agents.
    pub invitations: Option<Quota>,
    /// Opening sockets.
    pub connects: Option<Quota>,
    /// Failed authentication, for each address.
    pub failures: Option<Quota>,
    /// Requests without a credential, from one address.
    pub anonymous: Option<Quota>,
    /// Who wants to register, from one address.
    pub registrations: Option<Quota>,
    /// What is read, in KiB of answers.
    pub answers: Option<Quota>,
    /// How many reads may be at work; there is always a limit.
    pub reads: ReadLimit,
    /// Proxies whose word on the client's address is taken.
    pub trusted_proxies: Vec<Network>,
}

impl Default for RateLimitConfig {
    fn default() -> Self {
        Self {
            general: Quota::new(500, 1000),
            work: Quota::new(2000, 4000),
            invitations: Quota::new(20, 500),
            connects: Quota::new(20, 200),
            failures: Quota::new(2, 100),
            anonymous: Quota::new(100, 1000),
            registrations: Quota::per_hour(30),
            answers: Quota::new(8192, 65_536),
            reads: ReadLimit::default(),
            trusted_proxies: Vec::new(),
        }
    }
}

impl RateLimitConfig {
    /// No limits on how much somebody may ask in time.
    pub fn off() -> Self {
        Self {
            general: None,
            work: None,
            invitations: None,
            connects: None,
            failures: None,
            anonymous: None,
            registrations: None,
            answers: None,
            reads: ReadLimit::default(),
            trusted_proxies: Vec::new(),
        }
    }
}

/// Counts who asks how often. One for all workers of the server.
pub struct RateLimits {
    clock: Arc<dyn Clock>,
    general: Option<RateLimiter>,
    work: Option<RateLimiter>,
    invitations: Option<RateLimiter>,
    connects: Option<RateLimiter>,
    throttle: Option<AuthThrottle>,
    logins: Option<Logins>,
    anonymous: Option<RateLimiter>,
    registrations: Option<RateLimiter>,
    answers: Option<RateLimiter>,
    reads: Arc<Reads>,
    trusted_proxies: Vec<Network>,
    failures: FailureTrace,
}

/// Answers up to this size cost nothing but the request.
const FREE_BYTES: u64 = 64 * 1024;

/// How far somebody's answers may go beyond the quota: a few are on their way when it is used up.
const ANSWERS_DEBT: Duration = Duration::from_secs(10);

impl RateLimits {
    /// With these limits, under this clock.
    pub fn new(config: RateLimitConfig, clock: Arc<dyn Clock>) -> Self {
        let meter = |quota: Option<Quota>| quota.map(|quota| RateLimiter::new(quota, Duration::ZERO));
        Self {
            general: meter(config.general),
            work: meter(config.work),
            invitations: meter(config.invitations),
            connects: meter(config.connects),
            throttle: config.failures.map(|quota| AuthThrottle::new(quota, clock.clone())),
            logins: config.failures.map(|_| Logins::new(clock.clone())),
            anonymous: meter(config.anonymous),
            registrations: meter(config.registrations),
            answers: config.answers.map(|quota| RateLimiter::new(quota, ANSWERS_DEBT)),
            reads: Reads::new(config.reads),
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

    /// Where a request comes from.
    pub fn source(&self, request: &HttpRequest) -> Option<Source> {
        address::source(request.peer_addr().map(|peer| peer.ip()), request.headers(), &self.trusted_proxies)
    }

    /// Somebody failed to prove who they are: it is counted for the log.
    fn note_failure(&self, source: Option<Source>) {
        if let Some(source) = source {
            self.failures.note(source);
        }
    }

    /// Writes the lines on failed authentication that are due; to be called about once a second.
    pub fn report_failures(&self) {
        self.failures.report();
    }

    /// Writes all lines on failed authentication that were not written yet: for the end.
    pub fn report_last_failures(&self) {
        self.failures.report_rest();
    }

    /// Whether `credential` from `source` may be looked at; a refusal is counted for the log. The attempt is told what
    /// came of it.
    async fn may_try(
        &self,
        source: Option<Source>,
        credential: Credential<'_>,
    ) -> Result<Attempt<'_>, NotTried> {
        match &self.throttle {
            Some(throttle) => throttle.may_try(source, credential).await.map_err(|not_tried| {
                self.note_failure(source);
                match not_tried {
                    NotTried::ShutOut(standing) => NotTried::ShutOut(self.dated(standing)),
                    NotTried::KnownBad => NotTried::KnownBad,
                }
            }),
            None => Ok(Attempt::uncounted()),
        }
    }

    /// Looks at a credential that comes with `request`, unless too many from its address were guessed. `proof` tells
    /// what the outcome proves.
    ///
    /// # Errors
    /// The reason why the credential was not looked at.
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
            Proof::Undecided => attempt.undecided(),
        }
        Ok(outcome)
    }

    /// The same for a look that answers a bad credential with 401.
    ///
    /// # Errors
    /// Those of `look`, 401 for a credential that was bad a moment ago, and 429 after too many guesses.
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

    /// Looks at a password that comes with `request`, unless too many for `name` were wrong. `look` gets a function that
    /// tells whether the password of an account may be compared, once the account is known.
    ///
    /// # Errors
    /// 429 after too many wrong passwords.
    pub async fn check_password<T>(
        &self,
        request: &HttpRequest,
        name: LoginName<'_>,
        look: impl AsyncFnOnce(&mut dyn FnMut(UserId) -> bool) -> T,
        proof: impl FnOnce(&T) -> Proof,
    ) -> Result<T, ApiError> {
        let source = self.source(request);
        let attempt = self.logins.as_ref().zip(source).map(|(logins, source)| logins.may_try(source, name));
        let mut attempt = attempt.transpose().map_err(|refusal| match refusal {
            // It waits its turn, and may well be right.
            LoginRefused::Busy(standing) => refused(self.dated(standing)),
            LoginRefused::UsedUp(standing) => {
                self.note_failure(source);
                refused(self.dated(standing))
            }
        })?;
        let outcome = look(&mut |user| attempt.as_mut().is_none_or(|one| one.may_try_account(user))).await;
        match (attempt, proof(&outcome)) {
            (_, Proof::Bad) => self.note_failure(source),
            (Some(attempt), Proof::Good) => attempt.good(),
            (Some(attempt), Proof::Undecided) => attempt.undecided(),
            (None, Proof::Good | Proof::Undecided) => {}
        }
        Ok(outcome)
    }

    /// Counts one who exchanges a refresh token, whatever comes of it: good ones cost a write too.
    pub fn may_refresh(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let source = self.source(request);
        let (Some(logins), Some(source)) = (&self.logins, source) else { return Ok(()) };
        logins.may_refresh(source).map_err(|standing| refused(self.dated(standing)))
    }

    /// Counts a request that brings no credential.
    pub(crate) fn may_ask(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let source = self.source(request);
        let (Some(anonymous), Some(source)) = (&self.anonymous, source) else { return Ok(()) };
        let spent = anonymous.spend(source.key(), self.clock.steady());
        spent.map(|_| ()).map_err(|standing| refused(self.dated(standing)))
    }

    /// Counts one who wants to register, whatever comes of it, before anything is looked at.
    pub fn may_register(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let source = self.source(request);
        let (Some(registrations), Some(source)) = (&self.registrations, source) else { return Ok(()) };
        let spent = registrations.spend(source.key(), self.clock.steady());
        spent.map(|_| ()).map_err(|standing| refused(self.dated(standing)))
    }

    /// Counts one request of `who`. The standing afterwards; `None` where there is no limit.
    pub fn spend(&self, who: ParticipantId, class: Class) -> Option<Result<Standing, Standing>> {
        let meter = match class {
            Class::General => &self.general,
            Class::Work => &self.work,
            Class::Invitation => &self.invitations,
            Class::Connect => &self.connects,
        };
        let spent = meter.as_ref()?.spend(who.uuid().as_u128(), self.clock.steady());
        Some(spent.map(|standing| self.dated(standing)).map_err(|standing| self.dated(standing)))
    }

    /// Meters run on steady time, so that no limit depends on how the clock is set; callers are told a date.
    fn dated(&self, standing: Standing) -> Standing {
        let left = standing.reset.since(self.clock.steady());
        Standing { reset: self.clock.now().plus(left), ..standing }
    }

    /// Waits until `who` may have one more read at work, unless their answers were more than their quota has room for.
    ///
    /// # Errors
    /// 429 for somebody who has read too much or has too many reads waiting, 503 after a long wait.
    pub async fn may_read(&self, who: ParticipantId) -> Result<ReadSeat, ApiError> {
        let key = who.uuid().as_u128();
        let seat = self.reads.seat(key).await?;
        // What was read while this one was waiting counts as well.
        self.not_in_debt(key)?;
        Ok(seat)
    }

    fn not_in_debt(&self, key: u128) -> Result<(), ApiError> {
        let Some(standing) = self.answers.as_ref().and_then(|meter| meter.look(key, self.clock.steady()))
        else {
            return Ok(());
        };
        let message = "You have read too much in a short time; request fewer rows, or try again after the seconds in \
                       Retry-After";
        Err(ApiError::new(ErrorCode::RateLimited, message).with_retry_after(standing.retry_after_seconds()))
    }

    /// Counts the bytes of an answer to `who`, unless they are few. What goes beyond the quota delays the next read.
    pub fn count_answer(&self, who: ParticipantId, bytes: u64) {
        if bytes > FREE_BYTES
            && let Some(meter) = &self.answers
        {
            let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
            meter.charge_many(who.uuid().as_u128(), kib, self.clock.steady());
        }
    }
}

/// Lets requests pass that need no credential: 429 for too many from one address.
pub async fn anonymous<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    RateLimits::of(request.request())?.may_ask(request.request())?;
    next.call(request).await
}

/// What a look at a credential has proved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proof {
    /// It is good.
    Good,
    /// It is bad, so it counts as a guess.
    Bad,
    /// Neither, as the look failed for another reason.
    Undecided,
}

/// Why a credential is not looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotTried {
    /// It was bad a moment ago.
    KnownBad,
    /// Too many others from the same address were.
    ShutOut(Standing),
}

impl From<NotTried> for ApiError {
    fn from(not_tried: NotTried) -> Self {
        match not_tried {
            NotTried::KnownBad => unauthorized(),
            NotTried::ShutOut(standing) => shut_out(standing, ErrorCode::RateLimited),
        }
    }
}

/// The refusal of a credential that is not looked at, good or bad, as too many from its address were bad. On REST and
/// at a socket the codes differ.
pub fn shut_out(standing: Standing, code: ErrorCode) -> ApiError {
    let seconds = standing.retry_after_seconds();
    let message = format!(
        "Too many failed authentications came from your address, so only credentials that were recently used from it \
         are accepted. This one was not checked; try again in {seconds} s"
    );
    told(ApiError::new(code, message).with_retry_after(seconds), standing)
}

/// The refusal of a request on REST.
pub(crate) fn refused(standing: Standing) -> ApiError {
    let error = ApiError::new(
        ErrorCode::RateLimited,
        "Too many requests; try again after the seconds in Retry-After",
    );
    told(error.with_retry_after(standing.retry_after_seconds()), standing)
}

/// A refusal that also tells how the caller stands.
pub fn told(error: ApiError, standing: Standing) -> ApiError {
    headers(standing).into_iter().fold(error, |error, (name, value)| error.with_header(name, value))
}

/// What a standing says of itself in every answer.
pub(crate) fn headers(standing: Standing) -> [(HeaderName, HeaderValue); 3] {
    [
        (HeaderName::from_static("x-ratelimit-limit"), HeaderValue::from(standing.limit)),
        (HeaderName::from_static("x-ratelimit-remaining"), HeaderValue::from(standing.remaining)),
        (HeaderName::from_static("x-ratelimit-reset"), HeaderValue::from(standing.reset_unix_seconds())),
    ]
}

#[cfg(test)]
mod tests;
