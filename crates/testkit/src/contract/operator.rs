//! What operators see of all accounts and organizations, and who is one.

use std::fmt::Debug;
use std::time::Duration;

use domain::account::{
    AgentConnection, Connection, CreateUser, Disconnect, EndReason, InitialOrganization, KeyScope,
    LastDisconnect, Operator, OperatorError, RevokeAnyKeyError, SetDisabledError, UserHandle, parse_email,
    parse_person_name,
};
use domain::audit::{AuditAction, AuditFilter, AuditScope};
use domain::caller::UserCaller;
use domain::chat::Role;
use domain::delivery::{DeadLetterReason, DeliveryStep};
use domain::id::{AgentId, ApiKeyId, OrganizationId, ParticipantId, UserId};
use domain::page::{Page, PageRequest, Position, Slice};
use domain::plan::{AssignError, AssignPlan, AssignRefused, Plan, PlanName, WhichOrganization};
use domain::ports::Clock;
use domain::work::{WorkChange, WorkScope};
use uuid::Uuid;

use super::plans::plan;
use crate::{TestAgent, TestUser, World};

/// The first user, who is an administrator of the installation.
async fn first_user(world: &World) -> UserCaller {
    let command = CreateUser {
        handle: UserHandle::new("root").unwrap(),
        email: parse_email("root@example.org").unwrap(),
        name: parse_person_name("Root").unwrap(),
        initial_organization: InitialOrganization::Own,
        plan: PlanName::enterprise(),
    };
    let key = world.accounts.mint_user_key();
    let user = world.accounts.create_first_user(command, &key).await.unwrap().unwrap();
    UserCaller { user: user.id, organization: user.organization }
}

/// Another user, who was made an administrator: the proof that the use cases of operators ask for.
async fn operator(world: &World) -> Operator {
    let root = first_user(world).await;
    world.accounts.check_operator(root, KeyScope::default()).await.unwrap()
}

/// All rows of a list, read in pages of `size`.
pub(super) async fn all<T, E: Debug>(
    size: u32,
    list: impl AsyncFn(PageRequest) -> Result<Page<T>, E>,
) -> Vec<T> {
    let (mut rows, mut after) = (Vec::new(), None::<Position>);
    loop {
        let page =
            list(PageRequest { slice: Slice::After { after, limit: size }, count: false }).await.unwrap();
        assert!(page.rows.len() <= size as usize && page.total.is_none());
        rows.extend(page.rows);
        after = page.next;
        if after.is_none() {
            return rows;
        }
    }
}

/// Only the role in the installation counts, with a credential that has no limits.
pub async fn only_administrators_are_operators(world: World) {
    let root = first_user(&world).await;
    let ann = world.user("ann").await;
    let (free, read_only) = (KeyScope::default(), KeyScope { is_read_only: true, ..KeyScope::default() });
    let check = async |caller, scope| world.accounts.check_operator(caller, scope).await;
    assert_eq!(check(root, free).await.unwrap().user(), root.user);
    assert!(matches!(check(root, read_only).await, Err(OperatorError::LimitedKey)));
    // Ann is an admin of her organization.
    for scope in [free, read_only] {
        assert!(matches!(check(ann.caller, scope).await, Err(OperatorError::NotOperator)));
    }
    // The command line is the way to stop an operator.
    world.administration.set_disabled(ParticipantId::User(root.user), true).await.unwrap();
    assert!(matches!(check(root, free).await, Err(OperatorError::NotOperator)));
    let nobody = UserCaller { user: UserId::NIL, ..root };
    assert!(matches!(check(nobody, free).await, Err(OperatorError::NotOperator)));
}

/// The entry names the operator; nobody is locked out by accident.
pub async fn operators_disable_accounts(world: World) {
    let root = first_user(&world).await;
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let (user, agent) = (ParticipantId::User(ann.id), ParticipantId::Agent(bot.id));
    let operator = world.accounts.check_operator(root, KeyScope::default()).await.unwrap();
    let set = async |who, disabled| world.administration.set_disabled_by(operator, who, disabled).await;
    let since = world.clock.now();
    // The second time changes nothing.
    for (who, disabled) in [(agent, true), (agent, true), (user, true), (user, false), (agent, false)] {
        world.clock.advance(Duration::from_secs(1));
        set(who, disabled).await.unwrap();
        let is_accepted = world.accounts.authenticate(&bot.key).await.is_ok();
        assert_eq!(is_accepted, !disabled && who == agent, "{who:?} {disabled}");
    }
    let own = ParticipantId::User(root.user);
    for disabled in [true, false] {
        assert!(matches!(set(own, disabled).await, Err(SetDisabledError::Own)));
    }
    let unknown = [ParticipantId::User(UserId::NIL), ParticipantId::Agent(AgentId::NIL)];
    for who in unknown {
        assert!(matches!(set(who, true).await, Err(SetDisabledError::NotFound(of)) if of == who));
    }

    let filter = AuditFilter {
        since: Some(since.plus(Duration::from_secs(1))),
        ..AuditFilter::of(AuditScope::Everything)
    };
    let page = PageRequest { slice: Slice::After { after: None, limit: 10 }, count: false };
    let entries = world.audit.list(filter, page).await.unwrap().rows;
    let entries = entries.iter().map(|entry| {
        let actor = entry.actor.known().and_then(|named| named.name.clone());
        (actor, entry.action, entry.subject.name.clone())
    });
    let entry = |action, subject: &str| (Some("root".to_owned()), action, Some(subject.to_owned()));
    let expected = [
        entry(AuditAction::AccountEnabled, "ann/bot"),
        entry(AuditAction::AccountEnabled, "ann"),
        entry(AuditAction::AccountDisabled, "ann"),
        entry(AuditAction::AccountDisabled, "ann/bot"),
    ];
    assert_eq!(entries.collect::<Vec<_>>(), expected);
}

/// By handle, page by page; those with given ids are found without deleted ones.
pub async fn operators_list_all_accounts(world: World) {
    let root = operator(&world).await;
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let zoe = world.user("zoe").await;
    let (one, gone) = (world.agent(&ben, "One").await, world.agent(&ann, "Gone").await);
    let two = world.agent(&ann, "Two").await;
    world.accounts.delete_agent(ann.caller, gone.id, false).await.unwrap();
    for size in [1, 2, 10] {
        let users = all(size, async |page| world.administration.users(root, None, page).await).await;
        assert_eq!(
            users.iter().map(|user| user.id).collect::<Vec<_>>(),
            [ann.id, ben.id, root.user(), zoe.id]
        );
        let agents = all(size, async |page| world.administration.agents(root, None, page).await).await;
        assert_eq!(agents.iter().map(|agent| agent.id).collect::<Vec<_>>(), [two.id, one.id]);
    }
    let unknown = ParticipantId::User(UserId::new(Uuid::from_u128(7)));
    let user = |user: &TestUser| ParticipantId::User(user.id);
    let agent = |agent: &TestAgent| ParticipantId::Agent(agent.id);
    let of = [user(&ann), user(&zoe), unknown, agent(&gone), agent(&two), agent(&one)];
    let (users, agents) = world.administration.accounts_of(root, &of).await.unwrap();
    let mut handles = users.iter().map(|user| user.handle.to_string()).collect::<Vec<_>>();
    handles.extend(agents.iter().map(|agent| agent.handle.to_string()));
    handles.sort_unstable();
    assert_eq!(handles, ["ann", "ann/two", "ben/one", "zoe"]);
    let nobody = world.administration.accounts_of(root, &[]).await.unwrap();
    assert!(nobody.0.is_empty() && nobody.1.is_empty());
}

/// Newest first, and those of the same time by agent.
pub async fn operators_list_all_disconnects(world: World) {
    let root = operator(&world).await;
    let ann = world.user("ann").await;
    let mut agents = Vec::new();
    for name in ["One", "Two", "Three"] {
        agents.push(world.agent(&ann, name).await.id);
    }
    let begun = world.clock.now();
    let ended = |agent: AgentId, second: u64| Disconnect {
        agent,
        began_at: second.is_multiple_of(2).then_some(begun),
        last: LastDisconnect {
            at: begun.plus(Duration::from_secs(second)),
            reason: EndReason::ConnectionLost,
        },
    };
    let mut notes = [(0, 1), (1, 1), (2, 1), (0, 2), (1, 3), (0, 4)].map(|(of, at)| ended(agents[of], at));
    for note in notes {
        world.accounts.note_disconnects(vec![note]).await.unwrap();
    }
    notes.sort_by_key(|note| std::cmp::Reverse((note.last.at, note.agent)));
    let expected = notes.map(|note| AgentConnection {
        agent: note.agent,
        connection: Connection { began_at: note.began_at, end: note.last },
    });
    for size in [1, 2, 3, 10] {
        let listed = all(size, async |page| world.administration.disconnects(root, page).await).await;
        assert_eq!(listed, expected, "pages of {size}");
    }
    world.accounts.delete_agent(ann.caller, agents[0], true).await.unwrap();
    let left = all(2, async |page| world.administration.disconnects(root, page).await).await;
    assert_eq!(left, expected.into_iter().filter(|row| row.agent != agents[0]).collect::<Vec<_>>());
}

/// By id, with their totals; one whose work has no flag is not there.
pub async fn operators_list_agents_with_flagged_work(world: World) {
    let by = operator(&world).await;
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let (late, dead, busy) =
        (world.agent(&ann, "Late").await, world.agent(&ben, "Dead").await, world.agent(&ben, "Busy").await);
    world.agent(&ben, "Idle").await;
    let room = async |agent: &TestAgent| world.chat(agent.caller, &[]).await;
    let (of_late, of_dead, of_busy) = (room(&late).await, room(&dead).await, room(&busy).await);
    let send = async |agent: &TestAgent, chat, owner: &TestUser| {
        world.add(agent.caller, chat, owner.id.into(), Role::Member).await;
        world.send(owner.caller, chat, "hello", &[ParticipantId::Agent(agent.id)]).await.id
    };
    send(&late, of_late, &ann).await;
    let ended = send(&dead, of_dead, &ben).await;
    let begun = send(&busy, of_busy, &ben).await;
    let flagged = async |size| {
        let rows = all(size, async |page| world.work.flagged_agents(by, page).await).await;
        rows.into_iter().map(|row| (row.agent, row.totals)).collect::<Vec<_>>()
    };
    assert_eq!(flagged(10).await, [], "nothing is late yet");

    let change = WorkChange::DeadLetter(DeadLetterReason::new("no key".to_owned()).unwrap());
    world.work.change(WorkScope::OwnedBy(ben.id), ended, dead.id, change, None).await.unwrap();
    world.clock.advance(Duration::from_secs(600));
    world.deliveries.advance(busy.caller, of_busy, begun, DeliveryStep::Begin).await.unwrap();
    let mut expected = [late.id, dead.id];
    expected.sort_unstable();
    for size in [1, 2, 10] {
        let rows = flagged(size).await;
        assert_eq!(rows.iter().map(|(agent, _)| *agent).collect::<Vec<_>>(), expected, "pages of {size}");
        for (agent, totals) in rows {
            let counts = (totals.unanswered, totals.dead, totals.open());
            assert_eq!(counts, if agent == late.id { (1, 0, 1) } else { (0, 1, 0) });
        }
    }
    world.clock.advance(Duration::from_secs(3600));
    assert!(flagged(10).await.iter().any(|(agent, totals)| *agent == busy.id && totals.stuck == 1));
}

/// By name, with what counts towards their limits.
pub async fn operators_list_all_organizations(world: World) {
    let root = operator(&world).await;
    let ann = world.colleague("ann", "Acme").await;
    let ben = world.colleague("ben", "Acme").await;
    let zoe = world.user("zoe").await;
    let gone = world.agent(&ann, "Gone").await;
    for (owner, name) in [(&ann, "One"), (&ben, "One"), (&zoe, "One")] {
        world.agent(owner, name).await;
    }
    world.accounts.delete_agent(ann.caller, gone.id, false).await.unwrap();
    let (_, closed) = (world.chat(ann.caller, &[]).await, world.chat(ben.caller, &[]).await);
    world.chats.delete(ben.caller, closed).await.unwrap();
    let small = Plan { agents: Some(9), chats: Some(7), ..plan("small") };
    world.plans.configure(vec![small.clone()]).await.unwrap();
    let organization = WhichOrganization::Named("Acme".to_owned());
    let command = AssignPlan { organization, plan: small.name.clone() };
    world.plans.assign(command).await.unwrap().unwrap();
    let known = world.plans.organizations().await.unwrap();
    for size in [1, 2, 10] {
        let rows = all(size, async |page| world.plans.page(root, page).await).await;
        let organizations = rows.iter().map(|row| row.organization.clone()).collect::<Vec<_>>();
        assert_eq!(organizations, known, "pages of {size}");
        let used = rows.iter().map(|row| (row.organization.name.as_str(), row.agents, row.chats));
        assert_eq!(used.collect::<Vec<_>>(), [("Acme", 2, 1), ("root", 0, 0), ("zoe", 1, 0)]);
        assert_eq!((&rows[0].plan, &rows[2].plan), (&small, &Plan::enterprise()));
    }
}

/// The entry names the operator; who is not there gets none.
pub async fn operators_assign_plans(world: World) {
    let root = operator(&world).await;
    let ann = world.user("ann").await;
    let small = plan("small");
    world.plans.configure(vec![small.clone()]).await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    let own = ann.caller.organization;
    let assign =
        async |organization, plan: &PlanName| world.plans.assign_by(root, organization, plan.clone()).await;
    assert_eq!(assign(own, &small.name).await.unwrap().plan, small.name);
    let unknown = PlanName::new("unknown").unwrap();
    let refused = assign(own, &unknown).await;
    assert!(matches!(refused, Err(AssignError::Refused(AssignRefused::NoSuchPlan))), "{refused:?}");
    let refused = assign(OrganizationId::NIL, &small.name).await;
    assert!(matches!(refused, Err(AssignError::Refused(AssignRefused::NoSuchOrganization))), "{refused:?}");
    let (actor, action, subject) = newest_entry(&world).await;
    assert_eq!(
        (actor.as_deref(), action, subject.as_deref()),
        (Some("root"), AuditAction::PlanSet, Some("ann"))
    );
}

/// Of anybody, once.
pub async fn operators_revoke_keys(world: World) {
    let root = operator(&world).await;
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let page = PageRequest { slice: Slice::After { after: None, limit: 10 }, count: false };
    let keys = world.accounts.list_keys(ParticipantId::Agent(bot.id), page).await.unwrap().rows;
    world.clock.advance(Duration::from_secs(1));
    let revoked = world.accounts.revoke_key_by(root, keys[0].id).await.unwrap();
    assert_eq!((revoked.id, revoked.holder), (keys[0].id, ParticipantId::Agent(bot.id)));
    assert!(world.accounts.authenticate(&bot.key).await.is_err());
    let (actor, action, _) = newest_entry(&world).await;
    assert_eq!((actor.as_deref(), action), (Some("root"), AuditAction::KeyRevoked));
    for key in [keys[0].id, ApiKeyId::NIL] {
        let refused = world.accounts.revoke_key_by(root, key).await;
        assert!(matches!(refused, Err(RevokeAnyKeyError::NotFound)), "{refused:?}");
    }
}

/// The name of the actor, the action, and the name of the subject.
async fn newest_entry(world: &World) -> (Option<String>, AuditAction, Option<String>) {
    let page = PageRequest { slice: Slice::After { after: None, limit: 1 }, count: false };
    let entries = world.audit.list(AuditFilter::of(AuditScope::Everything), page).await.unwrap().rows;
    let entry = &entries[0];
    let actor = entry.actor.known().and_then(|named| named.name.clone());
    (actor, entry.action, entry.subject.name.clone())
}
