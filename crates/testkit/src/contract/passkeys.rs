//! Passkeys: adding, logging in, and what ends them.

use std::sync::Arc;
use std::time::Duration;

use domain::account::{User, UserHandle};
use domain::audit::{AuditAction as Did, AuditObject, AuditRecord, RecordedActor};
use domain::change::Change;
use domain::id::ParticipantId;
use domain::login::{
    AddPasskey, CodeError, ConfirmError, Federation, KeptCeremony, LoggedIn, LoginService, MAX_PASSKEYS,
    Passkey, PasskeyError, PasskeyLogIn, PasskeyLogInError, PasskeyName, PasskeysOff, PasswordsOff,
    SecondFactorError, SessionKind, Step, TypedCode,
};
use domain::ports::Clock;
use domain::services::{Ports, Services};
use domain::store::StoreError;
use serde_json::Value;

use super::audit::log_of;
use super::logins::{FIRST, SECOND, changes_since, is_good, password, session_of, user_with_password};
use crate::{FakeCeremonies, TestUser, World};

async fn begin(world: &World, user: &TestUser) -> Result<(Value, KeptCeremony), PasskeyError> {
    world.logins.begin_passkey(user.caller, password(FIRST), None, |_| true).await
}

async fn finish(
    world: &World,
    user: &TestUser,
    begun: (Value, KeptCeremony),
    key: &str,
) -> Result<Passkey, PasskeyError> {
    let response = &FakeCeremonies::answer(&begun.0, key, 0);
    let name = PasskeyName::new(&format!("My {key}")).unwrap();
    let command = AddPasskey { kept: Some(begun.1), name, response };
    world.logins.add_passkey(user.caller, command).await
}

async fn add(world: &World, user: &TestUser, key: &str) -> Passkey {
    let begun = begin(world, user).await.unwrap();
    finish(world, user, begun, key).await.unwrap()
}

async fn answer(
    logins: &LoginService,
    kept: Option<KeptCeremony>,
    response: &str,
) -> Result<LoggedIn, PasskeyLogInError> {
    logins.log_in_with_passkey(PasskeyLogIn { kept, response, address: None }).await
}

async fn log_in(world: &World, key: &str, sign_count: u32) -> Result<LoggedIn, PasskeyLogInError> {
    let (options, kept) = world.logins.begin_passkey_log_in().unwrap();
    answer(&world.logins, Some(kept), &FakeCeremonies::answer(&options, key, sign_count)).await
}

async fn remove(
    world: &World,
    user: &TestUser,
    passkey: &Passkey,
    text: &str,
    code: Option<&str>,
) -> Result<(), PasskeyError> {
    let code = code.map(TypedCode::new);
    world.logins.remove_passkey(user.caller, passkey.id, password(text), code.as_ref(), |_| true).await
}

async fn find(world: &World, user: &TestUser) -> User {
    world.stores.accounts.find_user(user.id).await.unwrap().unwrap()
}

async fn audited(world: &World, action: Did) -> Vec<AuditRecord> {
    world.logins.write_last_failures().await.unwrap();
    log_of(world, None, None).await.into_iter().filter(|entry| entry.action == action).collect()
}

fn details(entries: &[AuditRecord]) -> Vec<&str> {
    entries.iter().map(|entry| entry.detail.as_deref().unwrap_or_default()).collect()
}

/// Without a name and without a password.
pub async fn a_passkey_logs_in(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let ben = user_with_password(&world, "ben").await;
    let laptop = add(&world, &ann, "laptop").await;
    world.clock.advance(Duration::from_secs(1));
    let phone = add(&world, &ann, "phone").await;
    world.clock.advance(Duration::from_secs(1));
    add(&world, &ben, "bens").await;
    assert_eq!(world.logins.passkeys(ann.caller).await.unwrap(), [laptop.clone(), phone.clone()]);
    assert_eq!((laptop.name.as_str(), laptop.used_at), ("My laptop", None));

    let open = log_in(&world, "phone", 7).await.unwrap();
    assert_eq!(open.access.user.id, ann.id);
    assert!(is_good(&world, &open).await);
    assert!(world.logins.resume(&open.refresh_token).await.is_ok(), "it is a browser's");
    assert_eq!(log_in(&world, "bens", 0).await.unwrap().access.user.id, ben.id);
    let known = world.logins.passkeys(ann.caller).await.unwrap();
    assert_eq!((known[0].used_at, known[1].used_at), (None, Some(world.clock.now())));
    assert_eq!(known[1].credential.sign_count, 7);
    assert!(matches!(log_in(&world, "unknown", 0).await, Err(PasskeyLogInError::Unknown)));

    let name = PasskeyName::new("Old phone").unwrap();
    let renamed = world.logins.rename_passkey(ann.caller, phone.id, name.clone()).await.unwrap();
    assert_eq!(renamed, Passkey { name: name.clone(), ..known[1].clone() });
    let others = world.logins.rename_passkey(ben.caller, phone.id, name).await;
    assert!(matches!(others, Err(PasskeyError::NotFound)));
    assert_eq!(world.logins.passkeys(ann.caller).await.unwrap()[1], renamed);
    assert_eq!(details(&audited(&world, Did::PasskeyAdded).await), ["My laptop", "My phone", "My bens"]);
    assert_eq!(details(&audited(&world, Did::LoginSucceeded).await)[2..], ["passkey"; 2]);
    assert_eq!(details(&audited(&world, Did::LoginFailed).await), ["passkey count=1"]);
}

/// Neither twice, nor late, nor by another browser or user.
pub async fn a_challenge_works_once(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let ben = user_with_password(&world, "ben").await;
    let begun = begin(&world, &ann).await.unwrap();
    let passkey = finish(&world, &ann, begun.clone(), "laptop").await.unwrap();
    assert!(matches!(finish(&world, &ann, begun.clone(), "laptop").await, Err(PasskeyError::Taken)));
    assert!(matches!(finish(&world, &ann, begun.clone(), "phone").await, Err(PasskeyError::NotBegun)));
    let foreign = begin(&world, &ann).await.unwrap();
    assert!(matches!(finish(&world, &ben, foreign, "phone").await, Err(PasskeyError::NotBegun)));
    assert!(matches!(
        finish(&world, &ben, begin(&world, &ben).await.unwrap(), "laptop").await,
        Err(PasskeyError::Taken)
    ));
    let late = begin(&world, &ann).await.unwrap();

    let (options, kept) = world.logins.begin_passkey_log_in().unwrap();
    let response = FakeCeremonies::answer(&options, "laptop", 0);
    let other = world.logins.begin_passkey_log_in().unwrap().1;
    for (kept, is_begun) in [(None, false), (Some(other), true), (Some(begun.1.clone()), true)] {
        let refused = answer(&world.logins, kept, &response).await;
        assert_eq!(matches!(refused, Err(PasskeyLogInError::Refused(_))), is_begun);
        assert_eq!(matches!(refused, Err(PasskeyLogInError::NotBegun)), !is_begun);
    }
    assert!(answer(&world.logins, Some(kept.clone()), &response).await.is_ok());
    let again = answer(&world.logins, Some(kept.clone()), &response).await;
    assert!(matches!(again, Err(PasskeyLogInError::Ended)));

    let waiting = world.logins.begin_passkey_log_in().unwrap();
    world.clock.advance(Duration::from_secs(5 * 60 - 1));
    let response = FakeCeremonies::answer(&waiting.0, "laptop", 0);
    assert!(answer(&world.logins, Some(waiting.1), &response).await.is_ok());
    let expired = world.logins.begin_passkey_log_in().unwrap();
    world.clock.advance(Duration::from_secs(5 * 60));
    let response = FakeCeremonies::answer(&expired.0, "laptop", 0);
    let refused = answer(&world.logins, Some(expired.1), &response).await;
    assert!(matches!(refused, Err(PasskeyLogInError::NotBegun)));
    assert!(matches!(finish(&world, &ann, late, "phone").await, Err(PasskeyError::NotBegun)));
    assert_eq!(world.stores.logins.list_passkeys(ann.id).await.unwrap().len(), 1);
    assert_eq!(passkey.user, ann.id);
    // Two used for log-ins, and one for adding; none is needed any more. Sessions stay.
    assert_eq!(world.stores.logins.forget_logins(world.clock.now(), 2).await.unwrap(), 2);
    assert_eq!(world.stores.logins.forget_logins(world.clock.now(), 2).await.unwrap(), 1);
    assert_eq!(world.stores.logins.forget_logins(world.clock.now(), 2).await.unwrap(), 0);
}

/// Of many log-ins with one answer, one opens a session.
pub async fn concurrent_log_ins_with_one_challenge(world: World) {
    let ann = user_with_password(&world, "ann").await;
    add(&world, &ann, "laptop").await;
    let (options, kept) = world.logins.begin_passkey_log_in().unwrap();
    let response = FakeCeremonies::answer(&options, "laptop", 0);
    let racing = (0..8).map(|_| {
        let (logins, kept, response) = (world.logins.clone(), kept.clone(), response.clone());
        tokio::spawn(async move { answer(&logins, Some(kept), &response).await })
    });
    let mut opened = 0;
    for outcome in racing.collect::<Vec<_>>() {
        match outcome.await.unwrap() {
            Ok(_) => opened += 1,
            Err(PasskeyLogInError::Ended) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(opened, 1);
}

/// Only a copy of the key would answer with an old one.
pub async fn a_signature_counter_never_goes_back(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let passkey = add(&world, &ann, "laptop").await;
    for (sign_count, opens) in
        [(0, true), (0, true), (5, true), (5, false), (4, false), (0, false), (6, true)]
    {
        match log_in(&world, "laptop", sign_count).await {
            Ok(_) => assert!(opens, "{sign_count}"),
            Err(PasskeyLogInError::Copied { user, passkey: copied }) => {
                assert!(!opens, "{sign_count}");
                assert_eq!((user, copied), (ann.id, passkey.id));
            }
            Err(other) => panic!("{other}"),
        }
    }
    let failed = audited(&world, Did::LoginFailed).await;
    assert_eq!(details(&failed), ["passkey count=3"]);
    assert_eq!(failed[0].subject.object, AuditObject::User(ann.id));
}

/// Whoever has an open session only can neither add nor remove one. A code is used up.
pub async fn passkeys_need_password_and_code(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let passkey = add(&world, &ann, "laptop").await;
    let secret = world.logins.begin_second_factor(ann.caller, password(FIRST)).await.unwrap().secret;
    let code =
        |later: u32| secret.code_at(Step::new(Step::at(world.clock.now()).number() + later)).to_string();
    let confirmed = TypedCode::new(&code(0));
    world.logins.confirm_second_factor(ann.caller, &confirmed, |_| true).await.unwrap();

    let begin = async |text: &str, code: Option<&str>, may_try: bool| {
        let code = code.map(TypedCode::new);
        world.logins.begin_passkey(ann.caller, password(text), code.as_ref(), |_| may_try).await.map(|_| ())
    };
    let wrong = |error: &PasskeyError| {
        matches!(error, PasskeyError::Proof(SecondFactorError::Confirm(ConfirmError::Wrong)))
    };
    let refused = |done: Result<(), PasskeyError>, expected: CodeError| match done {
        Err(PasskeyError::Proof(SecondFactorError::Code(error))) => assert_eq!(error, expected),
        other => panic!("{other:?}"),
    };
    assert!(begin(SECOND, Some(&code(1)), true).await.is_err_and(|error| wrong(&error)));
    refused(begin(FIRST, None, true).await, CodeError::Required);
    refused(begin(FIRST, Some(&code(0)), true).await, CodeError::Wrong);
    refused(begin(FIRST, Some(&code(1)), false).await, CodeError::TooMany);
    begin(FIRST, Some(&code(1)), true).await.unwrap();
    refused(begin(FIRST, Some(&code(1)), true).await, CodeError::Wrong);

    world.clock.advance(Duration::from_secs(90));
    let gone = remove(&world, &ann, &passkey, SECOND, Some(&code(1))).await;
    assert!(gone.is_err_and(|error| wrong(&error)));
    refused(remove(&world, &ann, &passkey, FIRST, None).await, CodeError::Required);
    log_in(&world, "laptop", 0).await.unwrap();
    remove(&world, &ann, &passkey, FIRST, Some(&code(1))).await.unwrap();
    refused(begin(FIRST, Some(&code(1)), true).await, CodeError::Wrong);
    assert_eq!(world.logins.passkeys(ann.caller).await.unwrap(), []);
    let nobody = world.user("ben").await;
    let outcome = world.logins.begin_passkey(nobody.caller, password(FIRST), None, |_| true).await;
    assert!(outcome.is_err_and(|error| wrong(&error)), "there is no password");
}

/// Those that it has opened, and no others.
pub async fn a_removed_passkey_ends_its_sessions(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let ben = user_with_password(&world, "ben").await;
    let (laptop, phone) = (add(&world, &ann, "laptop").await, add(&world, &ann, "phone").await);
    let ending = log_in(&world, "laptop", 0).await.unwrap();
    let staying = log_in(&world, "phone", 0).await.unwrap();
    let others = remove(&world, &ben, &laptop, FIRST, None).await;
    assert!(matches!(others, Err(PasskeyError::NotFound)));
    let start = world.stores.changes.newest_change().await.unwrap();
    remove(&world, &ann, &laptop, FIRST, None).await.unwrap();
    assert_eq!(changes_since(&world, start).await, [Change::SessionEnded(session_of(&ending))]);
    assert!(world.logins.resume(&ending.refresh_token).await.is_err());
    assert!(world.logins.resume(&staying.refresh_token).await.is_ok());
    assert!(matches!(log_in(&world, "laptop", 0).await, Err(PasskeyLogInError::Unknown)));
    let again = remove(&world, &ann, &laptop, FIRST, None).await;
    assert!(matches!(again, Err(PasskeyError::NotFound)));
    assert_eq!(world.logins.passkeys(ann.caller).await.unwrap().len(), 1);
    let removed = audited(&world, Did::PasskeyRemoved).await;
    assert_eq!(details(&removed), ["My laptop"]);
    assert_eq!(removed[0].actor.known().unwrap().object, AuditObject::User(ann.id));

    // A device that is lost may hold the second factor as well as a passkey.
    world.clock.advance(Duration::from_secs(1));
    let user = find(&world, &ann).await;
    let issued = world.logins.remove_second_factor_of(&user).await.unwrap().unwrap();
    assert!(world.logins.remove_second_factor_of(&user).await.unwrap().is_none());
    assert!(world.logins.resume(&staying.refresh_token).await.is_err());
    assert_eq!(world.stores.logins.find_passkey(phone.credential.id).await.unwrap(), None);
    assert_eq!(audited(&world, Did::PasskeyRemoved).await[1].actor, RecordedActor::Operator);
    world.logins.reset_password(&issued.token, password(SECOND), SessionKind::Program).await.unwrap();
}

/// A new password ends all sessions, and no passkeys, as it ends no keys.
pub async fn passkeys_outlive_the_password(world: World) {
    let ann = user_with_password(&world, "ann").await;
    add(&world, &ann, "laptop").await;
    let open = log_in(&world, "laptop", 0).await.unwrap();
    let reset = world.logins.issue_reset(&UserHandle::new("ann").unwrap()).await.unwrap();
    world.logins.reset_password(&reset.token, password(SECOND), SessionKind::Program).await.unwrap();
    assert!(world.logins.resume(&open.refresh_token).await.is_err());
    assert!(log_in(&world, "laptop", 0).await.is_ok());
}

pub async fn a_user_has_few_passkeys(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let waiting = begin(&world, &ann).await.unwrap();
    for number in 0..MAX_PASSKEYS {
        add(&world, &ann, &format!("key {number}")).await;
    }
    assert!(matches!(begin(&world, &ann).await, Err(PasskeyError::TooMany)));
    assert!(matches!(finish(&world, &ann, waiting, "another").await, Err(PasskeyError::TooMany)));
}

/// A disabled user cannot log in, and a deleted one has none.
pub async fn passkeys_end_with_their_user(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let passkey = add(&world, &ann, "laptop").await;
    world.administration.set_disabled(ParticipantId::User(ann.id), true).await.unwrap();
    assert!(matches!(log_in(&world, "laptop", 0).await, Err(PasskeyLogInError::Ended)));
    world.administration.set_disabled(ParticipantId::User(ann.id), false).await.unwrap();
    log_in(&world, "laptop", 0).await.unwrap();
    let waiting = begin(&world, &ann).await.unwrap();
    world.administration.delete_user(&world.accounts, ann.id, true).await.unwrap();
    assert!(matches!(log_in(&world, "laptop", 0).await, Err(PasskeyLogInError::Unknown)));
    assert!(matches!(finish(&world, &ann, waiting, "phone").await, Err(PasskeyError::NotBegun)));
    assert_eq!(world.stores.logins.find_passkey(passkey.credential.id).await.unwrap(), None);
}

/// Without a suitable address, and where people log in at a provider only. Those that exist open nothing then.
pub async fn passkeys_can_be_off(world: World) {
    let ann = user_with_password(&world, "ann").await;
    add(&world, &ann, "laptop").await;
    let (options, kept) = world.logins.begin_passkey_log_in().unwrap();
    let response = FakeCeremonies::answer(&options, "laptop", 0);
    let without_address = Ports { passkeys: None, ..world.ports.clone() };
    let federation = Federation { providers: Vec::new(), is_only: true };
    let at_provider = Ports { federation, ..world.ports.clone() };
    for (ports, reason) in
        [(without_address, PasskeysOff::NoAddress), (at_provider, PasskeysOff::Passwords(PasswordsOff))]
    {
        let logins: Arc<LoginService> = Services::new(ports).logins;
        assert!(!logins.has_passkeys());
        let begun = logins.begin_passkey(ann.caller, password(FIRST), None, |_| true).await;
        assert!(matches!(begun, Err(PasskeyError::Off(off)) if off == reason));
        assert!(matches!(logins.begin_passkey_log_in(), Err(PasskeyLogInError::Off(off)) if off == reason));
        let opened = answer(&logins, Some(kept.clone()), &response).await;
        assert!(matches!(opened, Err(PasskeyLogInError::Off(off)) if off == reason));
        assert_eq!(logins.passkeys(ann.caller).await.unwrap().len(), 1);
    }
    (world.stores.close)();
    let closed = answer(&world.logins, Some(kept), &response).await;
    assert!(matches!(closed, Err(PasskeyLogInError::Store(StoreError::Unavailable(_)))));
}
