//! Invitations: who makes them, and who comes in by them.

use std::sync::Arc;
use std::time::Duration;

use domain::account::CreateUserError;
use domain::id::{InvitationId, UserId};
use domain::organization::{
    Authority, DEFAULT_INVITATION_LIFETIME, InvitationRefused, InvitationStatus, Invite, InviteError,
    Invited, ListInvitationsError, MAX_INVITATION_LIFETIME, MAX_INVITATIONS, OrganizationRole,
    RevokeInvitationError,
};
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;

use crate::{TestUser, World};

const ALL: PageRequest = PageRequest { slice: Slice::Numbered { number: 1, size: 100 }, count: true };

/// On this user's word.
fn by(user: &TestUser) -> Authority {
    Authority::Admin(user.caller)
}

async fn invite(world: &World, by: Authority) -> Invited {
    world.organizations.invite(by, Invite::default()).await.unwrap()
}

/// The organization of a user, and the role in it.
async fn role(world: &World, user: UserId) -> OrganizationRole {
    world.stores.accounts.find_user(user).await.unwrap().unwrap().organization_role
}

/// Why a guest of this handle was not let in.
async fn refused(world: &World, handle: &str, token: &str) -> InvitationRefused {
    match world.guest(handle, token).await {
        Err(CreateUserError::Invitation(refused)) => refused,
        other => panic!("{other:?}"),
    }
}

/// Into the organization and the role that it says, and never again; nothing is left of who was not let in.
pub async fn an_invitation_admits_one_guest_once(world: World) {
    let ann = world.user("ann").await;
    let invited = invite(&world, by(&ann)).await;
    let token = invited.token.reveal();
    assert!(token.starts_with("thnv_i_"));
    assert_eq!(invited.invitation.created_by, Some(ann.id));
    assert_eq!(invited.invitation.expires_at, world.clock.now().plus(DEFAULT_INVITATION_LIFETIME));
    world.clock.advance(Duration::from_secs(1));
    let ben = world.guest("ben", token).await.unwrap();
    assert_eq!(ben.caller.organization, ann.caller.organization);
    assert_eq!(role(&world, ben.id).await, OrganizationRole::Member);
    assert_eq!(role(&world, ann.id).await, OrganizationRole::Admin, "who made it");
    let listed = world.organizations.list_invitations(by(&ann), ALL).await.unwrap().rows;
    assert_eq!(listed[0].accepted, Some((world.clock.now(), ben.id)));
    assert_eq!(listed[0].status(world.clock.now()), InvitationStatus::Accepted);

    assert_eq!(refused(&world, "cai", token).await, InvitationRefused::Accepted);
    assert_eq!(refused(&world, "cai", "thnv_i_nothing").await, InvitationRefused::Unknown);
    assert_eq!(refused(&world, "cai", &ann.key).await, InvitationRefused::Unknown);
    assert!(world.accounts.authenticate(token).await.is_err(), "it opens nothing else");
    let cai = world.user("cai").await;
    assert_ne!(cai.caller.organization, ann.caller.organization);
    // Whose handle is taken uses nothing up.
    let admin = Invite { role: OrganizationRole::Admin, ..Invite::default() };
    let invited = world.organizations.invite(by(&ann), admin).await.unwrap();
    let refused = world.guest("cai", invited.token.reveal()).await;
    assert!(matches!(refused, Err(CreateUserError::HandleTaken)), "{refused:?}");
    let dan = world.guest("dan", invited.token.reveal()).await.unwrap();
    assert_eq!(role(&world, dan.id).await, OrganizationRole::Admin);
}

/// Not who has another address, not after its time, not when it was revoked.
pub async fn an_open_invitation_admits_only_its_addressee(world: World) {
    let ann = world.user("ann").await;
    let bound = Invite { email: Some("BEN@example.org".to_owned()), ..Invite::default() };
    let bound = world.organizations.invite(by(&ann), bound).await.unwrap();
    assert_eq!(bound.invitation.email.as_deref(), Some("BEN@example.org"));
    assert_eq!(refused(&world, "cai", bound.token.reveal()).await, InvitationRefused::OtherAddress);
    world.guest("ben", bound.token.reveal()).await.unwrap();

    let revoked = invite(&world, by(&ann)).await;
    let record = world.organizations.revoke_invitation(by(&ann), revoked.invitation.id).await.unwrap();
    assert_eq!(record.revoked_at, Some(world.clock.now()));
    assert_eq!(refused(&world, "cai", revoked.token.reveal()).await, InvitationRefused::Revoked);

    let until = world.clock.now().plus(Duration::from_secs(60));
    let brief = Invite { expires_at: Some(until), ..Invite::default() };
    let brief = world.organizations.invite(by(&ann), brief).await.unwrap();
    world.clock.advance(Duration::from_secs(60));
    assert_eq!(refused(&world, "cai", brief.token.reveal()).await, InvitationRefused::Expired);
    for (expires_at, late) in [
        (world.clock.now(), false),
        (world.clock.now().plus(MAX_INVITATION_LIFETIME).plus(Duration::from_micros(1)), true),
    ] {
        let command = Invite { expires_at: Some(expires_at), ..Invite::default() };
        let outcome = world.organizations.invite(by(&ann), command).await;
        let as_expected = match &outcome {
            Err(InviteError::ExpiryPast) => !late,
            Err(InviteError::ExpiryTooLate) => late,
            _ => false,
        };
        assert!(as_expected, "{outcome:?}");
    }
}

/// However many try at the same moment.
pub async fn concurrent_guests_with_one_token_admit_one(world: World) {
    let ann = world.user("ann").await;
    let token = invite(&world, by(&ann)).await.token.reveal().to_owned();
    let world = Arc::new(world);
    let guests = (0..8).map(|number| {
        let (world, token) = (world.clone(), token.clone());
        tokio::spawn(async move { world.guest(&format!("guest-{number}"), &token).await })
    });
    let mut came = 0;
    for guest in guests.collect::<Vec<_>>() {
        match guest.await.unwrap() {
            Ok(_) => came += 1,
            Err(CreateUserError::Invitation(InvitationRefused::Accepted)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(came, 1);
    let organizations = world.plans.organizations().await.unwrap();
    assert_eq!(organizations.iter().map(|row| row.users).sum::<u64>(), 2, "nothing is left of the others");
}

/// Members make, see and revoke none, admins of another organization none of this one.
pub async fn only_admins_manage_invitations(world: World) {
    let (ann, zoe) = (world.user("ann").await, world.user("zoe").await);
    let ben = world.colleague("ben", "ann").await;
    let invited = invite(&world, by(&ann)).await.invitation;
    let outcome = world.organizations.invite(by(&ben), Invite::default()).await;
    assert!(matches!(outcome, Err(InviteError::NotAdmin(_))), "{outcome:?}");
    let outcome = world.organizations.list_invitations(by(&ben), ALL).await;
    assert!(matches!(outcome, Err(ListInvitationsError::NotAdmin(_))), "{outcome:?}");
    let outcome = world.organizations.revoke_invitation(by(&ben), invited.id).await;
    assert!(matches!(outcome, Err(RevokeInvitationError::NotAdmin(_))), "{outcome:?}");

    assert_eq!(world.organizations.list_invitations(by(&zoe), ALL).await.unwrap().rows, []);
    let outcome = world.organizations.revoke_invitation(by(&zoe), invited.id).await;
    assert!(matches!(outcome, Err(RevokeInvitationError::NotFound)), "{outcome:?}");
    // The operator rules everywhere, but an id is looked for where it was said to be.
    let operator = Authority::Operator(ann.caller.organization);
    let by_operator = invite(&world, operator).await.invitation;
    assert_eq!((by_operator.created_by, by_operator.organization), (None, ann.caller.organization));
    let elsewhere = Authority::Operator(zoe.caller.organization);
    let outcome = world.organizations.revoke_invitation(elsewhere, invited.id).await;
    assert!(matches!(outcome, Err(RevokeInvitationError::NotFound)), "{outcome:?}");
    world.organizations.revoke_invitation(operator, invited.id).await.unwrap();
    let outcome = world.organizations.revoke_invitation(by(&ann), invited.id).await;
    assert!(matches!(outcome, Err(RevokeInvitationError::NotFound)), "once: {outcome:?}");
}

/// Whatever became of them, each once.
pub async fn invitations_are_listed_newest_first(world: World) {
    let (ann, zoe) = (world.user("ann").await, world.user("zoe").await);
    let mut made = Vec::new();
    for number in 0..5_u64 {
        world.clock.advance(Duration::from_secs(number / 2));
        made.push(invite(&world, by(&ann)).await.invitation.id);
        invite(&world, by(&zoe)).await;
    }
    world.organizations.revoke_invitation(by(&ann), made[3]).await.unwrap();
    made.reverse();
    let (mut seen, mut after) = (Vec::<InvitationId>::new(), None);
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
        let page = world.organizations.list_invitations(by(&ann), page).await.unwrap();
        seen.extend(page.rows.iter().map(|one| one.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, made);
    let page = world.organizations.list_invitations(by(&ann), ALL).await.unwrap();
    assert_eq!((page.total, page.rows.len()), (Some(5), 5));
}

/// At once; what expired or was revoked makes room.
pub async fn the_number_of_open_invitations_is_limited(world: World) {
    let ann = world.user("ann").await;
    let until = world.clock.now().plus(Duration::from_secs(60));
    let brief = Invite { expires_at: Some(until), ..Invite::default() };
    let first = world.organizations.invite(by(&ann), brief.clone()).await.unwrap().invitation.id;
    let attempts = (0..MAX_INVITATIONS + 5).map(|_| {
        let (organizations, by, brief) = (world.organizations.clone(), by(&ann), brief.clone());
        tokio::spawn(async move { organizations.invite(by, brief).await })
    });
    let mut made = 1;
    for attempt in attempts.collect::<Vec<_>>() {
        match attempt.await.unwrap() {
            Ok(_) => made += 1,
            Err(InviteError::TooMany) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(made, MAX_INVITATIONS);
    world.organizations.revoke_invitation(by(&ann), first).await.unwrap();
    invite(&world, by(&ann)).await;
    assert!(world.organizations.invite(by(&ann), brief).await.is_err());
    world.clock.advance(Duration::from_secs(60));
    invite(&world, by(&ann)).await;
}
