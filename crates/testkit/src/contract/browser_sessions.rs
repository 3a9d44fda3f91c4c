//! Sessions of the console in a browser.

use std::time::Duration;

use domain::account::{AuthenticateError, CreateKey, KeyScope, PresentedKey, UserHandle};
use domain::change::Change;
use domain::id::ParticipantId;
use domain::login::{KeyLogInError, LoggedIn, Password, RefreshError, SESSION_LIFETIME, SessionKind};
use domain::ports::Clock;

use super::logins::{changes_since, is_good, session_of};
use crate::{TestUser, World};

const MINUTE: Duration = Duration::from_secs(60);

/// A minute less than the session lives without being used.
const ALMOST: Duration = SESSION_LIFETIME.saturating_sub(MINUTE);

/// Logs in as a browser does, with a new password.
async fn log_in(world: &World, handle: &str) -> LoggedIn {
    let reset = world.logins.issue_reset(&UserHandle::new(handle).unwrap()).await.unwrap();
    let password = Password::new("correct horse".to_owned()).unwrap();
    world.logins.reset_password(&reset.token, password, SessionKind::Browser).await.unwrap()
}

async fn resume(world: &World, token: &str) -> Option<LoggedIn> {
    match world.logins.resume(token).await {
        Ok(open) => Some(open),
        Err(RefreshError::Unknown) => None,
        Err(other) => panic!("{other}"),
    }
}

/// A key of the user, as it is presented.
async fn key(world: &World, user: &TestUser, command: CreateKey) -> PresentedKey {
    let created = world.accounts.create_key(user.id, command).await.unwrap();
    world.accounts.authenticate(created.key.reveal()).await.unwrap().presented.key().unwrap()
}

/// Several tabs continue it at the same time.
pub async fn a_browsers_session_continues_with_the_same_token(world: World) {
    let ann = world.user("ann").await;
    let open = log_in(&world, "ann").await;
    let tabs = tokio::join!(resume(&world, &open.refresh_token), resume(&world, &open.refresh_token));
    for tab in [tabs.0.unwrap(), tabs.1.unwrap()] {
        assert_eq!(session_of(&tab), session_of(&open));
        assert_eq!(tab.refresh_token, open.refresh_token);
        assert!(is_good(&world, &tab).await);
    }
    assert!(resume(&world, "thnv_s_unknown").await.is_none());
    // It is no refresh token, nor the beginning of one.
    for text in [open.refresh_token.clone(), format!("{}.{}", open.refresh_token, open.refresh_token)] {
        assert!(matches!(world.logins.refresh(&text).await, Err(RefreshError::Unknown)));
    }
    let began = world.clock.now();
    let used_at = async || world.logins.list_sessions(ann.caller).await.unwrap()[0].used_at;
    world.clock.advance(MINUTE / 2);
    assert!(resume(&world, &open.refresh_token).await.is_some());
    assert_eq!(used_at().await, began, "it is recorded once a minute");
    world.clock.advance(ALMOST);
    assert!(resume(&world, &open.refresh_token).await.is_some());
    assert_eq!(used_at().await, world.clock.now());
    world.clock.advance(ALMOST);
    assert!(resume(&world, &open.refresh_token).await.is_some(), "each use counts");
    world.clock.advance(SESSION_LIFETIME);
    assert!(resume(&world, &open.refresh_token).await.is_none(), "it was unused for too long");
}

/// A program's session cannot be continued with the part that its tokens have in common.
pub async fn a_programs_session_is_not_a_browsers(world: World) {
    world.user("ann").await;
    let reset = world.logins.issue_reset(&UserHandle::new("ann").unwrap()).await.unwrap();
    let password = Password::new("correct horse".to_owned()).unwrap();
    let open = world.logins.reset_password(&reset.token, password, SessionKind::Program).await.unwrap();
    let (family, _) = open.refresh_token.split_once('.').unwrap();
    assert!(resume(&world, family).await.is_none());
    assert!(resume(&world, &open.refresh_token).await.is_none());
    assert!(world.logins.refresh(&open.refresh_token).await.is_ok(), "it was not ended by that");
}

/// By logging out, and by another password.
pub async fn the_end_of_a_browsers_session(world: World) {
    world.user("ann").await;
    let open = log_in(&world, "ann").await;
    world.logins.log_out(&open.refresh_token).await.unwrap();
    assert!(resume(&world, &open.refresh_token).await.is_none());
    assert!(!is_good(&world, &open).await);
    assert!(matches!(world.logins.log_out(&open.refresh_token).await, Err(RefreshError::Unknown)));
    let open = log_in(&world, "ann").await;
    let again = log_in(&world, "ann").await;
    assert!(resume(&world, &open.refresh_token).await.is_none(), "the password has changed");
    assert!(resume(&world, &again.refresh_token).await.is_some());
}

/// Also for a user without a password. What the session has opened ends with the key, on every server.
pub async fn a_key_opens_a_session_that_ends_with_it(world: World) {
    let ann = world.user("ann").await;
    let own = key(&world, &ann, CreateKey::default()).await;
    let open = world.logins.log_in_with_key(ann.caller, own, None).await.unwrap();
    let resumed = resume(&world, &open.refresh_token).await.unwrap();
    assert!(is_good(&world, &resumed).await);
    let before = world.stores.changes.newest_change().await.unwrap();
    world.accounts.revoke_key(ann.caller, own.id).await.unwrap();
    assert!(resume(&world, &open.refresh_token).await.is_none());
    let ended = Change::SessionEnded(session_of(&open));
    assert!(changes_since(&world, before).await.contains(&ended));
    let refused = world.logins.log_in_with_key(ann.caller, own, None).await;
    assert!(matches!(refused, Err(KeyLogInError::Revoked)));

    let until = world.clock.now().plus(MINUTE * 10);
    let short = key(&world, &ann, CreateKey { expires_at: Some(until), ..CreateKey::default() }).await;
    let open = world.logins.log_in_with_key(ann.caller, short, None).await.unwrap();
    world.clock.advance(MINUTE * 5);
    assert!(resume(&world, &open.refresh_token).await.is_some());
    world.clock.advance(MINUTE * 5);
    assert!(resume(&world, &open.refresh_token).await.is_none(), "its key has expired");
    let outcome = world.logins.log_in_with_key(ann.caller, short, None).await;
    assert!(matches!(outcome, Err(KeyLogInError::Revoked)));
}

/// The session of a limited key would be more than the key.
pub async fn a_limited_key_opens_no_session(world: World) {
    let ann = world.user("ann").await;
    let scope = KeyScope { is_read_only: true, ..KeyScope::default() };
    let limited = key(&world, &ann, CreateKey { scope, ..CreateKey::default() }).await;
    let refused = world.logins.log_in_with_key(ann.caller, limited, None).await;
    assert!(matches!(refused, Err(KeyLogInError::Scoped)));
    assert_eq!(world.logins.list_sessions(ann.caller).await.unwrap(), []);
}

/// A disabled user is logged out.
pub async fn a_disabled_user_has_no_browser_session(world: World) {
    let ann = world.user("ann").await;
    let open = log_in(&world, "ann").await;
    world.administration.set_disabled(ParticipantId::User(ann.id), true).await.unwrap();
    assert!(resume(&world, &open.refresh_token).await.is_none());
    let outcome = world.tokens.authenticate(&open.access.token).await;
    assert!(matches!(outcome, Err(AuthenticateError::Disabled(_) | AuthenticateError::Unauthorized)));
}
