//! Passwords, sessions and reset tokens.

use std::time::Duration;

use domain::account::{AuthenticateError, KeyDigest, UserHandle};
use domain::change::Change;
use domain::id::{ParticipantId, SessionId};
use domain::login::{
    ChangePasswordError, IssueResetError, LogIn, LogInError, LoggedIn, NewSession, Password, PasswordHash,
    RESET_LIFETIME, RefreshError, ResetPasswordError, SESSION_LIFETIME, SetPassword, TypedName, WhichLogin,
};
use domain::ports::Clock;
use domain::store::Announce;
use uuid::Uuid;

use crate::{FixedHasher, TestUser, World};

const FIRST: &str = "correct horse";
const SECOND: &str = "battery staple";

fn password(text: &str) -> Password {
    Password::new(text.to_owned()).unwrap()
}

async fn log_in(world: &World, name: &str, text: &str) -> Option<LoggedIn> {
    let command = LogIn {
        name: TypedName::new(name),
        password: Password::typed(text.to_owned()).unwrap(),
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

async fn is_good(world: &World, open: &LoggedIn) -> bool {
    match world.tokens.authenticate(&open.access.token).await {
        Ok(_) => true,
        Err(AuthenticateError::Unauthorized) => false,
        Err(other) => panic!("{other}"),
    }
}

/// A user with a password, set by a reset token.
async fn user_with_password(world: &World, handle: &str) -> TestUser {
    let user = world.user(handle).await;
    let reset = world.logins.issue_reset(&UserHandle::new(handle).unwrap()).await.unwrap();
    world.logins.reset_password(&reset.token, password(FIRST)).await.unwrap();
    user
}

/// By handle or by address, in any case; never without a password.
pub async fn who_knows_the_password_is_let_in(world: World) {
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

/// Whoever has guessed too much is answered as with a wrong password, by either name and with the right one.
pub async fn a_used_up_account_answers_like_a_wrong_password(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let by = async |name: &str, allowed: bool| {
        let command = LogIn { name: TypedName::new(name), password: password(FIRST), address: None };
        let mut asked = None;
        let outcome = world.logins.log_in_if(command, |user| allowed && asked.insert(user) == &user).await;
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
pub async fn an_outdated_hash_is_made_anew(world: World) {
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
pub async fn a_refresh_token_is_good_once(world: World) {
    user_with_password(&world, "ann").await;
    let (first, other) =
        (log_in(&world, "ann", FIRST).await.unwrap(), log_in(&world, "ann", FIRST).await.unwrap());
    world.clock.advance(Duration::from_secs(60));
    let second = refresh(&world, &first.refresh_token).await.unwrap();
    assert!(is_good(&world, &second).await && second.refresh_expires_at > first.refresh_expires_at);
    let third = refresh(&world, &second.refresh_token).await.unwrap();
    assert!(refresh(&world, &first.refresh_token).await.is_none());
    assert!(refresh(&world, &third.refresh_token).await.is_none(), "the session is over");
    let other = refresh(&world, &other.refresh_token).await.unwrap();
    for wrong in ["", "x", ".", "x.y", &format!("{}x", first.refresh_token)] {
        assert!(refresh(&world, wrong).await.is_none(), "{wrong:?}");
    }
    // Nobody goes on with it for too long.
    world.clock.advance(SESSION_LIFETIME);
    assert!(refresh(&world, &other.refresh_token).await.is_none());
}

/// Of many who show one token at once at most one goes on, and then the session is over.
pub async fn a_refresh_token_at_the_same_moment(world: World) {
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

pub async fn who_logs_out_is_out(world: World) {
    user_with_password(&world, "ann").await;
    let (open, other) =
        (log_in(&world, "ann", FIRST).await.unwrap(), log_in(&world, "ann", FIRST).await.unwrap());
    world.logins.log_out(&open.refresh_token).await.unwrap();
    for over in [&open.refresh_token, "nothing", ""] {
        assert!(matches!(world.logins.log_out(over).await, Err(RefreshError::Unknown)));
    }
    assert!(refresh(&world, &open.refresh_token).await.is_none());
    let next = refresh(&world, &other.refresh_token).await.unwrap();
    // Somebody else has exchanged the token: that ends as well.
    world.logins.log_out(&other.refresh_token).await.unwrap();
    assert!(refresh(&world, &next.refresh_token).await.is_none());
}

/// One password is told from another by when it was set: a hash that is made anew is the same password, and whoever
/// has looked at one that was replaced meanwhile neither gets in nor sets another.
pub async fn what_was_looked_at_meanwhile_counts_no_more(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let (store, now) = (world.stores.logins.clone(), world.clock.now());
    let known = store.find_login(WhichLogin::User(ann.id)).await.unwrap().unwrap().password.unwrap();
    let begin = |number: u8, password_set_at| {
        let digest = |half: u8| KeyDigest::new([number * 2 + half; 32]);
        store.begin_session(NewSession {
            id: SessionId::new(Uuid::from_u128(number.into())),
            user: ann.id,
            password_set_at,
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
        let command = SetPassword { user: ann.id, password, replaces, now };
        store.set_password(command, Announce::nothing())
    };
    let holder = set("another", Some(known.set_at)).await.unwrap().unwrap();
    assert!(begin(2, known.set_at).await.unwrap().is_none());
    assert_eq!(set("too late", Some(known.set_at)).await.unwrap(), None);
    assert!(begin(3, holder.password_set_at).await.unwrap().is_some());
    let stored = store.find_login(WhichLogin::User(ann.id)).await.unwrap().unwrap().password.unwrap();
    assert_eq!((stored.hash.as_str(), stored.set_at), ("another", holder.password_set_at));
}

/// What others have opened ends, their access tokens too; the log tells every server.
pub async fn another_password_ends_what_was_open(world: World) {
    let ann = user_with_password(&world, "ann").await;
    user_with_password(&world, "ben").await;
    let (open, bens) =
        (log_in(&world, "ann", FIRST).await.unwrap(), log_in(&world, "ben", FIRST).await.unwrap());
    world.clock.advance(Duration::from_secs(2));
    let wrong = world.logins.change_password(ann.caller, password(SECOND), password(SECOND)).await;
    assert!(matches!(wrong, Err(ChangePasswordError::Wrong)));
    assert!(is_good(&world, &open).await);
    let start = world.stores.changes.newest_change().await.unwrap();
    let new = world.logins.change_password(ann.caller, password(FIRST), password(SECOND)).await.unwrap();
    assert!(is_good(&world, &new).await && !is_good(&world, &open).await && is_good(&world, &bens).await);
    assert!(refresh(&world, &open.refresh_token).await.is_none());
    assert!(refresh(&world, &new.refresh_token).await.is_some());
    assert!(refresh(&world, &bens.refresh_token).await.is_some());
    assert!(log_in(&world, "ann", FIRST).await.is_none() && log_in(&world, "ann", SECOND).await.is_some());
    assert!(world.accounts.authenticate(&ann.key).await.is_ok(), "keys stay good");
    let log = world.stores.changes.changes_after(start, 10).await.unwrap();
    let log = log.into_iter().filter_map(|entry| entry.change).collect::<Vec<Change>>();
    let set_at = world.stores.accounts.find_standing(ann.id).await.unwrap().unwrap().password_set_at;
    assert_eq!(log, [Change::TokensEnded { user: ann.id, password_set_at: set_at.unwrap() }]);
}

/// Once, for a day, and only the newest.
pub async fn a_reset_token_is_good_once(world: World) {
    let ann = world.user("ann").await;
    let handle = UserHandle::new("ann").unwrap();
    let nobody = world.logins.issue_reset(&UserHandle::new("nobody").unwrap()).await;
    assert!(matches!(nobody, Err(IssueResetError::NoSuchUser)));
    let issue = async || world.logins.issue_reset(&handle).await.unwrap().token;
    let set = async |token: &str, text: &str| match world.logins.reset_password(token, password(text)).await {
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

/// What has expired goes little by little; nobody has more sessions than anybody may.
pub async fn old_sessions_are_forgotten(world: World) {
    user_with_password(&world, "ann").await;
    let first = log_in(&world, "ann", FIRST).await.unwrap();
    for _ in 0..100 {
        world.clock.advance(Duration::from_secs(1));
        log_in(&world, "ann", FIRST).await.unwrap();
    }
    assert!(refresh(&world, &first.refresh_token).await.is_none(), "the longest unused has ended");
    assert_eq!(world.logins.forget_some().await.unwrap(), 0);
    world.clock.advance(SESSION_LIFETIME);
    let mut gone = 0;
    loop {
        match world.logins.forget_some().await.unwrap() {
            0 => break,
            some => gone += some,
        }
    }
    assert_eq!(gone, 100);
}

/// Neither with the password nor with what a session has; afterwards both are good again.
pub async fn who_is_disabled_does_not_log_in(world: World) {
    let ann = user_with_password(&world, "ann").await;
    let open = log_in(&world, "ann", FIRST).await.unwrap();
    let who = ParticipantId::User(ann.id);
    world.administration.set_disabled(who, true).await.unwrap();
    assert!(log_in(&world, "ann", FIRST).await.is_none());
    assert!(refresh(&world, &open.refresh_token).await.is_none());
    world.administration.set_disabled(who, false).await.unwrap();
    assert!(log_in(&world, "ann", FIRST).await.is_some());
    assert!(refresh(&world, &open.refresh_token).await.is_some());
}
