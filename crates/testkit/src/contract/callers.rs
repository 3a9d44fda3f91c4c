//! Callers who are known without asking the store: whatever is changed of them, here or elsewhere, holds.

use std::time::Duration;

use domain::account::cache::LOG_TRUSTED_FOR;
use domain::account::{
    AgentChanges, AgentMarks, AgentName, AuthenticateError, Authenticated, CreateKey, UserHandle, WhichKeys,
};
use domain::caller::Caller;
use domain::change::ChangePosition;
use domain::id::ParticipantId;
use domain::login::{Password, SessionKind};
use domain::organization::OrganizationRole;
use domain::plan::{AssignPlan, Plan, PlanName, WhichOrganization};
use domain::ports::Clock;

use crate::{TestAgent, TestUser, World};

/// Ann with an agent and a token, and ben with an agent that nothing happens to.
struct Cast {
    ann: TestUser,
    token: String,
    bot: TestAgent,
    others: [String; 2],
}

impl Cast {
    /// All of them, and the log as read.
    async fn known(world: &World) -> Self {
        let (ann, ben) = (world.user("ann").await, world.user("ben").await);
        let bot = world.agent(&ann, "Bot").await;
        let others = [ben.key.clone(), world.agent(&ben, "Other").await.key];
        let token = world.token(&ann).await;
        world.callers.confirm(world.clock.steady());
        let cast = Self { ann, token, bot, others };
        cast.warm(world).await;
        cast
    }

    /// Whatever is good is known from now on.
    async fn warm(&self, world: &World) {
        for _ in 0..2 {
            let before = world.callers.counts();
            for key in self.others.iter().chain([&self.ann.key, &self.bot.key]) {
                let _ = world.accounts.authenticate(key).await;
            }
            let _ = world.tokens.authenticate(&self.token).await;
            let _ = world.accounts.agent_record(self.bot.caller).await.unwrap();
            let after = world.callers.counts();
            assert_eq!(after.hits + after.misses, before.hits + before.misses + 6);
        }
    }

    /// Callers that were not changed are still cached.
    async fn others_are_known(&self, world: &World) {
        let before = world.callers.counts();
        for key in &self.others {
            world.accounts.authenticate(key).await.unwrap();
        }
        assert_eq!(world.callers.counts().misses, before.misses);
    }
}

/// The result of a credential.
#[derive(Debug, PartialEq)]
enum Look {
    /// Let in.
    In(Authenticated),
    /// Kept out by the operator.
    Disabled,
    /// Good for nothing.
    Out,
}

fn look(outcome: Result<Authenticated, AuthenticateError>) -> Look {
    match outcome {
        Ok(admitted) => Look::In(admitted),
        Err(AuthenticateError::Disabled(_)) => Look::Disabled,
        Err(AuthenticateError::Unauthorized) => Look::Out,
        Err(other) => panic!("{other}"),
    }
}

async fn by_key(world: &World, key: &str) -> Look {
    look(world.accounts.authenticate(key).await)
}

async fn by_token(world: &World, token: &str) -> Look {
    look(world.tokens.authenticate(token).await)
}

/// The name of the agent.
async fn name(world: &World, agent: &TestAgent) -> Option<String> {
    world.accounts.agent_record(agent.caller).await.unwrap().map(|agent| agent.name.clone())
}

async fn rename(world: &World, cast: &Cast, name: &str) {
    let changes = AgentChanges { name: AgentName::new(name).ok(), ..AgentChanges::default() };
    world.accounts.update_agent(cast.ann.caller, cast.bot.id, changes).await.unwrap();
}

async fn set_password(world: &World) {
    let reset = world.logins.issue_reset(&UserHandle::new("ann").unwrap()).await.unwrap();
    let password = Password::new("correct horse".to_owned()).unwrap();
    world.logins.reset_password(&reset.token, password, SessionKind::Program).await.unwrap();
}

/// To ben's organization.
async fn move_ann(world: &World, cast: &Cast) {
    let ben = world.stores.accounts.find_user_by_handle(&UserHandle::new("ben").unwrap()).await;
    let to = ben.unwrap().unwrap().organization;
    world.organizations.move_user(cast.ann.id, to, OrganizationRole::Member).await.unwrap();
}

/// The organization that a key stands for.
async fn organization(world: &World, key: &str) -> Option<domain::id::OrganizationId> {
    match by_key(world, key).await {
        Look::In(admitted) => Some(admitted.caller.organization()),
        _ => None,
    }
}

/// The change log is not read: the response alone invalidates the cache.
pub async fn local_changes_apply_to_the_next_request(world: World) {
    let cast = Cast::known(&world).await;
    let Cast { ann, bot, .. } = &cast;

    rename(&world, &cast, "Robot").await;
    assert_eq!(name(&world, bot).await.as_deref(), Some("Robot"));

    set_password(&world).await;
    assert_eq!(by_token(&world, &cast.token).await, Look::Out);
    cast.others_are_known(&world).await;

    let before = organization(&world, &bot.key).await;
    move_ann(&world, &cast).await;
    let after = organization(&world, &bot.key).await;
    assert!(after.is_some() && after != before, "{after:?}");
    assert_eq!(organization(&world, &ann.key).await, after);
    cast.others_are_known(&world).await;

    let more = world.accounts.create_key(ann.id, CreateKey::default()).await.unwrap();
    assert!(matches!(by_key(&world, more.key.reveal()).await, Look::In(_)));
    world.accounts.revoke_key(ann.caller, more.record.id).await.unwrap();
    assert_eq!(by_key(&world, more.key.reveal()).await, Look::Out);
    assert!(matches!(by_key(&world, &ann.key).await, Look::In(_)));

    let rotated = world.accounts.rotate_key(ann.id, bot.id).await.unwrap().key.reveal().to_owned();
    assert_eq!(by_key(&world, &bot.key).await, Look::Out);
    assert!(matches!(by_key(&world, &rotated).await, Look::In(_)));
    assert_eq!(name(&world, bot).await.as_deref(), Some("Robot"));
    world.accounts.delete_agent(ann.caller, bot.id, false).await.unwrap();
    assert_eq!((by_key(&world, &rotated).await, name(&world, bot).await), (Look::Out, None));
    cast.others_are_known(&world).await;
}

/// Another process on the same store, which this one hears of by the log alone.
fn elsewhere(world: &World) -> World {
    let other = World::on(world.stores.clone());
    // Ids carry the time, so that none is given twice.
    other.clock.advance(Duration::from_secs(1000));
    other
}

/// Reads the log as a server does; the place behind it.
async fn follow(world: &World, position: ChangePosition) -> ChangePosition {
    let begun = world.clock.steady();
    let changes = world.stores.changes.changes_after(position, 100).await.unwrap();
    for change in changes.iter().filter_map(|entry| entry.change) {
        world.callers.follow(change);
    }
    world.callers.confirm(begun);
    changes.last().map_or(position, |last| last.position)
}

/// Returns whether the plan allows the key's holder to call.
async fn may_call(world: &World, key: &str) -> Option<bool> {
    match by_key(world, key).await {
        Look::In(admitted) => Some(admitted.permits.human_interface),
        _ => None,
    }
}

/// Kept out by the operator and let in again, by key and by token; of a user the agents too.
pub async fn remote_disabling_applies_after_log_read(world: World) {
    let cast = Cast::known(&world).await;
    let Cast { ann, bot, .. } = &cast;
    let (other, here) = (elsewhere(&world), &world);
    let mut position = world.stores.changes.newest_change().await.unwrap();
    for who in [ParticipantId::Agent(bot.id), ParticipantId::User(ann.id)] {
        let is_user = who.user().is_some();
        cast.warm(here).await;
        other.administration.set_disabled(who, true).await.unwrap();
        position = follow(here, position).await;
        assert_eq!(by_key(here, &bot.key).await, Look::Disabled);
        assert_eq!(by_key(here, &ann.key).await == Look::Disabled, is_user);
        assert_eq!(by_token(here, &cast.token).await == Look::Disabled, is_user);
        cast.others_are_known(here).await;
        other.administration.set_disabled(who, false).await.unwrap();
        position = follow(here, position).await;
        for key in [&bot.key, &ann.key] {
            assert!(matches!(by_key(here, key).await, Look::In(_)), "let in again");
        }
        assert!(matches!(by_token(here, &cast.token).await, Look::In(_)));
    }
}

/// An agent's record, a plan, the permissions of a plan, and the organization of a user.
pub async fn remote_changes_apply_after_log_read(world: World) {
    let cast = Cast::known(&world).await;
    let Cast { ann, bot, .. } = &cast;
    let (other, here) = (elsewhere(&world), &world);
    let position = world.stores.changes.newest_change().await.unwrap();

    let marks = AgentMarks { is_global: Some(true), ..AgentMarks::default() };
    other.accounts.mark_agent("ann/bot", marks).await.unwrap();
    let position = follow(here, position).await;
    assert!(here.accounts.agent_record(bot.caller).await.unwrap().unwrap().is_global);

    let name = PlanName::new("mute").unwrap();
    let mute = Plan { name: name.clone(), human_interface: false, ..Plan::enterprise() };
    other.plans.configure(vec![mute.clone()]).await.unwrap();
    cast.warm(here).await;
    let organization_of_ann = WhichOrganization::OfUser("ann".to_owned());
    let assign = AssignPlan { organization: organization_of_ann, plan: name };
    other.plans.assign(assign).await.unwrap().unwrap();
    let position = follow(here, position).await;
    assert_eq!(may_call(here, &ann.key).await, Some(false));
    other.plans.configure(vec![Plan { human_interface: true, ..mute }]).await.unwrap();
    let position = follow(here, position).await;
    assert_eq!(may_call(here, &ann.key).await, Some(true));

    let before = organization(here, &ann.key).await;
    cast.warm(here).await;
    move_ann(&other, &cast).await;
    follow(here, position).await;
    for key in [&ann.key, &bot.key] {
        let now = organization(here, key).await;
        assert!(now.is_some() && now != before);
    }
    assert_eq!(by_token(here, &cast.token).await, Look::Out);
}

/// A password, keys and an agent.
pub async fn remote_revocations_apply_after_log_read(world: World) {
    let cast = Cast::known(&world).await;
    let Cast { ann, bot, .. } = &cast;
    let (other, here) = (elsewhere(&world), &world);
    let position = world.stores.changes.newest_change().await.unwrap();
    set_password(&other).await;
    let position = follow(here, position).await;
    assert_eq!(by_token(here, &cast.token).await, Look::Out);

    other.accounts.revoke_keys(WhichKeys::AllOf(ParticipantId::User(ann.id))).await.unwrap();
    let position = follow(here, position).await;
    assert_eq!(by_key(here, &ann.key).await, Look::Out);
    assert!(matches!(by_key(here, &bot.key).await, Look::In(_)));

    other.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    follow(here, position).await;
    assert_eq!((by_key(here, &bot.key).await, name(here, bot).await), (Look::Out, None));
    cast.others_are_known(here).await;
}

/// The change log is not read: cached callers are used for a second and no longer.
pub async fn remote_changes_apply_while_the_log_is_stuck(world: World) {
    let cast = Cast::known(&world).await;
    let other = elsewhere(&world);
    other.accounts.revoke_keys(WhichKeys::AllOf(ParticipantId::User(cast.ann.id))).await.unwrap();
    rename(&other, &cast, "Robot").await;
    set_password(&other).await;
    world.clock.advance(LOG_TRUSTED_FOR);
    assert_eq!(by_key(&world, &cast.ann.key).await, Look::Out);
    assert_eq!(by_token(&world, &cast.token).await, Look::Out);
    assert_eq!(name(&world, &cast.bot).await.as_deref(), Some("Robot"));
    let before = world.callers.counts();
    for key in &cast.others {
        assert!(matches!(by_key(&world, key).await, Look::In(_)));
    }
    assert_eq!(world.callers.counts().misses, before.misses + 2, "the store was asked");
}

/// A key and a token end when their time comes, though they are known; and what a key is used for is noted as
/// ever.
pub async fn cached_credentials_still_expire(world: World) {
    let cast = Cast::known(&world).await;
    let until = world.clock.now().plus(Duration::from_millis(500));
    let short = CreateKey { expires_at: Some(until), ..CreateKey::default() };
    let short = world.accounts.create_key(cast.ann.id, short).await.unwrap().key.reveal().to_owned();
    let before = world.callers.counts();
    for _ in 0..2 {
        assert!(matches!(by_key(&world, &short).await, Look::In(_)));
    }
    assert_eq!(world.callers.counts().hits, before.hits + 1);
    world.clock.advance(Duration::from_millis(500));
    assert_eq!(by_key(&world, &short).await, Look::Out);
    assert_eq!(world.callers.counts().hits, before.hits + 2, "it was known");

    world.clock.advance(Duration::from_secs(20 * 60));
    world.callers.confirm(world.clock.steady());
    assert_eq!(by_token(&world, &cast.token).await, Look::Out, "whoever stands well");
    let key = match world.accounts.authenticate(&cast.ann.key).await.unwrap() {
        Authenticated { caller: Caller::User(_), presented, .. } => presented.key().unwrap().id,
        other => panic!("{other:?}"),
    };
    world.accounts.write_uses().await.unwrap();
    let used = world.clock.now();
    world.clock.advance(Duration::from_millis(10));
    by_key(&world, &cast.ann.key).await;
    world.accounts.write_uses().await.unwrap();
    let listed = world.accounts.list_keys(ParticipantId::User(cast.ann.id), super::members::ALL).await;
    let listed = listed.unwrap().rows.into_iter().find(|row| row.id == key);
    assert_eq!(listed.unwrap().last_used_at, Some(used), "once a minute is enough");
}

/// A clock that jumps a day and back ages nothing that is known, and a key that had expired by the wrong clock
/// is good at once when it is right again.
pub async fn a_clock_jump_expires_no_cache_entry(world: World) {
    let cast = Cast::known(&world).await;
    let (right, day) = (world.clock.now(), Duration::from_secs(24 * 60 * 60));
    let until = right.plus(Duration::from_secs(60 * 60));
    let short = CreateKey { expires_at: Some(until), ..CreateKey::default() };
    let short = world.accounts.create_key(cast.ann.id, short).await.unwrap().key.reveal().to_owned();
    assert!(matches!(by_key(&world, &short).await, Look::In(_)));
    for wrong in [right.plus(day), right.minus(day)] {
        let before = world.callers.counts();
        world.clock.jump(wrong);
        assert!(matches!(by_key(&world, &cast.ann.key).await, Look::In(_)));
        assert_eq!(
            matches!(by_key(&world, &short).await, Look::In(_)),
            wrong < right,
            "keys expire at a date"
        );
        world.clock.jump(right);
        assert!(matches!(by_key(&world, &short).await, Look::In(_)));
        let after = world.callers.counts();
        assert_eq!((after.hits, after.misses), (before.hits + 3, before.misses), "all of them were known");
    }
}
