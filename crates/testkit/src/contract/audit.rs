//! The audit log.

use std::time::Duration;

use crate::World;
use domain::account::{AgentChanges, AgentMarks, CreateKey, UserHandle, WhichKeys};
use domain::audit::{
    Actor, AuditAction, AuditEntry, AuditFilter, AuditObject, AuditRecord, AuditScope, AuditService,
    ChainFault, ChainLink, RecordedActor,
};
use domain::caller::UserCaller;
use domain::chat::{AddParticipantCommand, ChatTitle, CreateChat, Role};
use domain::id::{MessageId, OrganizationId, ParticipantId, SubjectId};
use domain::login::{Password, SessionKind};
use domain::message::MessageContent;
use domain::organization::{Authority, NotAdmin};
use domain::page::{PageRequest, Slice};
use domain::plan::{AssignPlan, OrganizationName, PlanName, WhichOrganization};
use domain::ports::Clock;
use domain::time::Timestamp;

/// Everything that the log holds of one organization, or of all, oldest first, read two at a time.
pub(super) async fn log_of(
    world: &World,
    organization: Option<OrganizationId>,
    since: Option<Timestamp>,
) -> Vec<AuditRecord> {
    let scope = organization.map_or(AuditScope::Everything, |id| AuditScope::Of(Authority::Operator(id)));
    pages_of(world, AuditFilter { since, ..AuditFilter::of(scope) }).await
}

/// The entries of a filter, oldest first, read two at a time.
async fn pages_of(world: &World, filter: AuditFilter) -> Vec<AuditRecord> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
        let page = world.stores.audit.list_audit(filter.clone(), page).await.unwrap().unwrap();
        all.extend(page.rows);
        after = page.next;
        if after.is_none() {
            assert!(all.is_sorted_by(|one, next| (one.at, one.id) > (next.at, next.id)));
            all.reverse();
            return all;
        }
    }
}

type Summary = (Option<String>, AuditAction, Option<String>, Option<String>, Option<String>);

/// Actor, action, subject, organization, and details.
fn summary(record: &AuditRecord) -> Summary {
    let actor = record.actor.known().map(|actor| actor.name.clone().unwrap());
    let place = record.place.as_ref().and_then(|place| place.name.clone());
    (actor, record.action, record.subject.name.clone(), place, record.detail.clone())
}

fn line(actor: &str, action: AuditAction, subject: &str, place: &str, detail: &str) -> Summary {
    let or_nothing = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    (or_nothing(actor), action, or_nothing(subject), or_nothing(place), or_nothing(detail))
}

/// One entry for whatever was done, in its order, by name.
pub async fn changes_are_audited(world: World) {
    use AuditAction as Did;
    let tick = || world.clock.advance(Duration::from_secs(1));
    let ann = world.user("ann").await;
    tick();
    let (bot, aide) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Aide").await);
    tick();
    let since = world.clock.now();
    let key = world.accounts.create_key(ann.id, CreateKey::default()).await.unwrap();
    let prefix = key.record.prefix.clone().unwrap();
    tick();
    world.accounts.revoke_key(ann.caller, key.record.id).await.unwrap();
    tick();
    let titled = CreateChat { title: ChatTitle::renamed("Drafts").ok(), ..CreateChat::default() };
    let chat = world.chats.create(ann.caller, titled).await.unwrap().id;
    tick();
    world.chats.rename(ann.caller, chat, ChatTitle::renamed("Plans").unwrap()).await.unwrap();
    tick();
    let changes =
        AgentChanges { tags: Some(Vec::new()), registry_access: Some(true), ..AgentChanges::default() };
    world.accounts.update_agent(ann.caller, bot.id, changes).await.unwrap();
    tick();
    world.add(ann.caller, chat, bot.id.into(), Role::Admin).await;
    tick();
    world.add(bot.caller, chat, aide.id.into(), Role::Member).await;
    tick();
    world.chats.remove_participant(ann.caller, chat, aide.id).await.unwrap();
    tick();
    world.chats.remove_participant(bot.caller, chat, bot.id).await.unwrap();
    tick();
    world.chats.delete(ann.caller, chat).await.unwrap();
    tick();
    let marks = AgentMarks { is_global: Some(true), ..AgentMarks::default() };
    world.accounts.mark_agent("ann/aide", marks).await.unwrap().unwrap();
    tick();
    world.accounts.delete_agent(ann.caller, bot.id, true).await.unwrap();
    tick();
    for (who, disabled) in [(ParticipantId::User(ann.id), true), (ParticipantId::Agent(aide.id), false)] {
        for disabled in [disabled, !disabled] {
            world.administration.set_disabled(who, disabled).await.unwrap();
            tick();
        }
    }
    world.accounts.delete_agent_by(Actor::Operator, ann.id, aide.id, true).await.unwrap();
    tick();
    let plan = AssignPlan {
        organization: WhichOrganization::OfUser("ann".to_owned()),
        plan: PlanName::enterprise(),
    };
    world.plans.assign(plan).await.unwrap().unwrap();
    tick();
    world.accounts.revoke_keys(WhichKeys::AllOf(ParticipantId::User(ann.id))).await.unwrap();

    tick();
    let reset = world.logins.issue_reset(&UserHandle::new("ann").unwrap()).await.unwrap();
    tick();
    let password = Password::new("correct horse".to_owned()).unwrap();
    let open = world.logins.reset_password(&reset.token, password, SessionKind::Program).await.unwrap();
    tick();
    world.logins.log_out(&open.refresh_token).await.unwrap();

    let mut log = log_of(&world, None, Some(since)).await;
    let mut passwords = log.split_off(log.len() - 4).iter().map(summary).collect::<Vec<_>>();
    // The password and the session that comes with it have the same time.
    passwords[1..3].sort_by_key(|summary| summary.1.as_str());
    let expected = [
        line("", Did::PasswordResetIssued, "ann", "", ""),
        line("ann", Did::LoginSucceeded, "ann", "", ""),
        line("ann", Did::PasswordSet, "ann", "", ""),
        line("ann", Did::SessionEnded, "ann", "", ""),
    ];
    assert_eq!(passwords, expected);
    let expected = [
        line("ann", Did::KeyCreated, &prefix, "ann", ""),
        line("ann", Did::KeyRevoked, &prefix, "ann", ""),
        line("ann", Did::ChatCreated, "Plans", "", "Drafts"),
        line("ann", Did::ChatRenamed, "Plans", "", "Plans"),
        line("ann", Did::AgentUpdated, "ann/bot", "", "tags registry=true"),
        line("ann", Did::ParticipantAdded, "ann/bot", "Plans", "admin"),
        line("ann/bot", Did::ParticipantAdded, "ann/aide", "Plans", "member"),
        line("ann", Did::ParticipantRemoved, "ann/aide", "Plans", ""),
        line("ann/bot", Did::ParticipantLeft, "ann/bot", "Plans", ""),
        line("ann", Did::ChatDeleted, "Plans", "", ""),
        line("", Did::AgentMarked, "ann/aide", "", "global=true"),
        line("ann", Did::AgentDeleted, "ann/bot", "", ""),
        line("", Did::AccountDisabled, "ann", "", ""),
        line("", Did::AccountEnabled, "ann", "", ""),
        line("", Did::AccountDisabled, "ann/aide", "", ""),
        line("", Did::AgentDeleted, "ann/aide", "", ""),
        line("", Did::PlanSet, "ann", "", PlanName::enterprise().as_str()),
    ];
    let (last, before) = log.split_last().unwrap();
    assert_eq!(before.iter().map(summary).collect::<Vec<_>>(), expected);
    assert_eq!((&last.actor, last.action), (&RecordedActor::Operator, Did::KeyRevoked));
    assert!(log.iter().all(|entry| entry.organization == Some(ann.caller.organization)));

    let all = log_of(&world, None, None).await;
    let mut made = all[..3].iter().map(|entry| (entry.action, entry.subject.object)).collect::<Vec<_>>();
    made[1..].sort_by_key(|(_, object)| object.parts().1.uuid() != bot.id.uuid());
    let registered = |agent| (Did::AgentRegistered, AuditObject::Agent(agent));
    let user = (Did::UserCreated, AuditObject::User(ann.id));
    assert_eq!(made, [user, registered(bot.id), registered(aide.id)]);
    assert_eq!(all.len(), log.len() + 7);
}

/// Nothing is told of what was refused, or of what was done already.
pub async fn refused_changes_are_not_audited(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[]).await;
    let before = log_of(&world, None, None).await;
    world.accounts.delete_agent(ben.caller, bot.id, true).await.unwrap_err();
    world.chats.delete(ben.caller, chat).await.unwrap_err();
    let command = AddParticipantCommand { candidate: ben.id.into(), role: Role::Member };
    world.chats.add_participant(ben.caller, chat, command).await.unwrap_err();
    world.chats.remove_participant(ann.caller, chat, ben.id).await.unwrap_err();
    world.accounts.revoke_key(ben.caller, domain::id::ApiKeyId::new(bot.id.uuid())).await.unwrap_err();
    world.accounts.mark_agent("ann/nobody", AgentMarks::default()).await.unwrap();
    let plan = AssignPlan {
        organization: WhichOrganization::OfUser("nobody".to_owned()),
        plan: PlanName::enterprise(),
    };
    world.plans.assign(plan).await.unwrap().unwrap_err();
    assert_eq!(log_of(&world, None, None).await, before);
}

/// An entry belongs to the organization of the room, or of whom it is about, and to no other.
pub async fn entries_stay_in_their_organization(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let (bot, own) = (world.agent(&ann, "Bot").await, world.agent(&ben, "Own").await);
    world.make_global(&own).await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    world.add(ann.caller, chat, own.id.into(), Role::Owner).await;
    world.chats.remove_participant(own.caller, chat, bot.id).await.unwrap();
    let (anns, bens) = (ann.caller.organization, ben.caller.organization);
    let of_ann = log_of(&world, Some(anns), None).await;
    let removed = of_ann.iter().find(|entry| entry.action == AuditAction::ParticipantRemoved).unwrap();
    assert_eq!(removed.actor.known().unwrap().object, AuditObject::Agent(own.id));
    let of_ben = log_of(&world, Some(bens), None).await;
    let actions = of_ben.iter().map(|entry| entry.action).collect::<Vec<_>>();
    assert_eq!(actions.len(), 3, "{actions:?}");
    assert!(of_ann.iter().chain(&of_ben).all(|entry| {
        let expected = if of_ann.contains(entry) { anns } else { bens };
        entry.organization == Some(expected)
    }));
    let all = log_of(&world, None, None).await;
    assert_eq!(all.len(), of_ann.len() + of_ben.len());
}

/// Only admins of an organization read its entries.
pub async fn only_admins_read_the_log(world: World) {
    let ann = world.user("ann").await;
    let ben = world.colleague("ben", "ann").await;
    assert_eq!(ben.caller.organization, ann.caller.organization);
    let eve = world.user("eve").await;
    let ask = |caller: UserCaller| {
        let filter = AuditFilter::of(AuditScope::Of(Authority::Admin(caller)));
        let page = PageRequest { slice: Slice::Numbered { number: 1, size: 1 }, count: true };
        world.stores.audit.list_audit(filter, page)
    };
    assert_eq!(ask(ann.caller).await.unwrap().unwrap().total, Some(2));
    assert_eq!(ask(ben.caller).await.unwrap(), Err(NotAdmin));
    assert_eq!(ask(eve.caller).await.unwrap().unwrap().total, Some(1));
    let stranger = UserCaller { organization: ann.caller.organization, ..eve.caller };
    assert_eq!(ask(stranger).await.unwrap(), Err(NotAdmin));
}

/// A rename does not reach into the log, but for titles of rooms, which are not kept as they may be made of a
/// text.
pub async fn entries_keep_the_names_of_their_time(world: World) {
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let chat = world.chat(ann.caller, &[]).await;
    let rename = |title: &str| world.chats.rename(ann.caller, chat, ChatTitle::renamed(title).unwrap());
    rename("Before").await.unwrap();
    world.connect((ann.caller, "ann"), (ben.caller, "ben")).await;
    world.clock.advance(Duration::from_secs(1));
    world.add(ann.caller, chat, ben.id.into(), Role::Member).await;
    rename("After").await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    let by = Authority::Admin(ann.caller);
    let name = OrganizationName::new("Works").unwrap();
    world.organizations.rename(by, name).await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    let key = world.accounts.create_key(ann.id, CreateKey::default()).await.unwrap();

    let log = log_of(&world, None, None).await;
    let summary = log.iter().map(summary).collect::<Vec<_>>();
    assert!(
        summary.contains(&line("ann", AuditAction::ParticipantAdded, "ben", "After", "member")),
        "{summary:?}"
    );
    assert!(
        summary.contains(&line("ann", AuditAction::OrganizationRenamed, "ann", "", "Works")),
        "{summary:?}"
    );
    let prefix = key.record.prefix.unwrap();
    assert!(summary.contains(&line("ann", AuditAction::KeyCreated, &prefix, "ann", "")), "{summary:?}");
}

/// Editing and deleting leave an entry each, without any text.
pub async fn edits_are_audited(world: World) {
    let ann = world.user("ann").await;
    let bot = world.agent(&ann, "Bot").await;
    let chat = world.chat(ann.caller, &[bot.id.into()]).await;
    world.chats.rename(ann.caller, chat, ChatTitle::renamed("Plans").unwrap()).await.unwrap();
    let sent = world.send(ann.caller, chat, "secret words", &[ParticipantId::Agent(bot.id)]).await.id;
    world.clock.advance(Duration::from_secs(1));
    let content = MessageContent::new("other words".to_owned()).unwrap();
    world.messages.edit(ann.caller, chat, sent, content.clone()).await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    world.messages.edit(ann.caller, chat, MessageId::new(bot.id.uuid()), content).await.unwrap_err();
    world.messages.delete(ann.caller, chat, sent).await.unwrap();

    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let changes = log.iter().filter(|entry| matches!(entry.subject.object, AuditObject::Message(_)));
    let changes =
        changes.map(|entry| (entry.action, entry.subject.object, entry.place.clone().unwrap().object));
    let (subject, place) = (AuditObject::Message(sent), AuditObject::Chat(chat));
    let expected =
        [(AuditAction::MessageEdited, subject, place), (AuditAction::MessageDeleted, subject, place)];
    assert_eq!(changes.collect::<Vec<_>>(), expected);
    assert!(!format!("{log:?}").contains("words"), "{log:?}");
}

/// Each filter alone, and with the others.
pub async fn entries_are_filtered(world: World) {
    let tick = || world.clock.advance(Duration::from_secs(1));
    let (ann, ben) = (world.user("ann").await, world.user("ben").await);
    let bot = world.agent(&ann, "Bot").await;
    let (one, other) = (world.chat(ann.caller, &[]).await, world.chat(ben.caller, &[]).await);
    tick();
    let second = world.clock.now();
    world.add(ann.caller, one, bot.id.into(), Role::Admin).await;
    let aide = world.agent(&ann, "Aide").await;
    tick();
    world.add(bot.caller, one, aide.id.into(), Role::Member).await;
    world.chats.remove_participant(ann.caller, one, bot.id).await.unwrap();

    let all = log_of(&world, None, None).await;
    let own = AuditScope::Of(Authority::Admin(ann.caller));
    let subject = |id: SubjectId| move |entry: &AuditRecord| entry.subject.object.parts().1 == id;
    let actor = |id: SubjectId| {
        move |entry: &AuditRecord| entry.actor.known().is_some_and(|actor| actor.object.parts().1 == id)
    };
    let (ann_id, bot_id) = (SubjectId::new(ann.id.uuid()), SubjectId::from(bot.id));
    let added = AuditAction::ParticipantAdded;
    for scope in [AuditScope::Everything, own] {
        let base = AuditFilter::of(scope.clone());
        let expect = async |filter: AuditFilter, count, wanted: &dyn Fn(&AuditRecord) -> bool| {
            let is_own = |entry: &AuditRecord| entry.organization == Some(ann.caller.organization);
            let in_scope = |entry: &&AuditRecord| scope == AuditScope::Everything || is_own(entry);
            let mut expected =
                all.iter().filter(in_scope).filter(|entry| wanted(entry)).cloned().collect::<Vec<_>>();
            expected.sort_by_key(|entry| (entry.at, entry.id));
            assert_eq!(expected.len(), count, "{filter:?}");
            let page = PageRequest { slice: Slice::Numbered { number: 1, size: 1 }, count: true };
            let counted = world.stores.audit.list_audit(filter.clone(), page).await.unwrap().unwrap().total;
            assert_eq!(counted, Some(count as u64), "{filter:?}");
            assert_eq!(pages_of(&world, filter.clone()).await, expected, "{filter:?}");
        };
        let (in_all, since) = (scope == AuditScope::Everything, Some(second));
        let of_bot = AuditFilter { subject: Some(bot_id), ..base.clone() };
        expect(of_bot.clone(), 3, &subject(bot_id)).await;
        expect(AuditFilter { until: since, ..of_bot.clone() }, 2, &|entry| {
            subject(bot_id)(entry) && entry.at <= second
        })
        .await;
        expect(AuditFilter { action: Some(added), ..of_bot.clone() }, 1, &|entry| {
            subject(bot_id)(entry) && entry.action == added
        })
        .await;
        expect(AuditFilter { actor: Some(bot_id), ..of_bot }, 0, &|_| false).await;
        let by_ann = AuditFilter { actor: Some(ann_id), ..base.clone() };
        expect(by_ann.clone(), 5, &actor(ann_id)).await;
        expect(AuditFilter { since, until: since, ..by_ann.clone() }, 2, &|entry| {
            actor(ann_id)(entry) && entry.at == second
        })
        .await;
        expect(AuditFilter { action: Some(added), ..by_ann }, 1, &|entry| {
            actor(ann_id)(entry) && entry.action == added
        })
        .await;
        let created = AuditAction::ChatCreated;
        expect(AuditFilter { action: Some(added), ..base.clone() }, 2, &|entry| entry.action == added).await;
        expect(AuditFilter { action: Some(created), ..base }, 1 + usize::from(in_all), &|entry| {
            entry.action == created
        })
        .await;
    }
    assert!(all.iter().any(subject(SubjectId::from(other))));
}

/// The service on the log of a world.
fn service(world: &World) -> AuditService {
    AuditService::new(world.stores.audit.clone())
}

/// Sealed entries stay verifiable, also with an earlier anchor; unsealed ones are counted.
pub async fn sealed_entries_form_a_chain(world: World) {
    let service = service(&world);
    let empty = service.verify(None).await.unwrap();
    assert_eq!((empty.checked, empty.state.unsealed, empty.state.head, empty.fault_count), (0, 0, None, 0));
    let ann = world.user("ann").await;
    world.agent(&ann, "Bot").await;
    let before = service.verify(None).await.unwrap();
    assert_eq!((before.checked, before.state.unsealed, before.fault_count), (0, 2, 0));
    let since = before.state.unsealed_since.unwrap();
    let minute = Duration::from_secs(60);
    assert_eq!(before.state.overdue(since.plus(minute)), None);
    assert_eq!(before.state.overdue(since.plus(minute * 2)), Some(since));
    assert_eq!(service.seal_some().await.unwrap(), 2);
    assert_eq!(service.seal_some().await.unwrap(), 0);
    let first = service.verify(None).await.unwrap();
    assert_eq!((first.checked, first.state.unsealed, first.fault_count), (2, 0, 0), "{first:?}");
    let anchor = first.state.head.unwrap();
    assert_eq!(anchor.number, 2);

    world.clock.advance(Duration::from_secs(1));
    world.agent(&ann, "Aide").await;
    service.append(vec![AuditEntry::store_exported(world.clock.now())]).await.unwrap();
    let log = log_of(&world, None, None).await;
    let exported = log.iter().find(|entry| entry.action == AuditAction::StoreExported).unwrap();
    assert_eq!(exported.organization, None);
    while service.seal_some().await.unwrap() > 0 {}
    let second = service.verify(Some(anchor)).await.unwrap();
    assert_eq!((second.checked, second.state.unsealed, second.fault_count), (4, 0, 0), "{second:?}");
    assert_ne!(second.state.head, first.state.head);

    let other = ChainLink { number: 2, ..second.state.head.unwrap() };
    let broken = service.verify(Some(other)).await.unwrap();
    assert_eq!(broken.faults, [ChainFault::Anchor(other)]);
    assert!(service.goes_through(anchor).await.unwrap());
    let gone = ChainLink { number: 9, ..anchor };
    assert!(!service.goes_through(other).await.unwrap() && !service.goes_through(gone).await.unwrap());
}

/// Entries are written and sealed by many at once, and there is one chain.
pub async fn many_sealers_make_one_chain(world: World) {
    let ann = world.user("ann").await;
    let write = async |writer: u32| {
        let service = service(&world);
        for step in 0..10 {
            world.agent(&ann, &format!("Bot {writer} {step}")).await;
            service.seal_some().await.unwrap();
        }
    };
    tokio::join!(write(1), write(2), write(3), write(4));
    let service = service(&world);
    while service.seal_some().await.unwrap() > 0 {}
    let report = service.verify(None).await.unwrap();
    assert_eq!((report.checked, report.state.unsealed, report.fault_count), (1 + 4 * 10, 0, 0), "{report:?}");
}
