//! Members of an organization: their roles, and where they fall back to.

use std::time::Duration;

use domain::caller::UserCaller;
use domain::id::{OrganizationId, UserId};
use domain::organization::{
    Authority, CreateOrganizationError, Invite, LeaveError, OrganizationRole, RenameError, SetRoleError,
};
use domain::page::{PageRequest, Slice};
use domain::plan::{OrganizationName, PlanName, WhichOrganization};
use domain::ports::Clock;

use crate::{TestUser, World};

pub(super) const ALL: PageRequest =
    PageRequest { slice: Slice::Numbered { number: 1, size: 100 }, count: true };

/// On this user's word, who may have been moved.
pub(super) async fn by(world: &World, user: &TestUser) -> Authority {
    Authority::Admin(caller(world, user).await)
}

/// The user as a caller, where they are now.
pub(super) async fn caller(world: &World, user: &TestUser) -> UserCaller {
    let organization = world.stores.accounts.find_user(user.id).await.unwrap().unwrap().organization;
    UserCaller { user: user.id, organization }
}

/// Handles and roles of an organization, oldest first.
async fn roles(world: &World, organization: OrganizationId) -> Vec<(String, OrganizationRole)> {
    let page = world.organizations.list_members(organization, ALL).await.unwrap();
    assert_eq!(page.total, u64::try_from(page.rows.len()).ok());
    page.rows.into_iter().map(|member| (member.handle.as_str().to_owned(), member.role)).collect()
}

fn name(text: &str) -> OrganizationName {
    OrganizationName::new(text).unwrap()
}

/// An admin can step down or leave unless no other admin would be left for the members.
pub async fn an_organization_never_lacks_an_admin(world: World) {
    use OrganizationRole::{Admin, Member};
    let ann = world.user("ann").await;
    let anns = by(&world, &ann).await;
    let alone = world.organizations.set_role(anns, ann.id, Member).await;
    assert!(matches!(alone, Err(SetRoleError::LastAdmin(_))), "{alone:?}");
    let ben = world.colleague("ben", "ann").await;
    let house = ann.caller.organization;
    assert_eq!(roles(&world, house).await, [("ann".to_owned(), Admin), ("ben".to_owned(), Member)]);
    let stepping_down = world.organizations.set_role(anns, ann.id, Member).await;
    assert!(matches!(stepping_down, Err(SetRoleError::LastAdmin(_))), "{stepping_down:?}");
    for leaving in
        [world.organizations.leave(ann.caller).await, world.organizations.remove(anns, ann.id).await]
    {
        assert!(matches!(leaving, Err(LeaveError::LastAdmin(_))), "{leaving:?}");
    }
    let operator = Authority::Operator(house);
    let removed = world.organizations.remove(operator, ann.id).await;
    assert!(matches!(removed, Err(LeaveError::LastAdmin(_))), "by the operator too: {removed:?}");

    assert_eq!(world.organizations.set_role(anns, ben.id, Admin).await.unwrap().role, Admin);
    assert_eq!(world.organizations.set_role(anns, ann.id, Member).await.unwrap().role, Member);
    assert_eq!(roles(&world, house).await, [("ann".to_owned(), Member), ("ben".to_owned(), Admin)]);
    world.organizations.leave(ann.caller).await.unwrap();
    assert_eq!(roles(&world, house).await, [("ben".to_owned(), Admin)]);
}

/// Members give none, admins of another organization none here.
pub async fn only_admins_assign_roles(world: World) {
    let (ann, zoe) = (world.user("ann").await, world.user("zoe").await);
    let ben = world.colleague("ben", "ann").await;
    let role = OrganizationRole::Admin;
    for (who, member, is_known) in [(&ben, &ben, false), (&zoe, &ben, true), (&ann, &zoe, true)] {
        let outcome = world.organizations.set_role(by(&world, who).await, member.id, role).await;
        let as_expected = match &outcome {
            Err(SetRoleError::NotAdmin(_)) => !is_known,
            Err(SetRoleError::MemberNotFound) => is_known,
            _ => false,
        };
        assert!(as_expected, "{outcome:?}");
        let outcome = world.organizations.remove(by(&world, who).await, member.id).await;
        let as_expected = match &outcome {
            Err(LeaveError::NotAdmin(_)) => !is_known,
            Err(LeaveError::MemberNotFound) => is_known,
            _ => false,
        };
        assert!(as_expected, "{outcome:?}");
    }
    // Who was an admin elsewhere is not one here.
    let stale = Authority::Admin(UserCaller { organization: ann.caller.organization, ..zoe.caller });
    let outcome = world.organizations.set_role(stale, zoe.id, role).await;
    assert!(matches!(outcome, Err(SetRoleError::NotAdmin(_))), "{outcome:?}");
    world.organizations.set_role(by(&world, &ann).await, ben.id, role).await.unwrap();
    world.organizations.remove(by(&world, &ben).await, ann.id).await.unwrap();
    assert_eq!(roles(&world, ben.caller.organization).await, [("ben".to_owned(), role)]);
}

/// By admins, to a name that no other organization has in any case.
pub async fn organizations_are_renamed_once(world: World) {
    let ann = world.user("ann").await;
    let ben = world.colleague("ben", "ann").await;
    world.user("zoe").await;
    let outcome = world.organizations.rename(by(&world, &ben).await, name("Acme")).await;
    assert!(matches!(outcome, Err(RenameError::NotAdmin(_))), "{outcome:?}");
    let anns = by(&world, &ann).await;
    for (wished, taken) in [("ZOE", true), ("Acme", false), ("ACME", false), ("zoe", true)] {
        match world.organizations.rename(anns, name(wished)).await {
            Ok(renamed) => assert_eq!((taken, renamed.name.as_str()), (false, wished)),
            Err(RenameError::NameTaken) => assert!(taken, "{wished}"),
            Err(other) => panic!("{other:?}"),
        }
    }
    let shown = world.organizations.show(ben.caller).await.unwrap().unwrap();
    assert_eq!((shown.name.as_str(), shown.role, shown.members), ("ACME", OrganizationRole::Member, 2));
    assert_eq!(shown.plan.name, PlanName::enterprise());
    assert_eq!(shown.id, ann.caller.organization);

    let made = world.organizations.create(name("New"), None).await.unwrap();
    assert_eq!((made.name.as_str(), made.users), ("New", 0));
    let outcome = world.organizations.create(name("acme"), None).await;
    assert!(matches!(outcome, Err(CreateOrganizationError::NameTaken)), "{outcome:?}");
    let outcome = world.organizations.create(name("Other"), Some(PlanName::new("gone").unwrap())).await;
    assert!(matches!(outcome, Err(CreateOrganizationError::NoSuchPlan)), "{outcome:?}");
    let found = world.organizations.find(WhichOrganization::Named("NEW".to_owned())).await.unwrap();
    assert_eq!(found, Some(made.clone()));
    let found = world.organizations.find(WhichOrganization::OfUser("ben".to_owned())).await.unwrap();
    assert_eq!(found.map(|found| found.name), Some("ACME".to_owned()));
    let first = world.colleague("first", "new").await;
    assert_eq!(roles(&world, made.id).await, [(first.handle, OrganizationRole::Admin)], "the first is one");
}

/// In pages, each once; only those of the organization.
pub async fn members_are_listed_oldest_first(world: World) {
    let ann = world.user("ann").await;
    for number in 0..4_u64 {
        world.clock.advance(Duration::from_secs(number / 2));
        world.colleague(&format!("member-{number}"), "ann").await;
        world.user(&format!("other-{number}")).await;
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
        let page = world.organizations.list_members(ann.caller.organization, page).await.unwrap();
        seen.extend(page.rows.into_iter().map(|member| member.handle.as_str().to_owned()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["ann", "member-0", "member-1", "member-2", "member-3"]);
}

pub async fn members_show_when_they_joined(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let created = world.clock.now();
    let house = ann.caller.organization;
    // Who comes back has joined again.
    for _ in 0..2 {
        world.clock.advance(Duration::from_secs(1));
        let expected = world.clock.now();
        let invited = world.organizations.invite(by(&world, &ann).await, Invite::default()).await.unwrap();
        world.organizations.accept(caller(&world, &ben).await, invited.token.reveal()).await.unwrap();
        world.clock.advance(Duration::from_secs(1));
        let page = world.organizations.list_members(house, ALL).await.unwrap();
        let joined = page.rows.iter().map(|member| (member.id, member.created_at, member.joined_at));
        assert_eq!(joined.collect::<Vec<_>>(), [(ann.id, created, created), (ben.id, created, expected)]);
        world.organizations.leave(caller(&world, &ben).await).await.unwrap();
    }
    let own = caller(&world, &ben).await.organization;
    let page = world.organizations.list_members(own, ALL).await.unwrap();
    assert_eq!(page.rows[0].joined_at, created);
}

/// To the organization that was made for them, if it is empty, otherwise to a new one.
pub async fn a_leaving_member_returns_to_their_own_organization(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let alone = world.organizations.leave(ben.caller).await;
    assert!(matches!(alone, Err(LeaveError::Alone)), "{alone:?}");
    let enter = async |user: UserId, house| {
        world.organizations.move_user(user, house, OrganizationRole::Member).await.unwrap()
    };
    let moved = enter(ben.id, ann.caller.organization).await;
    assert_eq!((moved.from, moved.user.organization), (ben.caller.organization, ann.caller.organization));
    assert_eq!(moved.user.organization_role, OrganizationRole::Member);
    let back = world.organizations.leave(caller(&world, &ben).await).await.unwrap();
    assert_eq!((back.from, back.user.organization), (ann.caller.organization, ben.caller.organization));
    assert_eq!(back.user.organization_role, OrganizationRole::Admin);

    // Another user joined it meanwhile, and is its admin as the first member.
    enter(ben.id, ann.caller.organization).await;
    let cai = world.user("cai").await;
    assert_eq!(enter(cai.id, ben.caller.organization).await.user.organization_role, OrganizationRole::Admin);
    let fresh = world.organizations.remove(by(&world, &ann).await, ben.id).await.unwrap().user;
    assert!(![ann.caller.organization, ben.caller.organization].contains(&fresh.organization));
    let shown = world.organizations.show(caller(&world, &ben).await).await.unwrap().unwrap();
    assert_eq!((shown.name.as_str(), shown.role, shown.members), ("ben-2", OrganizationRole::Admin, 1));
    // Which is their own from then on.
    enter(ben.id, ann.caller.organization).await;
    let back = world.organizations.leave(caller(&world, &ben).await).await.unwrap();
    assert_eq!(back.user.organization, fresh.organization);
    // Who never had one gets one.
    let dan = world.colleague("dan", "ann").await;
    world.organizations.leave(dan.caller).await.unwrap();
    assert_eq!(world.organizations.show(caller(&world, &dan).await).await.unwrap().unwrap().name, "dan");
    let gone = world.organizations.leave(dan.caller).await;
    assert!(matches!(gone, Err(LeaveError::MemberNotFound)), "not twice: {gone:?}");
}
