//! What waits for a human: items of messages, flagged work, and contact requests in one list.

use std::time::Duration;

use domain::attention::{
    AnswerAttentionError, AttentionAnswer, AttentionFilter, AttentionId, AttentionItem, AttentionKind,
    AttentionLine, AttentionOutcome, AttentionState, Decision, DismissAttentionError,
};
use domain::audit::AuditAction;
use domain::caller::UserCaller;
use domain::chat::Role;
use domain::event::DomainEvent;
use domain::id::{AgentId, ChatId, MessageId, ParticipantId};
use domain::message::{
    Ageing, DeadlineWalk, EventContent, EventMetadata, HistoryFilter, Message, MessageContent, MessageKind,
    PostEvent, Retention, SendMessage,
};
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use domain::services::Services;
use domain::work::WorkChange;
use serde_json::{Value, json};

use super::audit::log_of;
use super::holds::pair;
use super::messages::{ann_and_bot, first};
use crate::world::text;
use crate::{TestAgent, TestUser, World};

const MINUTE: Duration = Duration::from_secs(60);

/// Posts an event of the kind `attention`.
pub(crate) async fn ask(
    world: &World,
    agent: &TestAgent,
    chat: ChatId,
    content: &str,
    metadata: Value,
) -> Message {
    let Value::Object(metadata) = metadata else { panic!("{metadata}") };
    let event = PostEvent {
        kind: MessageKind::Attention,
        content: EventContent::new(content.to_owned()).unwrap(),
        metadata: EventMetadata::new(metadata).unwrap(),
        in_reply_to: None,
    };
    world.messages.post_event(agent.caller, chat, event).await.unwrap()
}

/// A text of the adapter of Claude, to the owner of the agent.
pub(crate) async fn request(world: &World, agent: &TestAgent, chat: ChatId, token: &str) -> MessageId {
    let content = format!(
        "Approval requested (Bash: `ls`). Token: `{token}`.\nReply `/approve {token}` or `/decline {token}`.\n\
         Use `/approvals` to list pending approvals."
    );
    let owner = ParticipantId::User(agent.caller.owner);
    world.send(agent.caller, chat, &content, &[owner]).await.id
}

/// Makes items that have a value in every column.
pub(crate) async fn fill(world: &World, ann: &TestUser, agent: &TestAgent) {
    let chat = world.chat(ann.caller, &[agent.id.into()]).await;
    let expires_at = world.clock.now().plus(MINUTE).to_string();
    let metadata =
        json!({"kind": "question", "blocking": true, "expires_at": expires_at, "default": "I \u{1} wait"});
    ask(world, agent, chat, "Go?", metadata).await;
    let requested = request(world, agent, chat, "a-1").await;
    answer(world, ann, requested, Decision::Approve.into()).await.unwrap();
}

pub(super) async fn lines(
    world: &World,
    user: UserCaller,
    state: Option<AttentionState>,
) -> Vec<AttentionLine> {
    let filter = AttentionFilter { state, chat: None };
    let page = world.attention.list(user, filter, first(100)).await.unwrap();
    assert_eq!(page.next, None);
    page.rows
}

/// The messages of the items in this state, and nothing else.
async fn listed(world: &World, user: &TestUser, state: AttentionState) -> Vec<MessageId> {
    let item = |line| match line {
        AttentionLine::Item(item) => item.message,
        other => panic!("{other:?}"),
    };
    lines(world, user.caller, Some(state)).await.into_iter().map(item).collect()
}

async fn open(world: &World, user: &TestUser) -> Vec<MessageId> {
    listed(world, user, AttentionState::Open).await
}

pub(super) async fn item(world: &World, user: &TestUser, message: MessageId) -> AttentionItem {
    match world.attention.find(user.caller, AttentionId::Item(message)).await.unwrap() {
        Some(AttentionLine::Item(item)) => item,
        other => panic!("{other:?}"),
    }
}

pub(super) fn said(text: &str) -> AttentionAnswer {
    MessageContent::new(text.to_owned()).unwrap().into()
}

pub(super) async fn answer(
    world: &World,
    user: &TestUser,
    message: MessageId,
    answer: AttentionAnswer,
) -> Result<AttentionLine, AnswerAttentionError> {
    world.attention.answer(user.caller, AttentionId::Item(message), answer).await
}

/// The texts of a room, oldest first.
async fn texts(world: &World, ann: &TestUser, chat: ChatId) -> Vec<Message> {
    let filter = HistoryFilter { oldest_first: true, ..HistoryFilter::default() };
    let page = world.messages.history(ann.caller, chat, filter, first(100)).await.unwrap();
    page.rows.into_iter().filter(|message| message.kind == MessageKind::Text).collect()
}

/// What blocks comes first. Whoever is not in the room sees nothing, and changes nothing.
pub async fn items_are_listed_for_those_in_their_room(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let (ben, zoe) = (world.user("ben").await, world.user("zoe").await);
    world.connect((ann.caller, "ann"), (ben.caller, "ben")).await;
    let other = world.chat(ann.caller, &[bot.id.into(), ben.id.into()]).await;
    let assumed = ask(&world, &bot, chat, "I take the old one.", json!({"kind": "assumption"})).await.id;
    world.clock.advance(MINUTE);
    let asked =
        ask(&world, &bot, other, "Which key?", json!({"kind": "question", "blocking": true})).await.id;
    world.clock.advance(MINUTE);
    let failed = ask(&world, &bot, other, "It broke.", json!({"kind": "failure", "blocking": true})).await.id;
    assert_eq!(open(&world, &ann).await, [asked, failed, assumed]);
    assert_eq!(open(&world, &ben).await, [asked, failed]);
    assert_eq!(open(&world, &zoe).await, []);
    let shown = item(&world, &ben, asked).await;
    assert_eq!((shown.kind, shown.is_blocking, shown.chat), (AttentionKind::Question, true, other));
    assert_eq!((shown.summary.as_str(), shown.sender.handle.as_deref()), ("Which key?", Some("ann/bot")));
    for stranger in [&zoe, &ben] {
        let id = AttentionId::Item(assumed);
        assert_eq!(world.attention.find(stranger.caller, id).await.unwrap(), None);
        let refused = answer(&world, stranger, assumed, said("no")).await.unwrap_err();
        assert!(matches!(refused, AnswerAttentionError::NotFound), "{refused}");
        let refused = world.attention.dismiss(stranger.caller, id).await.unwrap_err();
        assert!(matches!(refused, DismissAttentionError::NotFound), "{refused}");
    }
    world.chats.remove_participant(ann.caller, other, ben.id).await.unwrap();
    assert_eq!(open(&world, &ben).await, []);
    world.chats.delete(ann.caller, other).await.unwrap();
    assert_eq!(open(&world, &ann).await, [assumed]);
    let filter = AttentionFilter { chat: Some(other), ..AttentionFilter::default() };
    assert_eq!(world.attention.list(ann.caller, filter, first(9)).await.unwrap().rows, []);
}

/// Pages of two lines put together are the whole list: items, work, and contact requests.
pub async fn a_list_is_paged_over_all_its_parts(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let zoe = world.user("zoe").await;
    for (number, blocking) in [false, true, false, true, true].into_iter().enumerate() {
        let metadata = json!({"kind": "review", "blocking": blocking});
        ask(&world, &bot, chat, &format!("event {number}"), metadata).await;
        // Some are of the same time.
        world.clock.advance(MINUTE * u32::try_from(number % 2).unwrap());
    }
    world.ask(zoe.caller, "ann").await;
    world.send(ann.caller, chat, "still there?", &[ParticipantId::Agent(bot.id)]).await;
    world.clock.advance(MINUTE * 6);
    ask(&world, &bot, chat, "the last one", json!({"kind": "review"})).await;
    for (state, number) in [(Some(AttentionState::Open), 8), (None, 6)] {
        let whole = lines(&world, ann.caller, state).await;
        assert_eq!(whole.len(), number, "{whole:?}");
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let request = PageRequest { slice: Slice::After { after, limit: 2 }, count: false };
            let filter = AttentionFilter { state, chat: None };
            let page = world.attention.list(ann.caller, filter, request).await.unwrap();
            assert!((1..=2).contains(&page.rows.len()));
            pages.extend(page.rows);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(pages, whole);
    }
    let whole = lines(&world, ann.caller, Some(AttentionState::Open)).await;
    let [.., AttentionLine::Contact(request), AttentionLine::Work(work), AttentionLine::Item(last)] =
        &whole[..]
    else {
        panic!("{whole:?}")
    };
    assert_eq!((request.requester.handle.as_str(), last.summary.as_str()), ("zoe", "the last one"));
    assert_eq!(work.summary(), "1 message of @ann/bot needs attention: unanswered.");
    let approve = AttentionAnswer::from(Decision::Approve);
    let id = AttentionId::Contact(request.id);
    let refused = world.attention.answer(ann.caller, id, said("yes")).await.unwrap_err();
    assert!(matches!(refused, AnswerAttentionError::NeedsDecision(_)), "{refused}");
    world.attention.answer(ann.caller, id, approve.clone()).await.unwrap();
    let work = AttentionId::Work(bot.id, chat);
    let refused = world.attention.answer(ann.caller, work, approve).await.unwrap_err();
    assert!(matches!(refused, AnswerAttentionError::TakesNone), "{refused}");
    assert_eq!(lines(&world, ann.caller, Some(AttentionState::Open)).await.len(), 7);
    assert_eq!(lines(&world, zoe.caller, Some(AttentionState::Open)).await, []);
}

/// The answer mentions the asker and follows from the event; the same one again is not a second text.
pub async fn an_answer_is_posted_once_and_ends_its_item(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let ben = world.colleague("ben", "ann").await;
    world.add(ann.caller, chat, ben.id.into(), Role::Member).await;
    let asked = ask(&world, &bot, chat, "Which key?", json!({"kind": "question"})).await.id;
    world.clock.advance(MINUTE);
    let refused = answer(&world, &ann, asked, Decision::Approve.into()).await.unwrap_err();
    assert!(matches!(refused, AnswerAttentionError::NeedsText), "{refused}");
    world.publisher.take();
    for _ in 0..2 {
        answer(&world, &ann, asked, said("the new one")).await.unwrap();
    }
    let is_text = |event: &DomainEvent| matches!(event, DomainEvent::MessageCreated { .. });
    assert_eq!(world.publisher.take().iter().filter(|event| is_text(event)).count(), 1);
    let texts = texts(&world, &ann, chat).await;
    let [posted] = &texts[..] else { panic!("{texts:?}") };
    assert_eq!(posted.with_handles(&posted.content), "@ann/bot the new one");
    assert_eq!(posted.place().message, Some(asked));
    assert_eq!(posted.addressed_agents(), [bot.id]);
    let ended = item(&world, &ben, asked).await;
    assert_eq!(ended.ended, Some((AttentionOutcome::Answered, world.clock.now())));
    assert_eq!(ended.answered_by.as_ref().map(|by| by.handle.as_str()), Some("ann"));
    assert_eq!(ended.answer, Some(posted.id));
    assert_eq!(listed(&world, &ann, AttentionState::Answered).await, [asked]);
    assert_eq!(open(&world, &ann).await, []);
    for (user, text) in [(&ben, "the new one"), (&ann, "no, the old one")] {
        let refused = answer(&world, user, asked, said(text)).await.unwrap_err();
        let AnswerAttentionError::Answered(Some(by)) = refused else { panic!("{refused}") };
        assert_eq!(by.id, ann.id);
    }
    let refused = world.attention.dismiss(ben.caller, AttentionId::Item(asked)).await.unwrap_err();
    assert!(matches!(refused, DismissAttentionError::Ended(Some(by)) if by.id == ann.id));
    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let answered = log.iter().filter(|entry| entry.action == AuditAction::AttentionAnswered);
    assert_eq!(answered.count(), 1);
    let late = ask(&world, &bot, chat, "And now?", json!({"kind": "question"})).await.id;
    world.chats.remove_participant(ann.caller, chat, bot.id).await.unwrap();
    let refused = answer(&world, &ann, late, said("leave")).await.unwrap_err();
    assert!(matches!(refused, AnswerAttentionError::AskerLeft), "{refused}");
}

/// Of many answers at the same moment one is posted, and all others hear whose it was.
pub async fn one_of_many_answers_counts(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let mut users = vec![ann.clone()];
    for handle in ["ben", "cai", "dan"] {
        let user = world.colleague(handle, "ann").await;
        world.add(ann.caller, chat, user.id.into(), Role::Member).await;
        users.push(user);
    }
    for round in 0..5 {
        let asked = ask(&world, &bot, chat, &format!("{round}?"), json!({"kind": "question"})).await.id;
        let answers = users.iter().map(|user| {
            let (world, user) = (Services::clone(&world), user.clone());
            tokio::spawn(async move {
                let (id, text) = (AttentionId::Item(asked), said(&format!("by {}", user.handle)));
                if user.handle == "dan" {
                    return world.attention.dismiss(user.caller, id).await.is_ok().then_some(user);
                }
                world.attention.answer(user.caller, id, text).await.is_ok().then_some(user)
            })
        });
        let mut winners = Vec::new();
        for answer in answers.collect::<Vec<_>>() {
            winners.extend(answer.await.unwrap());
        }
        let [winner] = &winners[..] else { panic!("{winners:?}") };
        let ended = item(&world, &ann, asked).await;
        assert_eq!(ended.answered_by.map(|by| by.id), Some(winner.id));
        let posted = texts(&world, &ann, chat).await;
        let replies = posted.iter().filter(|text| text.place().message == Some(asked)).collect::<Vec<_>>();
        assert_eq!(replies.len(), usize::from(winner.handle != "dan"), "{replies:?}");
        assert_eq!(ended.answer, replies.first().map(|text| text.id));
    }
}

/// By the list, or as somebody types it in the room; the adapter settles it as well.
pub async fn an_approval_gets_the_reply_of_its_adapter(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let to_bot = [ParticipantId::Agent(bot.id)];
    let first = request(&world, &bot, chat, "a-1").await;
    let shown = item(&world, &ann, first).await;
    assert_eq!((shown.kind, shown.is_blocking), (AttentionKind::Approval, true));
    assert_eq!(shown.expires_at, Some(shown.created_at.plus(Duration::from_secs(300))));
    assert_eq!(shown.decisions(), [Decision::Approve, Decision::Decline]);
    assert!(shown.summary.starts_with("@ann Approval requested (Bash: `ls`)."), "{}", shown.summary);
    for wrong in [said("yes"), Decision::ApproveSession.into()] {
        let refused = answer(&world, &ann, first, wrong).await.unwrap_err();
        assert!(matches!(refused, AnswerAttentionError::NeedsDecision(_)), "{refused}");
    }
    answer(&world, &ann, first, Decision::Decline.into()).await.unwrap();
    let last = texts(&world, &ann, chat).await.pop().unwrap();
    assert_eq!(last.with_handles(&last.content), "@ann/bot /decline a-1");

    let second = request(&world, &bot, chat, "a-2").await;
    let reply = |content: &str, in_reply_to| SendMessage { in_reply_to, ..text(content, &to_bot) };
    // A question about it is no decision, and neither is one about another request.
    for (content, of) in [("why?", Some(second)), ("/approve a-9", None), ("/approvals", None)] {
        world.messages.send(ann.caller, chat, reply(content, of)).await.unwrap();
    }
    assert_eq!(open(&world, &ann).await, [second]);
    let typed = world.messages.send(ann.caller, chat, reply("/approve a-2", None)).await.unwrap();
    let ended = item(&world, &ann, second).await;
    assert_eq!((ended.answer, ended.answered_by.unwrap().id), (Some(typed.id), ann.id));

    let (ann_too, tokens) = ([ParticipantId::User(ann.id)], ["a-3", "a-4", "a-5"]);
    let mut items = Vec::new();
    for token in tokens {
        items.push(request(&world, &bot, chat, token).await);
    }
    for content in
        ["Approval `a-3` resolved as **accept**.", "Approval `a-4` timed out. Decision: **decline**."]
    {
        world.send(bot.caller, chat, content, &ann_too).await;
    }
    let outcomes = [AttentionOutcome::Resolved, AttentionOutcome::Expired];
    for (item_of, outcome) in items.iter().zip(outcomes) {
        assert_eq!(item(&world, &ann, *item_of).await.ended.unwrap().0, outcome);
    }
    // The process of the adapter has restarted, and counts from the beginning: an answer to the earlier request would be
    // taken for one to the new one, even if that had expired.
    let again = request(&world, &bot, chat, "a-5").await;
    request(&world, &bot, chat, "a-4").await;
    for superseded in [items[1], items[2]] {
        assert_eq!(item(&world, &ann, superseded).await.ended.unwrap().0, AttentionOutcome::Resolved);
        let refused = answer(&world, &ann, superseded, Decision::Approve.into()).await.unwrap_err();
        assert!(matches!(refused, AnswerAttentionError::Answered(None)), "{refused}");
    }
    assert_eq!(listed(&world, &ann, AttentionState::Expired).await, []);
    // Other adapters understand these.
    for content in ["/approve-session a-4", "approve a-4"] {
        world.messages.send(ann.caller, chat, reply(content, None)).await.unwrap();
    }
    assert_eq!(open(&world, &ann).await.len(), 2);
    world.messages.send(ann.caller, chat, reply("/decline a-4", None)).await.unwrap();
    // What a human types is no request.
    world.send(ann.caller, chat, "Approval requested (x). Token: `t`.", &to_bot).await;
    assert_eq!(open(&world, &ann).await, [again]);
}

/// An expired item can be answered late. Only its asker resolves an item.
pub async fn items_expire_and_are_resolved(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let scout = world.agent(&ann, "Scout").await;
    world.add(ann.caller, chat, scout.id.into(), Role::Member).await;
    let now = world.clock.now();
    let metadata =
        |expires_at: Value| json!({"kind": "question", "expires_at": expires_at, "default": "I wait."});
    let brief = ask(&world, &bot, chat, "Go?", metadata(json!(now.plus(MINUTE).to_string()))).await.id;
    let shown = item(&world, &ann, brief).await;
    assert_eq!((shown.expires_at, shown.default.as_deref()), (Some(now.plus(MINUTE)), Some("I wait.")));
    let mut ignored = Vec::new();
    for wrong in [json!(7), json!("soon"), json!(now.to_string()), json!("2999-01-01T00:00:00Z"), json!(null)]
    {
        ignored.push(ask(&world, &bot, chat, "Go on?", metadata(wrong)).await.id);
        assert_eq!(item(&world, &ann, *ignored.last().unwrap()).await.expires_at, None);
    }
    world.clock.advance(MINUTE);
    assert_eq!(open(&world, &ann).await, ignored);
    assert_eq!(listed(&world, &ann, AttentionState::Expired).await, [brief]);
    // Another item of the room records what has expired, which does not show.
    let resolves =
        |id: MessageId| json!({"kind": "question", "resolves": id.to_string(), "resolution": "found it"});
    ask(&world, &scout, chat, "Not mine.", json!({"kind": "assumption"})).await;
    assert_eq!(listed(&world, &ann, AttentionState::Expired).await, [brief]);
    answer(&world, &ann, brief, said("better late")).await.unwrap();
    assert_eq!(item(&world, &ann, brief).await.state(world.clock.now()), AttentionState::Answered);
    ask(&world, &scout, chat, "I know that.", resolves(ignored[0])).await;
    assert_eq!(item(&world, &ann, ignored[0]).await.ended, None, "another agent");
    ask(&world, &bot, chat, "I know that.", resolves(ignored[0])).await;
    let ended = item(&world, &ann, ignored[0]).await;
    assert_eq!(ended.ended.map(|(outcome, _)| outcome), Some(AttentionOutcome::Resolved));
    assert_eq!(ended.answered_by, None);
    let reply = |who: AgentId| SendMessage {
        in_reply_to: Some(ignored[1]),
        ..text("go on", &[ParticipantId::Agent(who)])
    };
    world.messages.send(ann.caller, chat, reply(scout.id)).await.unwrap();
    assert_eq!(item(&world, &ann, ignored[1]).await.ended, None, "its asker does not get it");
    let sent = world.messages.send(ann.caller, chat, reply(bot.id)).await.unwrap();
    assert_eq!(item(&world, &ann, ignored[1]).await.answer, Some(sent.id), "a reply in the room");
    let refused = answer(&world, &ann, ignored[0], said("too late")).await.unwrap_err();
    assert!(matches!(refused, AnswerAttentionError::Answered(None)), "{refused}");
}

/// Nobody waits for an answer to them: they are dismissed, or what they are about ends.
pub async fn notices_are_dismissed_or_released(world: World) {
    let pair = pair(&world, 1).await;
    let (ann, chat, bot) = (&pair.ann, pair.chat, &pair.agents[0]);
    let late = SendMessage {
        respond_by: Some(world.clock.now().plus(MINUTE)),
        ..text("well?", &[ParticipantId::Agent(pair.agents[1].id)])
    };
    world.messages.send(ann.caller, chat, late).await.unwrap();
    world.clock.advance(MINUTE);
    world.messages.check_deadlines(&mut DeadlineWalk::default()).await.unwrap();
    let root = pair.root(&world).await;
    let held = pair.talk(&world, 0, root, 3).await.pop().unwrap().id;
    world.messages.notice_holds().await.unwrap();
    let is_item = |line: &AttentionLine| matches!(line, AttentionLine::Item(_));
    let items = lines(&world, ann.caller, Some(AttentionState::Open)).await;
    let items = items.into_iter().filter(is_item).collect::<Vec<_>>();
    let [AttentionLine::Item(notice), AttentionLine::Item(deadline)] = &items[..] else {
        panic!("{items:?}")
    };
    assert_eq!((notice.kind, notice.is_blocking, notice.asker()), (AttentionKind::Held, true, None));
    assert_eq!((deadline.kind, deadline.is_blocking), (AttentionKind::Deadline, false));
    let refused = answer(&world, ann, notice.message, said("go on")).await.unwrap_err();
    assert!(matches!(refused, AnswerAttentionError::TakesNone), "{refused}");
    let reply =
        SendMessage { in_reply_to: Some(notice.message), ..text("who?", &[ParticipantId::Agent(bot.id)]) };
    world.messages.send(ann.caller, chat, reply).await.unwrap();
    assert_eq!(item(&world, ann, notice.message).await.ended, None, "a reply releases nothing");
    for _ in 0..2 {
        let dismissed =
            world.attention.dismiss(ann.caller, AttentionId::Item(deadline.message)).await.unwrap();
        assert_eq!(dismissed.ended.map(|(outcome, _)| outcome), Some(AttentionOutcome::Dismissed));
        assert_eq!(dismissed.answered_by.map(|by| by.id), Some(ann.id));
    }
    let recipient = pair.stored(&world, held).await.addressed_agents()[0];
    world.work.change(pair.scope(), held, recipient, WorkChange::Retry, None).await.unwrap();
    let released = item(&world, ann, notice.message).await;
    assert_eq!(released.ended.map(|(outcome, _)| outcome), Some(AttentionOutcome::Resolved));
    let log = log_of(&world, Some(ann.caller.organization), None).await;
    let dismissed = log.iter().filter(|entry| entry.action == AuditAction::AttentionDismissed);
    assert_eq!(dismissed.count(), 1);
}

/// An erased message takes its item with it.
pub async fn items_are_erased_with_their_messages(world: World) {
    let (ann, bot, chat) = ann_and_bot(&world).await;
    let asked = ask(&world, &bot, chat, "Which key?", json!({"kind": "question"})).await.id;
    let requested = request(&world, &bot, chat, "a-1").await;
    assert_eq!(open(&world, &ann).await, [requested, asked]);
    world.clock.advance(Duration::from_secs(3 * 24 * 60 * 60));
    for (which, left) in [(Ageing::Texts, vec![asked]), (Ageing::Events, vec![])] {
        let mut walk = Retention::days(which, 2);
        while world.messages.erase_old(&mut walk, world.clock.now()).await.unwrap().is_some() {}
        let all = lines(&world, ann.caller, None).await.into_iter().map(|line| line.id());
        assert_eq!(all.collect::<Vec<_>>(), left.into_iter().map(AttentionId::Item).collect::<Vec<_>>());
    }
}
