//! Log-ins at identity providers, and log-in codes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use domain::account::UserHandle;
use domain::audit::{AuditAction, RecordedActor};
use domain::caller::UserCaller;
use domain::change::Change;
use domain::id::ParticipantId;
use domain::login::{
    BegunLogIn, ClaimRule, Claims, CodeLogInError, EndedAtProvider, Federation, Identity, IdentityProvider,
    KeptLogIn, LOG_IN_LIFETIME, LOGIN_CODE_LIFETIME, LOGOUT_SKEW, LinkOutcome, LogIn, LogInError, LoggedIn,
    LoginService, NotAdmitted, Password, PendingLogIn, ProvidedIdentity, Provider, ProviderFault,
    ProviderLogIn, ProviderLogInError, ProviderName, ProviderPolicy, RefreshError, ResetPasswordError,
    ReturnPath, SessionKind, TypedName,
};
use domain::organization::OrganizationRole;
use domain::plan::{OrganizationName, WhichOrganization};
use domain::ports::Clock;
use domain::services::{Ports, Services};
use domain::time::Timestamp;
use serde_json::{Value, json};

use super::audit::log_of;
use super::logins::{changes_since, is_good, session_of};
use crate::World;

const ISSUER: &str = "https://sso.example";

/// How long a session of the provider lasts.
const SESSION: Duration = Duration::from_secs(8 * 60 * 60);

/// A provider that says what a test has told it. The code is the subject of the person; a logout token is the JSON of
/// what has ended.
#[derive(Default)]
pub(crate) struct FakeProvider {
    claims: Mutex<Value>,
    session: Mutex<Option<String>>,
}

#[async_trait]
impl IdentityProvider for FakeProvider {
    async fn begin(&self) -> Result<BegunLogIn, ProviderFault> {
        let [state, nonce, verifier] = ["state", "nonce", "verifier"].map(str::to_owned);
        let pending = PendingLogIn { state, nonce, verifier };
        Ok(BegunLogIn { url: format!("{ISSUER}/auth"), pending })
    }

    async fn finish(&self, _: &PendingLogIn, code: &str) -> Result<ProvidedIdentity, ProviderFault> {
        if code == "nonsense" {
            return Err(ProviderFault::Refused("nonsense".to_owned()));
        }
        let claims = self.claims.lock().unwrap().as_object().cloned().unwrap_or_default();
        Ok(ProvidedIdentity {
            identity: Identity::new(ISSUER, code).unwrap(),
            session: self.session.lock().unwrap().clone(),
            claims: Claims::new(claims),
        })
    }

    async fn ended(&self, token: &str) -> Result<EndedAtProvider, ProviderFault> {
        let said = serde_json::from_str::<Value>(token).unwrap();
        let text = |name: &str| said[name].as_str().map(str::to_owned);
        let issued_at = Timestamp::from_micros(said["iat"].as_i64().unwrap());
        Ok(EndedAtProvider {
            issuer: ISSUER.to_owned(),
            subject: text("sub"),
            session: text("sid"),
            issued_at,
        })
    }
}

/// The log-ins of a server with this provider.
struct Sso {
    provider: Arc<FakeProvider>,
    logins: Arc<LoginService>,
}

impl Sso {
    fn new(world: &World, policy: ProviderPolicy) -> Self {
        Self::with(world, policy, false)
    }

    fn with(world: &World, policy: ProviderPolicy, is_only: bool) -> Self {
        let fake = Arc::<FakeProvider>::default();
        let name = ProviderName::new("sso").unwrap();
        let label = "SSO".to_owned();
        let provider = Provider { name, label, policy, session_lifetime: SESSION, client: fake.clone() };
        let federation = Federation { providers: vec![provider], is_only };
        let services = Services::new(Ports { federation, ..world.ports.clone() });
        Self { provider: fake, logins: services.logins }
    }

    async fn begin(&self) -> KeptLogIn {
        self.logins.begin_at_provider("sso", ReturnPath::default()).await.unwrap().1
    }

    /// Logs a person in whom the provider knows by this subject, with these claims.
    async fn log_in(&self, subject: &str, claims: Value) -> Result<LoggedIn, ProviderLogInError> {
        *self.provider.claims.lock().unwrap() = claims;
        let kept = Some(self.begin().await);
        let command = ProviderLogIn { provider: "sso", kept, state: "state", code: subject, address: None };
        self.logins.log_in_at_provider(command).await.map(|done| done.open)
    }

    async fn refused(&self, subject: &str, claims: Value) -> NotAdmitted {
        match self.log_in(subject, claims).await {
            Err(ProviderLogInError::NotAdmitted(refused)) => refused,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("{subject} is logged in"),
        }
    }
}

fn creating() -> ProviderPolicy {
    ProviderPolicy { creates_accounts: true, ..ProviderPolicy::default() }
}

fn verified(email: &str) -> Value {
    json!({"email": email, "email_verified": true, "preferred_username": "Dana", "name": "Dana Doe"})
}

/// The first log-in creates an account, and later ones find it, whatever else has changed at the provider.
pub async fn a_person_of_a_provider_has_one_account(world: World) {
    let sso = Sso::new(&world, creating());
    let since = world.clock.now();
    let open = sso.log_in("1", verified("dana@example.org")).await.unwrap();
    let user = &open.access.user;
    assert_eq!((user.handle.as_str(), &*user.email), ("dana", "dana@example.org"));
    assert_eq!((user.name.full(), user.organization_role), ("Dana Doe".to_owned(), OrganizationRole::Admin));
    assert!(is_good(&world, &open).await);
    assert!(sso.logins.resume(&open.refresh_token).await.is_ok());
    let again = sso.log_in("1", json!({"email": "other@example.org"})).await.unwrap();
    assert_eq!(again.access.user.id, user.id);
    assert_eq!(again.access.user.email, "dana@example.org");
    // Another person of the same name.
    let other = sso.log_in("2", verified("dana2@example.org")).await.unwrap();
    assert_eq!(other.access.user.handle.as_str(), "dana-2");
    assert_eq!(sso.refused("3", verified("DANA@example.org")).await, NotAdmitted::EmailTaken);
    assert_eq!(sso.refused("4", json!({})).await, NotAdmitted::NoEmail);
    let unverified = json!({"email": "new@example.org"});
    assert_eq!(sso.refused("4", unverified).await, NotAdmitted::EmailUnverified);

    let linked = world.stores.logins.list_identities(user.id).await.unwrap();
    assert_eq!((linked.len(), linked[0].identity.subject()), (1, "1"));
    assert_eq!(linked[0].used_at, Some(world.clock.now()));
    sso.logins.write_failures().await.unwrap();
    let log = log_of(&world, None, Some(since)).await;
    let of = |action| log.iter().filter(|entry| entry.action == action).collect::<Vec<_>>();
    assert_eq!(of(AuditAction::IdentityLinked).len(), 2);
    assert_eq!(of(AuditAction::UserCreated).len(), 2);
    let logged_in = of(AuditAction::LoginSucceeded);
    assert_eq!(logged_in.len(), 3);
    assert_eq!(logged_in[0].detail.as_deref(), Some("provider=https://sso.example"));
    let [failed] = of(AuditAction::LoginFailed)[..] else { panic!("{log:?}") };
    assert_eq!(failed.detail.as_deref(), Some("provider=sso count=3"));
}

/// An account is only linked by a verified address, and only if the operator allows it.
pub async fn accounts_are_linked_by_a_verified_address(world: World) {
    let ann = world.user("ann").await;
    let strict = Sso::new(&world, ProviderPolicy::default());
    assert_eq!(strict.refused("1", verified("ann@example.org")).await, NotAdmitted::NoAccount);
    let linking = Sso::new(&world, ProviderPolicy { links_by_email: true, ..ProviderPolicy::default() });
    let claimed = json!({"email": "ann@example.org", "email_verified": false});
    assert_eq!(linking.refused("1", claimed).await, NotAdmitted::EmailUnverified);
    assert_eq!(linking.refused("1", verified("new@example.org")).await, NotAdmitted::NoAccount);
    let open = linking.log_in("1", verified("Ann@Example.org")).await.unwrap();
    assert_eq!(open.access.user.id, ann.id);
    // From now on the identity counts, also where addresses do not.
    assert_eq!(strict.log_in("1", json!({})).await.unwrap().access.user.id, ann.id);
    // Somebody who gets the address later at the same provider is another person.
    assert_eq!(linking.refused("2", verified("ann@example.org")).await, NotAdmitted::EmailTaken);
    // Nobody is linked across organizations.
    let rule = ClaimRule {
        claim: "email".to_owned(),
        value: "*".to_owned(),
        organization: WhichOrganization::Named("ann".to_owned()),
        role: OrganizationRole::Member,
    };
    let narrow = ProviderPolicy { links_by_email: true, rules: vec![rule], ..ProviderPolicy::default() };
    world.user("cem").await;
    let narrow = Sso::new(&world, narrow);
    assert_eq!(narrow.refused("4", verified("cem@example.org")).await, NotAdmitted::EmailTaken);
    // What the operator does.
    let ben = world.user("ben").await;
    let user = world.stores.accounts.find_user(ben.id).await.unwrap().unwrap();
    let person = |subject| Identity::new(ISSUER, subject).unwrap();
    assert_eq!(strict.logins.link(&user, person("1")).await.unwrap(), LinkOutcome::Taken);
    assert_eq!(strict.logins.link(&user, person("2")).await.unwrap(), LinkOutcome::Linked);
    assert_eq!(
        strict.logins.link(&user, person("3")).await.unwrap(),
        LinkOutcome::Taken,
        "one of each provider"
    );
    let open = strict.log_in("2", json!({})).await.unwrap();
    assert_eq!(open.access.user.id, ben.id);
    let before = world.stores.changes.newest_change().await.unwrap();
    assert!(strict.logins.unlink(&user, ISSUER).await.unwrap());
    assert!(!strict.logins.unlink(&user, ISSUER).await.unwrap());
    assert!(strict.logins.resume(&open.refresh_token).await.is_err(), "what it has opened is over");
    assert_eq!(changes_since(&world, before).await, [Change::SessionEnded(session_of(&open))]);
    assert_eq!(strict.refused("2", json!({})).await, NotAdmitted::NoAccount);
}

/// At each log-in, and as far as possible.
pub async fn claims_decide_the_organization_and_the_role(world: World) {
    world.user("ann").await;
    let rule = |value: &str, organization: &str, role| ClaimRule {
        claim: "groups".to_owned(),
        value: value.to_owned(),
        organization: WhichOrganization::Named(organization.to_owned()),
        role,
    };
    let rules = vec![
        rule("bosses", "ann", OrganizationRole::Admin),
        rule("staff", "ann", OrganizationRole::Member),
        rule("lab", "Lab", OrganizationRole::Member),
        rule("heads", "Lab", OrganizationRole::Admin),
    ];
    let sso = Sso::new(&world, ProviderPolicy { rules, ..creating() });
    let log_in = async |groups: Value| {
        let claims = json!({"email": "dana@example.org", "email_verified": true, "groups": groups});
        let user = sso.log_in("1", claims).await?.access.user;
        let which = WhichOrganization::Id(user.organization);
        let organization = world.organizations.find(which).await?.unwrap();
        Ok::<_, ProviderLogInError>((organization.name, user.organization_role))
    };
    let is_refused = |outcome| matches!(outcome, Err(ProviderLogInError::NotAdmitted(NotAdmitted::NoRule)));
    let at = |name: &str, role| (name.to_owned(), role);
    assert!(is_refused(log_in(json!(["others"])).await));
    assert_eq!(log_in(json!(["staff"])).await.unwrap(), at("ann", OrganizationRole::Member));
    assert_eq!(log_in(json!(["staff", "bosses"])).await.unwrap(), at("ann", OrganizationRole::Admin));
    assert_eq!(log_in(json!(["staff"])).await.unwrap(), at("ann", OrganizationRole::Member));
    // The first member of an organization would be its admin, so a rule for members brings nobody into an empty one.
    assert_eq!(log_in(json!(["lab"])).await.unwrap(), at("ann", OrganizationRole::Member), "there is none");
    world.organizations.create(OrganizationName::new("Lab").unwrap(), None).await.unwrap();
    assert_eq!(log_in(json!(["lab"])).await.unwrap(), at("ann", OrganizationRole::Member), "it is empty");
    assert_eq!(log_in(json!(["heads"])).await.unwrap(), at("Lab", OrganizationRole::Admin));
    assert_eq!(
        log_in(json!(["lab"])).await.unwrap(),
        at("Lab", OrganizationRole::Admin),
        "somebody must be it"
    );
    assert!(is_refused(log_in(json!([])).await), "who has left the groups is not admitted any more");
    let log = log_of(&world, None, None).await.into_iter();
    let moves = log.filter(|entry| entry.detail.as_ref().is_some_and(|detail| detail.contains(ISSUER)));
    let moves = moves.filter(|entry| entry.actor == RecordedActor::Server).map(|entry| {
        let detail = entry.detail.unwrap_or_default();
        (entry.action, detail.replace(&format!("provider={ISSUER}"), "").trim().to_owned())
    });
    let mut moves = moves.map(|(action, role)| (action.as_str(), role)).collect::<Vec<_>>();
    moves.sort();
    let entry = |action: &'static str, role: &str| (action, role.to_owned());
    let expected = [
        entry("member.joined", "admin"),
        entry("member.removed", ""),
        entry("member.role_set", "admin"),
        entry("member.role_set", "member"),
    ];
    assert_eq!(moves, expected, "by the provider, not by the operator");
}

/// A session that a provider has opened ends at its time, even if it is in use.
pub async fn a_session_of_a_provider_is_not_prolonged(world: World) {
    let sso = Sso::new(&world, creating());
    let open = sso.log_in("1", verified("dana@example.org")).await.unwrap();
    for left in [3, 2, 1] {
        world.clock.advance(SESSION / 4);
        let resumed = sso.logins.resume(&open.refresh_token).await.unwrap();
        assert_eq!(resumed.refresh_lifetime, SESSION / 4 * left);
    }
    let (user, ends_at) = (&open.access.user, open.refresh_expires_at);
    let caller = UserCaller { user: user.id, organization: user.organization };
    let listed = sso.logins.list_sessions(caller).await.unwrap();
    assert_eq!(listed.iter().map(|session| session.expires_at).collect::<Vec<_>>(), [ends_at]);
    world.clock.advance(SESSION / 4);
    assert!(matches!(sso.logins.resume(&open.refresh_token).await, Err(RefreshError::Unknown)));
}

/// Only in the browser that began it, once, and in time.
pub async fn a_log_in_belongs_to_its_browser(world: World) {
    let sso = Sso::new(&world, creating());
    *sso.provider.claims.lock().unwrap() = verified("dana@example.org");
    let answer = async |kept: Option<KeptLogIn>, state: &str, code: &str| {
        let command = ProviderLogIn { provider: "sso", kept, state, code, address: None };
        sso.logins.log_in_at_provider(command).await.map(|_| ())
    };
    let kept = sso.begin().await;
    assert!(matches!(answer(None, "state", "1").await, Err(ProviderLogInError::NotBegun)));
    for state in ["", "other", "STATE"] {
        let outcome = answer(Some(kept.clone()), state, "1").await;
        assert!(matches!(outcome, Err(ProviderLogInError::NotBegun)), "{state}");
    }
    let nonsense = answer(Some(kept.clone()), "state", "nonsense").await;
    assert!(matches!(nonsense, Err(ProviderLogInError::Provider(ProviderFault::Refused(_)))));
    world.clock.advance(LOG_IN_LIFETIME);
    assert!(matches!(answer(Some(kept), "state", "1").await, Err(ProviderLogInError::Expired)));
    let unknown = sso.logins.begin_at_provider("other", ReturnPath::default()).await;
    assert!(matches!(unknown, Err(ProviderLogInError::NoSuchProvider)));
    assert!(
        world.stores.accounts.find_user_by_handle(&UserHandle::new("dana").unwrap()).await.unwrap().is_none()
    );
}

/// Those of the provider's session if it names one, else all of the person; never what began later.
pub async fn a_logout_at_the_provider_ends_sessions(world: World) {
    let sso = Sso::new(&world, creating());
    let log_in = async |subject: &str, session: Option<&str>| {
        *sso.provider.session.lock().unwrap() = session.map(str::to_owned);
        sso.log_in(subject, verified(&format!("{subject}@example.org"))).await.unwrap()
    };
    let is_open = async |open: &LoggedIn| sso.logins.resume(&open.refresh_token).await.is_ok();
    let end = async |said: Value| sso.logins.end_at_provider("sso", &said.to_string()).await.unwrap();
    let (one, two) = (log_in("1", Some("a")).await, log_in("1", Some("b")).await);
    let (unnamed, other) = (log_in("1", None).await, log_in("2", Some("a")).await);
    let now = world.clock.now().micros();
    let before = world.stores.changes.newest_change().await.unwrap();
    let since = world.clock.now();

    assert_eq!(end(json!({"sub": "3", "iat": now})).await, 0);
    assert_eq!(
        end(json!({"sub": "1", "sid": "a", "iat": now})).await,
        2,
        "and those of which nothing is known"
    );
    assert!(!is_open(&one).await && !is_open(&unnamed).await && is_open(&two).await && is_open(&other).await);
    assert!(!is_good(&world, &one).await);
    assert_eq!(end(json!({"sid": "a", "iat": now})).await, 1);
    assert!(!is_open(&other).await && is_open(&two).await);
    let mut ended = [&one, &unnamed, &other].map(session_of).map(Change::SessionEnded).to_vec();
    let mut logged = changes_since(&world, before).await;
    for list in [&mut ended, &mut logged] {
        list.sort_by_key(|change| format!("{change:?}"));
    }
    assert_eq!(logged, ended);
    let log = log_of(&world, None, Some(since)).await;
    let log = log.iter().filter(|entry| entry.action == AuditAction::SessionEnded).collect::<Vec<_>>();
    assert_eq!((log.len(), log[0].detail.as_deref()), (3, Some("provider=https://sso.example")));

    // A token that is repeated later ends nothing that began after it.
    world.clock.advance(LOGOUT_SKEW + Duration::from_micros(1));
    let later = log_in("1", Some("c")).await;
    assert_eq!(end(json!({"sub": "1", "iat": now})).await, 1);
    assert!(is_open(&later).await && !is_open(&two).await);
    // Sessions that began otherwise are not the provider's.
    let handle = UserHandle::new("dana").unwrap();
    let code = sso.logins.issue_login_code(&handle).await.unwrap().token;
    let by_code = sso.logins.log_in_with_code(&code, None).await.unwrap();
    let now = world.clock.now().micros();
    assert_eq!(end(json!({"sub": "1", "iat": now})).await, 1);
    assert!(is_open(&by_code).await && !is_open(&later).await);
}

/// A disabled user is not logged in, and a deleted one has no identity.
pub async fn a_provider_does_not_let_disabled_users_in(world: World) {
    let sso = Sso::new(&world, ProviderPolicy { links_by_email: true, ..creating() });
    let open = sso.log_in("1", verified("dana@example.org")).await.unwrap();
    let user = open.access.user.clone();
    let who = ParticipantId::User(user.id);
    world.administration.set_disabled(who, true).await.unwrap();
    assert!(sso.logins.resume(&open.refresh_token).await.is_err());
    let refused = sso.log_in("1", verified("dana@example.org")).await;
    assert!(matches!(refused, Err(ProviderLogInError::Disabled)));
    let ann = world.user("ann").await;
    world.administration.set_disabled(ParticipantId::User(ann.id), true).await.unwrap();
    let refused = sso.log_in("2", verified("ann@example.org")).await;
    assert!(matches!(refused, Err(ProviderLogInError::Disabled)));
    world.administration.set_disabled(who, false).await.unwrap();
    sso.log_in("1", json!({})).await.unwrap();
    world.administration.delete_user(&world.accounts, user.id, true).await.unwrap();
    let found = world.stores.logins.find_identity(Identity::new(ISSUER, "1").unwrap()).await.unwrap();
    assert_eq!(found, None);
    let open = sso.log_in("1", verified("dana@example.org")).await.unwrap();
    assert_ne!(open.access.user.id, user.id, "the address is free again");
}

/// Without passwords, a code of the operator is the way in; it is good once, and for nothing else.
pub async fn a_log_in_code_works_once(world: World) {
    let ann = world.user("ann").await;
    let sso = Sso::with(&world, ProviderPolicy::default(), true);
    let (handle, password) =
        (UserHandle::new("ann").unwrap(), Password::new("correct horse".to_owned()).unwrap());
    let reset = world.logins.issue_reset(&handle).await.unwrap().token;
    let off = sso.logins.reset_password(&reset, password.clone(), SessionKind::Browser).await;
    assert!(matches!(off, Err(ResetPasswordError::PasswordsOff(_))));
    world.logins.reset_password(&reset, password.clone(), SessionKind::Browser).await.unwrap();
    let log_in = LogIn {
        name: TypedName::new("ann"),
        password: password.clone(),
        code: None,
        kind: SessionKind::Browser,
        address: None,
    };
    assert!(matches!(sso.logins.log_in(log_in).await, Err(LogInError::PasswordsOff(_))));
    assert!(sso.logins.issue_reset(&handle).await.is_err());

    let use_code = async |code: &str| match sso.logins.log_in_with_code(code, None).await {
        Ok(open) => Some(open),
        Err(CodeLogInError::Unknown) => None,
        Err(other) => panic!("{other}"),
    };
    let first = sso.logins.issue_login_code(&handle).await.unwrap();
    let code = sso.logins.issue_login_code(&handle).await.unwrap();
    assert_eq!(code.expires_at, world.clock.now().plus(LOGIN_CODE_LIFETIME));
    assert!(use_code(&first.token).await.is_none(), "it was replaced");
    let reset = world.logins.reset_password(&code.token, password, SessionKind::Browser).await;
    assert!(matches!(reset, Err(ResetPasswordError::Unknown)), "it sets no password");
    let open = use_code(&format!(" {} ", code.token)).await.unwrap();
    assert_eq!(open.access.user.id, ann.id);
    assert!(is_good(&world, &open).await && sso.logins.resume(&open.refresh_token).await.is_ok());
    assert!(use_code(&code.token).await.is_none(), "it is used up");
    let reset = world.logins.issue_reset(&handle).await.unwrap().token;
    assert!(use_code(&reset).await.is_none(), "a reset token is none");
    let late = sso.logins.issue_login_code(&handle).await.unwrap();
    world.clock.advance(LOGIN_CODE_LIFETIME);
    assert!(use_code(&late.token).await.is_none());
    for bad in ["", "x", "\0"] {
        assert!(use_code(bad).await.is_none(), "{bad:?}");
    }
    let of_disabled = sso.logins.issue_login_code(&handle).await.unwrap();
    world.administration.set_disabled(ParticipantId::User(ann.id), true).await.unwrap();
    assert!(use_code(&of_disabled.token).await.is_none());
}

/// Of many who use one code at the same time, or log a new person in, one makes the session or the account.
pub async fn concurrent_log_ins_of_one_person(world: World) {
    world.user("ann").await;
    let sso = Arc::new(Sso::new(&world, creating()));
    let code = sso.logins.issue_login_code(&UserHandle::new("ann").unwrap()).await.unwrap().token;
    let all = (0..6).map(|_| {
        let (sso, code) = (sso.clone(), code.clone());
        tokio::spawn(async move { sso.logins.log_in_with_code(&code, None).await.is_ok() })
    });
    let mut good = 0;
    for one in all.collect::<Vec<_>>() {
        good += usize::from(one.await.unwrap());
    }
    assert_eq!(good, 1);
    let all = (0..6).map(|_| {
        let sso = sso.clone();
        tokio::spawn(
            async move { sso.log_in("1", verified("dana@example.org")).await.unwrap().access.user.id },
        )
    });
    let mut users = std::collections::BTreeSet::new();
    for one in all.collect::<Vec<_>>() {
        users.insert(one.await.unwrap().to_string());
    }
    assert_eq!(users.len(), 1);
}
