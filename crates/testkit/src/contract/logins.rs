//! Passwords, sessions and reset tokens.

use std::time::Duration;

use domain::account::{AuthenticateError, KeyDigest, UserHandle};
use domain::audit::AuditAction;
use domain::change::{Change, ChangePosition};
use domain::event::DomainEvent;
use domain::id::{ParticipantId, SessionId};
use domain::login::{
    CONFIRMED_FOR, ConfirmError, EndSessionError, IssueResetError, LogIn, LogInError, LoggedIn, NewSession,
    Password, PasswordHash, RESET_LIFETIME, RefreshError, ResetPasswordError, SESSION_LIFETIME, SecondProof,
    SessionKind, SessionProof, SetPassword, TypedName, WhichLogin,
};
use domain::ports::Clock;
use domain::store::OnCommit;
use uuid::Uuid;

use super::audit::log_of;
use crate::{FixedHasher, TestUser, World};

pub(super) const FIRST: &str = "correct horse";
pub(super) const SECOND: &str = "battery staple";

pub(super) fn password(text: &str) -> Password {
    Password::new(text.to_owned()).unwrap()
}

async fn log_in(world: &World, name: &str, text: &str) -> Option<LoggedIn> {
    let command = LogIn {
        name: TypedName::new(name),
        password: Password::typed(text.to_owned()).unwrap(),
        code: None,
        kind: SessionKind::Program,
        address: None,
    };
    match world.logins.log_in(command).await {
        Ok(open) => Some(open),
        Err(LogInError::Wrong) => None,
        Err(other) => panic!("{other}"),
    }
}

async fn refresh(world: &World, token: &str) -> Option<LoggedIn> {
    match world.logins.refresh(token).await {
        Ok(open) => Some(open),
        Err(RefreshError::Unknown) => None,
        Err(other) => panic!("{other}"),
    }
}

/// The entries of the change log after a position.
pub(super) async fn changes_since(world: &World, start: ChangePosition) -> Vec<Change> {
    let log = world.stores.changes.changes_after(start, 200).await.unwrap();
    log.into_iter().filter_map(|entry| entry.change).collect()
}

/// The session that an access token belongs to.
pub(super) fn session_of(open: &LoggedIn) -> SessionId {
    open.access.claims.session.unwrap()
}

pub(super) async fn is_good(world: &World, open: &LoggedIn) -> bool {
    match world.tokens.authenticate(&open.access.token).await {
        Ok(_) => true,
        Err(AuthenticateError::Unauthorized) => false,
        Err(other) => panic!("{other}"),
    }
}

/// A user with the password [`FIRST`], set by a reset token.
pub(super) async fn user_with_password(world: &World, handle: &str) -> TestUser {
    let user = world.user(handle).await;
    let reset = world.logins.issue_reset(&UserHandle::new(handle).unwrap()).await.unwrap();
    world.logins.reset_password(&reset.token, password(FIRST), SessionKind::Program).await.unwrap();
    user
}

/// By handle or by address, in any case; never without a password.
pub async fn the_right_password_logs_in(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let ben = world.user("ben").await;
    for name in ["ann", "@ann", " ANN ", "@ ann", "ann@example.org", "ANN@Example.ORG"] {
        let open = log_in(&world, name, FIRST).await.unwrap();
        assert_eq!(open.access.user.id, ann.id);
        assert!(is_good(&world, &open).await);
    }
    for (name, text) in [
        ("ann", "Correct horse"),
        ("ann", ""),
        ("ben", FIRST),
        ("ben@example.org", FIRST),
        ("nobody", FIRST),
        ("nobody@example.org", FIRST),
        ("", FIRST),
        ("a!\0", FIRST),
        ("\0@x", FIRST),
    ] {
        assert!(log_in(&world, name, text).await.is_none(), "{name:?} {text:?}");
    }
    assert_eq!(
        world.stores.logins.find_login(WhichLogin::User(ben.id)).await.unwrap().unwrap().password,
        None
    );
}

/// After too many guesses, both names get the response of a wrong password, even with the right one.
pub async fn a_used_up_account_answers_like_a_wrong_password(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let by = async |name: &str, allowed: bool| {
        let command = LogIn {
            name: TypedName::new(name),
            password: password(FIRST),
            code: None,
            kind: SessionKind::Program,
            address: None,
        };
        let mut asked = None;
        let outcome = world.logins.log_in_if(command, |user, _| allowed && asked.insert(user) == &user).await;
        (outcome.is_ok(), matches!(outcome, Err(LogInError::Wrong)), asked)
    };
    for name in ["ann", "ann@example.org"] {
        assert_eq!(by(name, true).await, (true, false, Some(ann.id)));
        assert_eq!(by(name, false).await, (false, true, None));
    }
    for nobody in ["nobody", "nobody@example.org", "no name"] {
        assert_eq!(by(nobody, true).await, (false, true, None));
    }
}

/// A hash of older costs is made anew when its password comes by, and is the same password.
pub async fn an_outdated_hash_is_replaced(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let hash = async || {
        world.stores.logins.find_login(WhichLogin::User(ann.id)).await.unwrap().unwrap().password.unwrap()
    };
    let before = hash().await;
    assert!(log_in(&world, "ann", FIRST).await.is_some());
    assert_eq!(hash().await, before);
    FixedHasher::raise_costs(&world.hasher);
    assert!(log_in(&world, "ann", SECOND).await.is_none());
    assert_eq!(hash().await, before);
    assert!(log_in(&world, "ann", FIRST).await.is_some());
    assert_ne!(hash().await, before);
    assert!(log_in(&world, "ann", FIRST).await.is_some());
}

/// Each refresh token is good once; shown again, its session is over, and no other.
pub async fn a_refresh_token_works_once(world: World) {
    user_with_password(&world, "ann").await;
    let (first, other) =
        (log_in(&world, "ann", FIRST).await.unwrap(), log_in(&world, "ann", FIRST).await.unwrap());
    world.clock.advance(Duration::from_secs(60));
    let second = refresh(&world, &first.refresh_token).await.unwrap();
    assert!(is_good(&world, &second).await && second.refresh_expires_at > first.refresh_expires_at);
    let third = refresh(&world, &second.refresh_token).await.unwrap();
    assert_eq!([&second, &third].map(session_of), [session_of(&first); 2]);
    let start = world.stores.changes.newest_change().await.unwrap();
    world.publisher.take();
    assert!(refresh(&world, &first.refresh_token).await.is_none());
    assert!(refresh(&world, &third.refresh_token).await.is_none(), "the session is over");
    for over in [&first, &second, &third] {
        assert!(!is_good(&world, over).await);
    }
    assert!(is_good(&world, &other).await);
    assert_eq!(changes_since(&world, start).await, [Change::SessionEnded(session_of(&first))]);
    let published = world.publisher.take();
    assert!(
        matches!(&published[..], [DomainEvent::SessionEnded { session }] if *session == session_of(&first)),
        "{published:?}"
    );
    let other = refresh(&world, &other.refresh_token).await.unwrap();
    for wrong in ["", "x", ".", "x.y", &format!("{}x", first.refresh_token)] {
        assert!(refresh(&world, wrong).await.is_none(), "{wrong:?}");
    }
    // A session cannot be refreshed forever.
    world.clock.advance(SESSION_LIFETIME);
    assert!(refresh(&world, &other.refresh_token).await.is_none());
}

/// Of many who show one token at once at most one goes on, and then the session is over.
pub async fn concurrent_refreshes_with_one_token(world: World) {
    user_with_password(&world, "ann").await;
    let open = log_in(&world, "ann", FIRST).await.unwrap();
    let showing = (0..8).map(|_| {
        let (logins, token) = (world.logins.clone(), open.refresh_token.clone());
        tokio::spawn(async move { logins.refresh(&token).await })
    });
    let mut went_on = Vec::new();
    for outcome in showing.collect::<Vec<_>>() {
        match outcome.await.unwrap() {
            Ok(open) => went_on.push(open),
            Err(RefreshError::Unknown) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(went_on.len(), 1);
    assert!(refresh(&world, &went_on[0].refresh_token).await.is_none());
}

pub async fn logging_out_ends_the_session(world: World) {
    user_with_password(&world, "ann").await;
    let (open, other) =
        (log_in(&world, "ann", FIRST).await.unwrap(), log_in(&world, "ann", FIRST).await.unwrap());
    assert!(is_good(&world, &open).await);
    let start = world.stores.changes.newest_change().await.unwrap();
    world.logins.log_out(&open.refresh_token).await.unwrap();
    assert!(!is_good(&world, &open).await && is_good(&world, &other).await);
    assert_eq!(changes_since(&world, start).await, [Change::SessionEnded(session_of(&open))]);
    for over in [&open.refresh_token, "nothing", ""] {
        assert!(matches!(world.logins.log_out(over).await, Err(RefreshError::Unknown)));
    }
    assert!(refresh(&world, &open.refresh_token).await.is_none());
    let next = refresh(&world, &other.refresh_token).await.unwrap();
    // If another client has exchanged the token, its session ends as well.
    world.logins.log_out(&other.refresh_token).await.unwrap();
    assert!(refresh(&world, &next.refresh_token).await.is_none());
}

/// Only by their user: one, or all but one. Each end is announced and recorded once.
pub async fn users_list_and_end_their_sessions(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let ben = user_with_password(&world, "ben").await;
    world.logins.end_other_sessions(ann.caller, None).await.unwrap();
    let mut open = Vec::new();
    for _ in 0..4 {
        world.clock.advance(Duration::from_secs(1));
        open.push(log_in(&world, "ann", FIRST).await.unwrap());
    }
    let began = world.clock.now();
    world.clock.advance(Duration::from_secs(1));
    let oldest = refresh(&world, &open[0].refresh_token).await.unwrap();
    let listed = world.logins.list_sessions(ann.caller).await.unwrap();
    let ids = listed.iter().map(|session| session.id).collect::<Vec<_>>();
    assert_eq!(ids, [0, 3, 2, 1].map(|number| session_of(&open[number])), "the last used first");
    assert_eq!((listed[0].used_at, listed[0].expires_at), (world.clock.now(), oldest.refresh_expires_at));
    assert_eq!((listed[1].created_at, listed[1].used_at), (began, began));

    for (caller, session) in [
        (ben.caller, session_of(&open[1])),
        (ann.caller, SessionId::new(Uuid::from_u128(1))),
        (ann.caller, SessionId::new(Uuid::nil())),
    ] {
        let refused = world.logins.end_session(caller, session).await;
        assert!(matches!(refused, Err(EndSessionError::NotFound)), "{session}");
    }
    world.logins.end_other_sessions(ben.caller, Some(session_of(&open[1]))).await.unwrap();
    let start = world.stores.changes.newest_change().await.unwrap();
    world.publisher.take();
    world.logins.end_session(ann.caller, session_of(&open[1])).await.unwrap();
    let again = world.logins.end_session(ann.caller, session_of(&open[1])).await;
    assert!(matches!(again, Err(EndSessionError::NotFound)));
    assert!(!is_good(&world, &open[1]).await && refresh(&world, &open[1].refresh_token).await.is_none());
    world.logins.end_other_sessions(ann.caller, Some(session_of(&open[2]))).await.unwrap();
    assert!(!is_good(&world, &oldest).await && !is_good(&world, &open[3]).await);
    assert!(is_good(&world, &open[2]).await);
    let left = world.logins.list_sessions(ann.caller).await.unwrap();
    assert_eq!(left.iter().map(|session| session.id).collect::<Vec<_>>(), [session_of(&open[2])]);
    let ended = [1, 0, 3].map(|number| session_of(&open[number]));
    assert_eq!(changes_since(&world, start).await, ended.map(Change::SessionEnded));
    let published = world.publisher.take();
    let published = published.iter().map(|event| match event {
        DomainEvent::SessionEnded { session } => *session,
        other => panic!("{other:?}"),
    });
    assert_eq!(published.collect::<Vec<_>>(), ended);

    // One that has expired cannot go on, and is not listed.
    world.clock.advance(SESSION_LIFETIME);
    assert_eq!(world.logins.list_sessions(ann.caller).await.unwrap(), []);
}

/// A session that was opened a while ago makes no lasting credential without the password; keys and tokens of
/// the operator are good for that by themselves.
pub async fn sensitive_changes_require_the_password(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let open = log_in(&world, "ann", FIRST).await.unwrap();
    let session = world.tokens.authenticate(&open.access.token).await.unwrap().presented.session();
    assert_eq!(session.unwrap().began_at, world.clock.now());
    let confirm = async |session, current: Option<&str>| {
        let current = current.map(|text| Password::typed(text.to_owned()).unwrap());
        match world.logins.confirm(ann.caller, session, current).await {
            Ok(()) => "confirmed",
            Err(ConfirmError::Missing) => "missing",
            Err(ConfirmError::Wrong) => "wrong",
            Err(other) => panic!("{other}"),
        }
    };
    world.clock.advance(CONFIRMED_FOR.saturating_sub(Duration::from_micros(1)));
    assert_eq!(confirm(session, None).await, "confirmed");
    world.clock.advance(Duration::from_micros(1));
    // Going on is no log-in.
    let next = refresh(&world, &open.refresh_token).await.unwrap();
    let session = world.tokens.authenticate(&next.access.token).await.unwrap().presented.session();
    assert_eq!(confirm(session, None).await, "missing");
    assert_eq!(confirm(None, None).await, "confirmed");
    for session in [session, None] {
        assert_eq!(confirm(session, Some(SECOND)).await, "wrong");
        assert_eq!(confirm(session, Some(FIRST)).await, "confirmed");
    }
    world.logins.write_last_failures().await.unwrap();
    let log = log_of(&world, None, None).await;
    let failed = log.iter().filter(|entry| entry.action == AuditAction::LoginFailed);
    assert_eq!(failed.map(|entry| entry.detail.as_deref().unwrap()).collect::<Vec<_>>(), ["count=2"]);
}

/// A password is identified by the time at which it was set: a new hash of it is the same password. A caller
/// who has read a password that was replaced meanwhile can neither log in nor set another.
pub async fn a_password_replaced_meanwhile_opens_no_session(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let (store, now) = (world.stores.logins.clone(), world.clock.now());
    let known = store.find_login(WhichLogin::User(ann.id)).await.unwrap().unwrap().password.unwrap();
    let begin = |number: u8, password_set_at| {
        let digest = |half: u8| KeyDigest::new([number * 2 + half; 32]);
        store.begin_session(NewSession {
            id: SessionId::new(Uuid::from_u128(number.into())),
            user: ann.id,
            proof: SessionProof::Password(password_set_at, SecondProof::None),
            kind: SessionKind::Program,
            family: digest(0),
            token: digest(1),
            expires_at: now.plus(SESSION_LIFETIME),
            now,
            address: None,
        })
    };
    store.rehash(ann.id, known.hash.clone(), PasswordHash::new("anew".to_owned())).await.unwrap();
    assert!(begin(1, known.set_at).await.unwrap().is_some());

    let set = |text: &str, replaces| {
        let password = PasswordHash::new(text.to_owned());
        let command = SetPassword { user: ann.id, password, replaces, by: ann.id.into(), now };
        store.set_password(command, OnCommit::nothing())
    };
    let holder = set("another", Some(known.set_at)).await.unwrap().unwrap();
    assert!(begin(2, known.set_at).await.unwrap().is_none());
    assert_eq!(set("too late", Some(known.set_at)).await.unwrap(), None);
    assert!(begin(3, holder.password_set_at).await.unwrap().is_some());
    let stored = store.find_login(WhichLogin::User(ann.id)).await.unwrap().unwrap().password.unwrap();
    assert_eq!((stored.hash.as_str(), stored.set_at), ("another", holder.password_set_at));
}

/// Other sessions end with their access tokens; the change log reaches every server.
pub async fn a_changed_password_ends_open_sessions(world: World) {
    let ann = user_with_password(&world, "ann").await;
    user_with_password(&world, "ben").await;
    let (open, bens) =
        (log_in(&world, "ann", FIRST).await.unwrap(), log_in(&world, "ben", FIRST).await.unwrap());
    world.clock.advance(Duration::from_secs(2));
    let wrong = world.logins.change_password(ann.caller, password(SECOND), password(SECOND)).await;
    assert!(matches!(wrong, Err(ConfirmError::Wrong)));
    assert!(is_good(&world, &open).await);
    let start = world.stores.changes.newest_change().await.unwrap();
    let new = world.logins.change_password(ann.caller, password(FIRST), password(SECOND)).await.unwrap();
    assert!(is_good(&world, &new).await && !is_good(&world, &open).await && is_good(&world, &bens).await);
    assert!(refresh(&world, &open.refresh_token).await.is_none());
    assert!(refresh(&world, &new.refresh_token).await.is_some());
    assert!(refresh(&world, &bens.refresh_token).await.is_some());
    assert!(log_in(&world, "ann", FIRST).await.is_none() && log_in(&world, "ann", SECOND).await.is_some());
    assert!(world.accounts.authenticate(&ann.key).await.is_ok(), "keys stay good");
    let log = changes_since(&world, start).await;
    let set_at = world.stores.accounts.find_account_status(ann.id).await.unwrap().unwrap().password_set_at;
    assert_eq!(log, [Change::TokensEnded { user: ann.id, password_set_at: set_at.unwrap() }]);
}

/// Once, for a day, and only the newest.
pub async fn a_reset_token_works_once(world: World) {
    let ann = world.user("ann").await;
    let handle = UserHandle::new("ann").unwrap();
    let nobody = world.logins.issue_reset(&UserHandle::new("nobody").unwrap()).await;
    assert!(matches!(nobody, Err(IssueResetError::NoSuchUser)));
    let issue = async || world.logins.issue_reset(&handle).await.unwrap().token;
    let set = async |token: &str, text: &str| match world
        .logins
        .reset_password(token, password(text), SessionKind::Program)
        .await
    {
        Ok(open) => Some(open),
        Err(ResetPasswordError::Unknown) => None,
        Err(other) => panic!("{other}"),
    };
    let (older, newer) = (issue().await, issue().await);
    assert!(set(&older, FIRST).await.is_none() && set("nothing", FIRST).await.is_none());
    let open = set(&newer, FIRST).await.unwrap();
    assert_eq!(open.access.user.id, ann.id);
    assert!(set(&newer, SECOND).await.is_none());
    world.clock.advance(Duration::from_secs(2));
    let late = issue().await;
    world.clock.advance(RESET_LIFETIME);
    assert!(set(&late, SECOND).await.is_none());
    assert!(set(&issue().await, SECOND).await.is_some());
    assert!(refresh(&world, &open.refresh_token).await.is_none(), "what was open has ended");
    assert!(log_in(&world, "ann", FIRST).await.is_none() && log_in(&world, "ann", SECOND).await.is_some());
}

/// Expired sessions are deleted in steps, and the number of sessions of a user is bounded.
pub async fn old_sessions_are_forgotten(world: World) {
    user_with_password(&world, "ann").await;
    let first = log_in(&world, "ann", FIRST).await.unwrap();
    for _ in 0..98 {
        world.clock.advance(Duration::from_secs(1));
        log_in(&world, "ann", FIRST).await.unwrap();
    }
    // The first of all is that of the reset token.
    let start = world.stores.changes.newest_change().await.unwrap();
    for _ in 0..2 {
        world.clock.advance(Duration::from_secs(1));
        log_in(&world, "ann", FIRST).await.unwrap();
    }
    assert!(refresh(&world, &first.refresh_token).await.is_none(), "the longest unused has ended");
    assert!(!is_good(&world, &first).await);
    assert!(changes_since(&world, start).await.contains(&Change::SessionEnded(session_of(&first))));
    assert_eq!(world.logins.forget_some(world.clock.now()).await.unwrap(), 0);
    let start = world.stores.changes.newest_change().await.unwrap();
    world.clock.advance(SESSION_LIFETIME);
    let mut gone = 0;
    loop {
        match world.logins.forget_some(world.clock.now()).await.unwrap() {
            0 => break,
            some => gone += some,
        }
    }
    assert_eq!(gone, 100);
    let published = changes_since(&world, start).await;
    assert_eq!(published.iter().filter(|change| matches!(change, Change::SessionEnded(_))).count(), 100);
}

/// Neither with the password nor with what a session has; afterwards the password is good again, and the
/// session is over.
pub async fn a_disabled_user_cannot_log_in(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let open = log_in(&world, "ann", FIRST).await.unwrap();
    let who = ParticipantId::User(ann.id);
    let start = world.stores.changes.newest_change().await.unwrap();
    world.administration.set_disabled(who, true).await.unwrap();
    assert!(changes_since(&world, start).await.contains(&Change::SessionEnded(session_of(&open))));
    assert!(log_in(&world, "ann", FIRST).await.is_none());
    assert!(refresh(&world, &open.refresh_token).await.is_none());
    let reset = world.logins.issue_reset(&UserHandle::new("ann").unwrap()).await.unwrap();
    assert!(world.logins.reset_password(&reset.token, password(SECOND), SessionKind::Program).await.is_err());
    world.administration.set_disabled(who, false).await.unwrap();
    assert!(refresh(&world, &open.refresh_token).await.is_none());
    assert!(log_in(&world, "ann", FIRST).await.is_some(), "the password is the same");
    assert!(
        world.logins.reset_password(&reset.token, password(SECOND), SessionKind::Program).await.is_ok(),
        "the token was not used up"
    );
}
