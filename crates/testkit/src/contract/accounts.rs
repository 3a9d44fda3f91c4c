//! Users, agents and keys.

use domain::account::{
    AgentChanges, AgentDescription, AgentListing, AgentMarks, AgentName, AgentSort, CreatePlatformAgent,
    CreateUser, CreateUserError, InitialOrganization, RegisterAgent, RegisterError, UserHandle, parse_email,
    parse_person_name,
};
use domain::page::{Order, PageRequest, Slice};
use domain::plan::PlanName;
use domain::ports::KeyMint;
use domain::text::NamePart;

use crate::{FixedMint, World};

fn user(handle: &str, email: &str) -> CreateUser {
    CreateUser {
        handle: UserHandle::new(handle).unwrap(),
        email: parse_email(email).unwrap(),
        name: parse_person_name("Ann Lee").unwrap(),
        initial_organization: InitialOrganization::Own,
        plan: PlanName::enterprise(),
    }
}

/// A handle or an address, in any case, is one user's; what is read is what was written.
pub async fn handles_and_addresses_are_taken_once(world: World) {
    let created = world.accounts.create_user(user("ann", "Ann@example.org")).await.unwrap().user;
    assert_eq!(world.stores.accounts.find_user(created.id).await.unwrap(), Some(created.clone()));
    let by_handle = world.stores.accounts.find_user_by_handle(&created.handle).await.unwrap();
    assert_eq!(by_handle, Some(created));
    let nobody = UserHandle::new("nobody").unwrap();
    assert_eq!(world.stores.accounts.find_user_by_handle(&nobody).await.unwrap(), None);
    let outcome = world.accounts.create_user(user("ann", "other@example.org")).await;
    assert!(matches!(outcome, Err(CreateUserError::HandleTaken)), "{outcome:?}");
    let outcome = world.accounts.create_user(user("other", "ANN@EXAMPLE.ORG")).await;
    assert!(matches!(outcome, Err(CreateUserError::EmailTaken)), "{outcome:?}");
    world.accounts.create_user(user("other", "other@example.org")).await.unwrap();
}

/// Ten at once make one; after any user there is no first one.
pub async fn only_an_empty_store_gets_a_first_user(world: World) {
    let accounts = world.accounts.clone();
    let attempts = (0..10).map(|number| {
        let accounts = accounts.clone();
        let command = user(&format!("user-{number}"), &format!("{number}@example.org"));
        tokio::spawn(async move {
            let key = accounts.mint_user_key();
            accounts.create_first_user(command, &key).await.unwrap().is_some()
        })
    });
    let mut made = 0;
    for attempt in attempts.collect::<Vec<_>>() {
        made += u32::from(attempt.await.unwrap());
    }
    assert_eq!(made, 1);
}

/// Two agents of one owner never share a name, nor two agents a handle.
pub async fn names_are_unique_and_slugs_are_numbered(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let handles = [
        world.agent(&ann, "My Bot").await.handle,
        world.agent(&ann, "my-bot").await.handle,
        world.agent(&ann, "MY BOT!").await.handle,
        world.agent(&ben, "My Bot").await.handle,
    ];
    assert_eq!(handles, ["ann/my-bot", "ann/my-bot-2", "ann/my-bot-3", "ben/my-bot"]);
    let again = RegisterAgent {
        name: AgentName::new("My Bot").unwrap(),
        description: AgentDescription::new("again").unwrap(),
    };
    let outcome = world.accounts.register_agent(ann.caller, again.clone()).await;
    assert!(matches!(outcome, Err(RegisterError::NameTaken)), "{outcome:?}");
    let nobody =
        domain::caller::UserCaller { user: domain::id::UserId::new(uuid::Uuid::nil()), ..ann.caller };
    let outcome = world.accounts.register_agent(nobody, again).await;
    assert!(matches!(outcome, Err(RegisterError::OwnerGone)), "{outcome:?}");
}

/// A key is found by its digest and by nothing else.
pub async fn keys_stand_for_their_holders(world: World) {
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    assert_eq!(world.accounts.authenticate(&ann.key).await.unwrap().caller, ann.caller.into());
    assert_eq!(world.accounts.authenticate(&bot.key).await.unwrap().caller, bot.caller.into());
    let digest = FixedMint::default().digest("thnv_a_unknown");
    assert_eq!(world.stores.keys.find_key(digest).await.unwrap(), None);
}

/// Newest first, of one owner, by cursor and by page.
pub async fn agents_are_listed_newest_first(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let mut expected = Vec::new();
    for number in 0..5 {
        world.clock.advance(std::time::Duration::from_secs(number / 2));
        expected.insert(0, world.agent(&ann, &format!("Agent {number}")).await.id);
        world.agent(&ben, &format!("Agent {number}")).await;
    }
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
        let page = world.accounts.list_agents(ann.caller, AgentListing::default(), page).await.unwrap();
        assert_eq!(page.total, None);
        seen.extend(page.rows.iter().map(|agent| agent.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, expected);
    let page = PageRequest { slice: Slice::Numbered { number: 3, size: 2 }, count: true };
    let page = world.accounts.list_agents(ann.caller, AgentListing::default(), page).await.unwrap();
    assert_eq!((page.rows.len(), page.rows[0].id, page.total, page.next), (1, expected[4], Some(5), None));
}

/// By name without regard to case, by registration, by change; both ways; narrowed to a part of a
/// name in any case, to who runs them, and to the directory; each agent once on the way.
pub async fn agents_are_listed_as_wanted(world: World) {
    let ann = world.user("ann").await;
    let mut ids = Vec::new();
    for name in ["Zoë the Ärztin", "alpha", "Beta", "ALPINE", "beta two"] {
        ids.push(world.agent(&ann, name).await.id);
        world.clock.advance(std::time::Duration::from_secs(1));
    }
    world.agent(&world.user("ben").await, "Alpha").await;
    let marks = AgentMarks { listed_in_directory: Some(true), ..AgentMarks::default() };
    world.accounts.mark_agent("ann/beta", marks).await.unwrap().unwrap();
    let command =
        CreatePlatformAgent { name: AgentName::new("Gamma").unwrap(), model_type: None, description: None };
    world.clock.advance(std::time::Duration::from_secs(1));
    ids.push(world.accounts.create_platform_agent(ann.caller, command).await.unwrap().id);

    let names = |order, sort| AgentListing { sort, order, ..AgentListing::default() };
    let (up, down) = (Order::Ascending, Order::Descending);
    let all = AgentListing { order: up, ..AgentListing::default() };
    let part = |text: &str| AgentListing { name: NamePart::new(text), ..all.clone() };
    for (listing, expected) in [
        (all.clone(), vec![0, 1, 2, 3, 4, 5]),
        (names(down, AgentSort::Created), vec![5, 4, 3, 2, 1, 0]),
        (names(up, AgentSort::Name), vec![1, 3, 2, 4, 5, 0]),
        (names(down, AgentSort::Name), vec![0, 5, 4, 2, 3, 1]),
        (names(up, AgentSort::Updated), vec![0, 1, 3, 4, 2, 5]),
        (names(down, AgentSort::Updated), vec![5, 2, 4, 3, 1, 0]),
        (part("alp"), vec![1, 3]),
        (part("äRZT"), vec![0]),
        (part("%"), vec![]),
        (AgentListing { sort: AgentSort::Name, ..part("BETA") }, vec![2, 4]),
        (AgentListing { is_external: Some(false), ..all.clone() }, vec![5]),
        (AgentListing { is_external: Some(true), order: down, ..all.clone() }, vec![4, 3, 2, 1, 0]),
        (AgentListing { listed_in_directory: Some(true), ..all.clone() }, vec![2]),
        (AgentListing { listed_in_directory: Some(true), ..part("alpha") }, vec![]),
    ] {
        let expected = expected.into_iter().map(|place: usize| ids[place]).collect::<Vec<_>>();
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
            let page = world.accounts.list_agents(ann.caller, listing.clone(), page).await.unwrap();
            seen.extend(page.rows.iter().map(|agent| agent.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, expected, "{listing:?}");
        let page = PageRequest { slice: Slice::Numbered { number: 2, size: 1 }, count: true };
        let page = world.accounts.list_agents(ann.caller, listing.clone(), page).await.unwrap();
        assert_eq!(page.total, Some(expected.len() as u64), "{listing:?}");
        assert_eq!(page.rows.first().map(|agent| agent.id), expected.get(1).copied(), "{listing:?}");
    }
}

/// A cursor is a name, not an agent: the names after it are listed exactly once, even if that agent is
/// renamed or deleted.
pub async fn paging_by_name_misses_no_unrenamed_agent(world: World) {
    let ann = world.user("ann").await;
    let mut ids = Vec::new();
    for name in ["alpha", "beta", "gamma", "delta"] {
        ids.push(world.agent(&ann, name).await.id);
    }
    let by_name = AgentListing { sort: AgentSort::Name, order: Order::Ascending, ..AgentListing::default() };
    let read = async |after| {
        let page = PageRequest { slice: Slice::After { after, limit: 1 }, count: false };
        world.accounts.list_agents(ann.caller, by_name.clone(), page).await.unwrap()
    };
    let first = read(None).await;
    assert_eq!(first.rows[0].id, ids[0]);
    let renamed = AgentChanges { name: Some(AgentName::new("zeta").unwrap()), ..AgentChanges::default() };
    world.accounts.update_agent(ann.caller, ids[0], renamed).await.unwrap();
    let second = read(first.next).await;
    assert_eq!(second.rows[0].id, ids[1]);
    world.accounts.delete_agent(ann.caller, ids[1], true).await.unwrap();
    let third = read(second.next).await;
    assert_eq!(third.rows[0].id, ids[3]);
}
