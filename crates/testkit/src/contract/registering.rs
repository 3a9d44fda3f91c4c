//! Making an account of one's own.

use domain::account::{UserHandle, parse_email, parse_person_name};
use domain::audit::{AuditAction, AuditFilter, AuditObject, AuditScope};
use domain::id::ParticipantId;
use domain::login::{LogIn, LoggedIn, Password, Register, RegisterUserError, SessionKind};
use domain::login::{Registration, TypedName, WhichLogin};
use domain::organization::{Authority, InvitationRefused, Invite, OrganizationRole};
use domain::page::{PageRequest, Slice};
use domain::services::{Ports, Services};

use crate::World;

const ALL: PageRequest = PageRequest { slice: Slice::After { after: None, limit: 9 }, count: false };

fn wish(handle: &str, invitation: Option<&str>) -> Register {
    Register {
        handle: UserHandle::new(handle).unwrap(),
        email: parse_email(&format!("{handle}@example.org")).unwrap(),
        name: parse_person_name("Some Body").unwrap(),
        password: Password::new("correct horse".to_owned()).unwrap(),
        kind: SessionKind::Program,
        invitation: invitation.map(str::to_owned),
    }
}

async fn register(
    world: &World,
    handle: &str,
    invitation: Option<&str>,
) -> Result<LoggedIn, RegisterUserError> {
    world.logins.register(wish(handle, invitation)).await
}

async fn is_there(world: &World, handle: &str) -> bool {
    let which = WhichLogin::Handle(UserHandle::new(handle).unwrap());
    world.stores.logins.find_login(which).await.unwrap().is_some()
}

/// With an organization of their own, and nothing to come in with but the password.
pub async fn a_registered_user_is_logged_in(world: World) {
    let ann = world.user("ann").await;
    let open = register(&world, "ben", None).await.unwrap();
    let ben = open.access.user.clone();
    assert_ne!(ben.organization, ann.caller.organization);
    assert_eq!(ben.organization_role, OrganizationRole::Admin);
    world.tokens.authenticate(&open.access.token).await.unwrap();
    let again = LogIn {
        name: TypedName::new("ben"),
        password: Password::new("correct horse".to_owned()).unwrap(),
        code: None,
        kind: SessionKind::Program,
        address: None,
    };
    world.logins.log_in(again).await.unwrap();
    world.logins.refresh(&open.refresh_token).await.unwrap();
    assert!(world.accounts.list_keys(ParticipantId::User(ben.id), ALL).await.unwrap().rows.is_empty());
    let filter = AuditFilter::of(AuditScope::Of(Authority::Operator(ben.organization)));
    let log = world.stores.audit.list_audit(filter, ALL).await.unwrap().unwrap().rows;
    let made = log.iter().filter(|entry| entry.action != AuditAction::LoginSucceeded);
    let published = made.map(|entry| (entry.action, entry.actor.known().map(|actor| actor.object)));
    let expected = (AuditAction::UserCreated, Some(AuditObject::User(ben.id)));
    assert_eq!(published.collect::<Vec<_>>(), [expected], "by themselves");
    assert!(matches!(register(&world, "ben", None).await, Err(RegisterUserError::HandleTaken)));
    let same_address = Register { email: "BEN@example.org".to_owned(), ..wish("cat", None) };
    let same_address = world.logins.register(same_address).await;
    assert!(matches!(same_address, Err(RegisterUserError::EmailTaken)));
    assert!(!is_there(&world, "cat").await);
    register(&world, "cat", None).await.unwrap();
}

/// In the same moment in which the invitation is used up; who has none that is good learns nothing of
/// accounts.
pub async fn a_guest_registers_into_the_organization(world: World) {
    let ann = world.user("ann").await;
    let by = Authority::Admin(ann.caller);
    let invited = world.organizations.invite(by, Invite::default()).await.unwrap();
    let token = invited.token.reveal();
    let refused = async |handle: &str, token: &str| match register(&world, handle, Some(token)).await {
        Err(RegisterUserError::Invitation(refused)) => refused,
        other => panic!("{:?}", other.err()),
    };
    for handle in ["ann", "ben"] {
        assert_eq!(refused(handle, "thnv_i_nothing").await, InvitationRefused::Unknown);
    }
    assert!(matches!(register(&world, "ann", Some(token)).await, Err(RegisterUserError::HandleTaken)));
    let open = register(&world, "ben", Some(&format!(" {token} "))).await.unwrap();
    assert_eq!(open.access.user.organization, ann.caller.organization);
    assert_eq!(open.access.user.organization_role, OrganizationRole::Member);
    world.tokens.authenticate(&open.access.token).await.unwrap();
    for handle in ["ann", "cat"] {
        assert_eq!(refused(handle, token).await, InvitationRefused::Accepted);
    }
    assert!(!is_there(&world, "cat").await);
    let bound = Invite { email: Some("dan@example.org".to_owned()), ..Invite::default() };
    let bound = world.organizations.invite(by, bound).await.unwrap();
    assert_eq!(refused("cat", bound.token.reveal()).await, InvitationRefused::OtherAddress);
    register(&world, "dan", Some(bound.token.reveal())).await.unwrap();
}

/// With closed registration, an invitation does not help.
pub async fn the_operator_decides_who_may_register(world: World) {
    let ann = world.user("ann").await;
    let invited = world.organizations.invite(Authority::Admin(ann.caller), Invite::default()).await.unwrap();
    let token = Some(invited.token.reveal());
    let where_it_is = |registration| Services::new(Ports { registration, ..world.ports.clone() }).logins;
    let closed = where_it_is(Registration::Closed);
    for (handle, token) in [("ann", None), ("ben", None), ("ben", token)] {
        assert!(matches!(closed.register(wish(handle, token)).await, Err(RegisterUserError::Closed)));
    }
    let invited = where_it_is(Registration::Invitation);
    for handle in ["ann", "ben"] {
        let refused = invited.register(wish(handle, None)).await;
        assert!(matches!(refused, Err(RegisterUserError::NotInvited)));
    }
    assert!(!is_there(&world, "ben").await);
    invited.register(wish("ben", token)).await.unwrap();
}
