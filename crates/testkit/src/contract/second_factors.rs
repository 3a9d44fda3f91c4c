//! Second factors: codes of authenticator apps, and recovery codes.

use std::time::Duration;

use domain::account::{KeyDigest, User, UserHandle};
use domain::audit::{Actor, AuditAction as Did, RecordedActor};
use domain::id::SessionId;
use domain::login::{
    ChangeSecondFactor, CodeError, ConfirmError, FactorChange, Guess, LogIn, LogInError, NewSession,
    PasswordHash, RECOVERY_CODES, RecoveryCode, ResetPassword, ResetPasswordError, SESSION_LIFETIME,
    SecondFactorError, SecondProof, SessionKind, SessionProof, Step, TotpSecret, TypedCode, TypedName,
    UseReset, WhichLogin,
};
use domain::ports::Clock;
use domain::store::OnCommit;
use uuid::Uuid;

use super::audit::log_of;
use super::logins::{FIRST, SECOND, password, user_with_password};
use crate::{TestUser, World};

/// The length of a step.
const STEP: Duration = Duration::from_secs(30);

/// What a log-in or a reset comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Open,
    Wrong,
    Required,
    WrongCode,
}

fn log_in_with(text: &str, code: Option<&str>) -> LogIn {
    LogIn {
        name: TypedName::new("ann"),
        password: password(text),
        code: code.map(TypedCode::new),
        kind: SessionKind::Program,
        address: None,
    }
}

async fn log_in(world: &World, text: &str, code: Option<&str>) -> Outcome {
    match world.logins.log_in(log_in_with(text, code)).await {
        Ok(_) => Outcome::Open,
        Err(LogInError::Wrong) => Outcome::Wrong,
        Err(LogInError::Code(CodeError::Required)) => Outcome::Required,
        Err(LogInError::Code(CodeError::Wrong)) => Outcome::WrongCode,
        Err(other) => panic!("{other}"),
    }
}

/// The code of the step that is this number of steps later than now.
fn code(world: &World, secret: &TotpSecret, later: i32) -> String {
    let step = Step::at(world.clock.now()).number().checked_add_signed(later).unwrap();
    secret.code_at(Step::new(step)).to_string()
}

/// Sets up a second factor; the step of now is used. Returns the secret and the recovery codes.
async fn set_up(world: &World, user: &TestUser) -> (TotpSecret, Vec<String>) {
    let secret = world.logins.begin_second_factor(user.caller, password(FIRST)).await.unwrap().secret;
    let typed = TypedCode::new(&code(world, &secret, 0));
    let codes = world.logins.confirm_second_factor(user.caller, &typed, |_| true).await.unwrap();
    (secret, codes.iter().map(RecoveryCode::reveal).collect())
}

/// The number of recovery codes that are left; `None` without a second factor that is on.
async fn left(world: &World, user: &TestUser) -> Option<usize> {
    let factor = world.logins.second_factor(user.caller).await.unwrap();
    factor.filter(|factor| factor.enabled_at.is_some()).map(|factor| factor.recovery_codes.len())
}

/// What the audit log says of failed log-ins and of second factors, sorted by action and detail.
async fn audited(world: &World) -> Vec<(Did, String)> {
    world.logins.write_last_failures().await.unwrap();
    let log = log_of(world, None, None).await;
    let about = log.into_iter().filter(|entry| {
        entry.action.as_str().starts_with("second_factor.") || entry.action == Did::LoginFailed
    });
    let mut about = about.map(|entry| (entry.action, entry.detail.unwrap_or_default())).collect::<Vec<_>>();
    about.sort_by_key(|(action, detail)| (action.as_str(), detail.clone()));
    about
}

/// Until then it may be begun anew, and no log-in asks for a code.
pub async fn a_second_factor_counts_once_it_is_confirmed(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let confirm = async |code: &str| {
        world.logins.confirm_second_factor(ann.caller, &TypedCode::new(code), |_| true).await
    };
    assert!(matches!(confirm("123456").await, Err(SecondFactorError::NotPending)));
    let begin = async |text| world.logins.begin_second_factor(ann.caller, password(text)).await;
    let wrong = begin(SECOND).await;
    assert!(matches!(wrong, Err(SecondFactorError::Confirm(ConfirmError::Wrong))));
    assert_eq!(world.logins.second_factor(ann.caller).await.unwrap(), None);

    let late = begin(FIRST).await.unwrap().secret;
    world.clock.advance(Duration::from_secs(60 * 60));
    assert!(matches!(confirm(&code(&world, &late, 0)).await, Err(SecondFactorError::NotPending)));
    let replaced = begin(FIRST).await.unwrap().secret;
    let new = begin(FIRST).await.unwrap();
    assert_eq!(new.account, "ann@chat.example");
    let pending = world.logins.second_factor(ann.caller).await.unwrap().unwrap();
    assert_eq!((&pending.secret, pending.begun_at), (&new.secret, world.clock.now()));
    assert_eq!((pending.enabled_at, pending.used_step), (None, None));
    for given in [None, Some("123456")] {
        assert_eq!(log_in(&world, FIRST, given).await, Outcome::Open);
    }
    for wrong in [&*code(&world, &replaced, 0), &*code(&world, &new.secret, -2), "", "abcd-efgh-ijkl-2345"] {
        let refused = confirm(wrong).await;
        assert!(matches!(refused, Err(SecondFactorError::Code(CodeError::Wrong))), "{wrong}");
    }
    let typed = TypedCode::new(&code(&world, &new.secret, 0));
    let refused = world.logins.confirm_second_factor(ann.caller, &typed, |_| false).await;
    assert!(matches!(refused, Err(SecondFactorError::Code(CodeError::TooMany))));
    assert_eq!(audited(&world).await, [(Did::LoginFailed, "count=1".to_owned())]);

    let codes = confirm(&code(&world, &new.secret, 0)).await.unwrap();
    assert_eq!((codes.len(), left(&world, &ann).await), (RECOVERY_CODES, Some(RECOVERY_CODES)));
    let enabled = world.logins.second_factor(ann.caller).await.unwrap().unwrap();
    assert_eq!(enabled.enabled_at, Some(world.clock.now()));
    assert_eq!(enabled.used_step, Some(Step::at(world.clock.now())));
    assert_eq!(log_in(&world, FIRST, None).await, Outcome::Required);
    assert!(matches!(begin(FIRST).await, Err(SecondFactorError::AlreadyOn)));
    assert!(matches!(confirm("123456").await, Err(SecondFactorError::NotPending)));
    assert_eq!(audited(&world).await.pop(), Some((Did::SecondFactorEnabled, String::new())));
}

/// Neither the same code again nor an older one opens another session; the device may be a step off.
pub async fn a_code_works_once(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let (secret, _) = set_up(&world, &ann).await;
    assert_eq!(
        log_in(&world, FIRST, Some(&code(&world, &secret, 0))).await,
        Outcome::WrongCode,
        "the code of the confirmation is used"
    );
    assert_eq!(log_in(&world, FIRST, Some(&code(&world, &secret, 1))).await, Outcome::Open, "a fast clock");
    for later in [-1, 0, 1, 2] {
        assert_eq!(log_in(&world, FIRST, Some(&code(&world, &secret, later))).await, Outcome::WrongCode);
    }
    world.clock.advance(STEP * 3);
    assert_eq!(log_in(&world, SECOND, Some(&code(&world, &secret, 0))).await, Outcome::Wrong);
    assert_eq!(log_in(&world, FIRST, Some(&code(&world, &secret, -2))).await, Outcome::WrongCode);
    assert_eq!(log_in(&world, FIRST, Some(&code(&world, &secret, -1))).await, Outcome::Open, "a slow clock");
    assert_eq!(log_in(&world, FIRST, None).await, Outcome::Required);
    let spaced = code(&world, &secret, 0);
    let spaced = format!(" {} {} ", &spaced[..3], &spaced[3..]);
    assert_eq!(log_in(&world, FIRST, Some(&spaced)).await, Outcome::Open);

    let later = code(&world, &secret, 1);
    let refused =
        world.logins.log_in_if(log_in_with(FIRST, Some(&later)), |_, guess| guess == Guess::Password).await;
    assert!(matches!(refused, Err(LogInError::Code(CodeError::TooMany))));
    assert_eq!(log_in(&world, FIRST, Some(&later)).await, Outcome::Open, "it was not compared");
    let log = audited(&world).await;
    let failed = log.iter().filter(|(did, _)| *did == Did::LoginFailed).map(|(_, detail)| &**detail);
    let mut failed = failed.collect::<Vec<_>>();
    failed.sort_unstable();
    assert_eq!(failed, ["count=1", "second_factor count=7"]);
    let opened =
        log_of(&world, None, None).await.into_iter().filter(|entry| entry.action == Did::LoginSucceeded);
    let opened = opened.filter_map(|entry| entry.detail).collect::<Vec<_>>();
    assert_eq!(opened, ["second_factor"; 4]);
}

/// Of many log-ins at once, one opens a session.
pub async fn concurrent_log_ins_with_one_code(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let (secret, recovery) = set_up(&world, &ann).await;
    for typed in [&code(&world, &secret, 1), &recovery[0]] {
        let racing = (0..8).map(|_| {
            let (logins, command) = (world.logins.clone(), log_in_with(FIRST, Some(typed)));
            tokio::spawn(async move { logins.log_in(command).await })
        });
        let mut opened = 0;
        for outcome in racing.collect::<Vec<_>>() {
            match outcome.await.unwrap() {
                Ok(_) => opened += 1,
                Err(LogInError::Code(CodeError::Wrong)) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(opened, 1);
    }
    assert_eq!(left(&world, &ann).await, Some(RECOVERY_CODES - 1));
}

/// In any spelling; the others stay.
pub async fn a_recovery_code_works_once(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let (_, recovery) = set_up(&world, &ann).await;
    assert_eq!(log_in(&world, SECOND, Some(&recovery[0])).await, Outcome::Wrong);
    assert_eq!(left(&world, &ann).await, Some(RECOVERY_CODES));
    for (number, typed) in
        [recovery[3].clone(), recovery[0].to_uppercase().replace('-', " ")].iter().enumerate()
    {
        assert_eq!(log_in(&world, FIRST, Some(typed)).await, Outcome::Open);
        assert_eq!(left(&world, &ann).await, Some(RECOVERY_CODES - 1 - number));
        assert_eq!(log_in(&world, FIRST, Some(typed)).await, Outcome::WrongCode);
    }
    let log = audited(&world).await;
    let used = log.iter().filter(|(did, _)| *did == Did::RecoveryCodeUsed).map(|(_, detail)| &**detail);
    assert_eq!(used.collect::<Vec<_>>(), ["left=8", "left=9"]);
    let opened =
        log_of(&world, None, None).await.into_iter().filter(|entry| entry.action == Did::LoginSucceeded);
    assert_eq!(opened.filter_map(|entry| entry.detail).collect::<Vec<_>>(), ["recovery_code"; 2]);
}

/// Between the check of what a user has typed and the beginning of the session.
pub async fn a_second_factor_that_changes_meanwhile_opens_no_session(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let (store, now) = (world.stores.logins.clone(), world.clock.now());
    let set_at = store.find_login(WhichLogin::User(ann.id)).await.unwrap().unwrap().password.unwrap().set_at;
    let begin = async |number: u8, proof| {
        let digest = |half: u8| KeyDigest::new([number * 2 + half; 32]);
        let session = NewSession {
            id: SessionId::new(Uuid::from_u128(number.into())),
            user: ann.id,
            proof: SessionProof::Password(set_at, proof),
            kind: SessionKind::Program,
            family: digest(0),
            token: digest(1),
            expires_at: now.plus(SESSION_LIFETIME),
            now,
            address: None,
        };
        store.begin_session(session).await.unwrap().is_some()
    };
    assert!(begin(1, SecondProof::None).await);
    let (first, _) = set_up(&world, &ann).await;
    assert!(!begin(2, SecondProof::None).await, "it was turned on");
    assert!(begin(3, SecondProof::Exempt).await);
    let command = ChangeSecondFactor {
        user: ann.id,
        change: FactorChange::Remove(SecondProof::Exempt),
        by: Actor::Operator,
        now,
    };
    assert!(store.change_second_factor(command).await.unwrap());
    let later = Step::new(Step::at(now).number() + 1);
    assert!(begin(4, SecondProof::Totp(first.clone(), later)).await, "it was turned off");
    let (second, _) = set_up(&world, &ann).await;
    assert!(!begin(5, SecondProof::Totp(first, later)).await, "it was replaced");
    assert!(begin(6, SecondProof::Totp(second.clone(), later)).await);
    assert!(!begin(7, SecondProof::Totp(second, later)).await, "the code was used");
    let unknown = SecondProof::RecoveryCode(KeyDigest::new([9; 32]));
    assert!(!begin(8, unknown).await);
    assert_eq!(left(&world, &ann).await, Some(RECOVERY_CODES));
}

async fn find(world: &World, user: &TestUser) -> User {
    world.stores.accounts.find_user(user.id).await.unwrap().unwrap()
}

async fn issue_reset(world: &World) -> String {
    world.logins.issue_reset(&UserHandle::new("ann").unwrap()).await.unwrap().token
}

/// A token of the operator does not get around the second factor, and stays valid when the code is wrong.
pub async fn a_reset_needs_a_code(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let (secret, recovery) = set_up(&world, &ann).await;
    let set = async |token: &str, code: Option<&str>, may_try: bool| {
        let command = ResetPassword {
            token: token.to_owned(),
            new: password(SECOND),
            code: code.map(TypedCode::new),
            kind: SessionKind::Program,
        };
        world.logins.reset_password_if(command, |_| may_try).await.map(|_| ())
    };
    let token = issue_reset(&world).await;
    for (given, may_try, expected) in [
        (None, true, CodeError::Required),
        (Some(code(&world, &secret, 0)), true, CodeError::Wrong),
        (Some(code(&world, &secret, 1)), false, CodeError::TooMany),
    ] {
        let refused = set(&token, given.as_deref(), may_try).await;
        assert!(matches!(refused, Err(ResetPasswordError::Code(error)) if error == expected), "{expected}");
    }
    let unknown = set("unknown", Some(&code(&world, &secret, 1)), true).await;
    assert!(matches!(unknown, Err(ResetPasswordError::Unknown)), "no code is used for it");
    assert_eq!(log_in(&world, FIRST, None).await, Outcome::Required, "the password is the same");
    set(&token, Some(&code(&world, &secret, 1)), true).await.unwrap();
    assert_eq!(log_in(&world, FIRST, None).await, Outcome::Wrong);
    assert_eq!(log_in(&world, SECOND, None).await, Outcome::Required, "the second factor stays");
    assert_eq!(log_in(&world, SECOND, Some(&code(&world, &secret, 1))).await, Outcome::WrongCode);
    set(&issue_reset(&world).await, Some(&recovery[0]), true).await.unwrap();
    assert_eq!(left(&world, &ann).await, Some(RECOVERY_CODES - 1));
    assert_eq!(
        audited(&world).await,
        [
            (Did::LoginFailed, "count=1".to_owned()),
            (Did::LoginFailed, "second_factor count=3".to_owned()),
            (Did::SecondFactorEnabled, String::new()),
            (Did::RecoveryCodeUsed, "left=9".to_owned()),
        ]
    );
}

/// The code was used after it was checked: the token is not used up, and the password stays.
pub async fn a_reset_does_not_use_a_code_twice(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let (secret, _) = set_up(&world, &ann).await;
    let token = world.ports.keys.digest(&issue_reset(&world).await);
    let store = world.stores.logins.clone();
    let reset = async |proof| {
        let password = PasswordHash::new("another".to_owned());
        let command = UseReset { token, password, proof, now: world.clock.now() };
        store.reset_password(command, OnCommit::nothing()).await.unwrap().is_some()
    };
    let step = |later| Step::new(Step::at(world.clock.now()).number() + later);
    for proof in [SecondProof::None, SecondProof::Totp(secret.clone(), step(0))] {
        assert!(!reset(proof).await);
    }
    let stored = store.find_login(WhichLogin::User(ann.id)).await.unwrap().unwrap().password.unwrap();
    assert_ne!(stored.hash.as_str(), "another");
    assert!(reset(SecondProof::Totp(secret.clone(), step(1))).await);
    assert!(!reset(SecondProof::Totp(secret, step(2))).await, "the token is used up");
}

/// Whoever has an open session and the password only cannot turn it off, nor get codes to do so.
pub async fn changes_of_a_second_factor_need_password_and_code(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let renew = async |text: &str, code: &str| {
        let renewed = world
            .logins
            .renew_recovery_codes(ann.caller, password(text), &TypedCode::new(code), |_| true)
            .await;
        renewed.map(|codes| codes.iter().map(RecoveryCode::reveal).collect::<Vec<_>>())
    };
    let remove = async |text: &str, code: Option<&str>| {
        let code = code.map(TypedCode::new);
        world.logins.remove_second_factor(ann.caller, password(text), code.as_ref(), |_| true).await
    };
    assert!(matches!(renew(FIRST, "123456").await, Err(SecondFactorError::Off)));
    assert!(matches!(remove(FIRST, None).await, Err(SecondFactorError::Off)));
    world.logins.begin_second_factor(ann.caller, password(FIRST)).await.unwrap();
    assert!(matches!(renew(FIRST, "123456").await, Err(SecondFactorError::Off)));
    remove(FIRST, None).await.unwrap();
    assert_eq!(world.logins.second_factor(ann.caller).await.unwrap(), None);

    let (secret, recovery) = set_up(&world, &ann).await;
    let next = code(&world, &secret, 1);
    let wrong = renew(SECOND, &next).await;
    assert!(matches!(wrong, Err(SecondFactorError::Confirm(ConfirmError::Wrong))));
    assert!(matches!(renew(FIRST, "000000x").await, Err(SecondFactorError::Code(CodeError::Wrong))));
    let renewed = renew(FIRST, &next).await.unwrap();
    assert_eq!(left(&world, &ann).await, Some(RECOVERY_CODES));
    assert_eq!(log_in(&world, FIRST, Some(&recovery[0])).await, Outcome::WrongCode, "it was replaced");
    assert_eq!(log_in(&world, FIRST, Some(&next)).await, Outcome::WrongCode, "it is used up");

    let wrong = remove(SECOND, Some(&renewed[0])).await;
    assert!(matches!(wrong, Err(SecondFactorError::Confirm(ConfirmError::Wrong))));
    assert!(matches!(remove(FIRST, None).await, Err(SecondFactorError::Code(CodeError::Required))));
    assert!(matches!(remove(FIRST, Some(&next)).await, Err(SecondFactorError::Code(CodeError::Wrong))));
    remove(FIRST, Some(&renewed[0])).await.unwrap();
    assert_eq!(world.logins.second_factor(ann.caller).await.unwrap(), None);
    assert_eq!(log_in(&world, FIRST, None).await, Outcome::Open);
    let log = audited(&world).await;
    let changed = log.iter().map(|(did, _)| *did).filter(|did| *did != Did::LoginFailed).collect::<Vec<_>>();
    assert_eq!(changed, [Did::SecondFactorEnabled, Did::RecoveryCodesRenewed, Did::SecondFactorRemoved]);
}

/// Keys, codes of the operator, and another password of a user who is logged in; so the operator can help.
pub async fn other_ways_in_need_no_code(world: World) {
    let ann = user_with_password(&world, "ann").await;
    set_up(&world, &ann).await;
    assert!(world.accounts.authenticate(&ann.key).await.is_ok());
    let issued = world.logins.issue_login_code(&UserHandle::new("ann").unwrap()).await.unwrap();
    world.logins.log_in_with_code(&issued.token, None).await.unwrap();
    world.logins.change_password(ann.caller, password(FIRST), password(SECOND)).await.unwrap();
    assert_eq!(log_in(&world, SECOND, None).await, Outcome::Required, "it stays on");

    let user = find(&world, &ann).await;
    let issued = world.logins.remove_second_factor_of(&user).await.unwrap().unwrap();
    assert!(world.logins.remove_second_factor_of(&user).await.unwrap().is_none());
    assert_eq!(log_in(&world, SECOND, None).await, Outcome::Wrong, "somebody else may know it");
    let program = SessionKind::Program;
    world.logins.reset_password(&issued.token, password(FIRST), program).await.unwrap();
    assert_eq!(log_in(&world, FIRST, None).await, Outcome::Open);
    let log = log_of(&world, None, None).await;
    let removed = log.iter().find(|entry| entry.action == Did::SecondFactorRemoved).unwrap();
    assert_eq!(removed.actor, RecordedActor::Operator);
    let set = log.iter().filter(|entry| entry.action == Did::PasswordSet);
    let by_operator = set.filter(|entry| entry.actor == RecordedActor::Operator).count();
    assert_eq!(by_operator, 1, "the others were set by the user");
}

/// Whoever has used up the tries of the codes does not lock the owner out.
pub async fn a_recovery_code_is_no_guess(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let (_, recovery) = set_up(&world, &ann).await;
    let command = log_in_with(FIRST, Some(&recovery[0]));
    assert!(world.logins.log_in_if(command, |_, guess| guess == Guess::Password).await.is_ok());
}

pub async fn a_second_factor_ends_with_its_user(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let user = find(&world, &ann).await;
    set_up(&world, &ann).await;
    world.administration.delete_user(&world.accounts, ann.id, true).await.unwrap();
    assert_eq!(world.stores.logins.find_second_factor(ann.id).await.unwrap(), None);
    assert!(world.logins.remove_second_factor_of(&user).await.unwrap().is_none());
}
