//! `parlance work …`

mod arguments;

pub(crate) use arguments::WorkCommand;

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use domain::account::Agent;
use domain::delivery::{Attempt, AttemptNumber, DeadLetterReason, HeldBy};
use domain::id::MessageId;
use domain::organization::Authority;
use domain::page::{PageRequest, Slice};
use domain::time::Timestamp;
use domain::work::{
    ChangeAllError, ChangeWorkError, ChangeWorkRefused, FindWorkError, ListWorkError, Resend, WorkChange,
    WorkFilter, WorkFlag, WorkItem, WorkScope, WorkService,
};
use serde_json::{Value, json};

use crate::commands::{agent, chat, org};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{List, Rows, Times, count, on_one_line, print, short};
use crate::progress::say;
use crate::store::{self, Store};
use crate::wiring;
use arguments::{
    DeadLetterWorkArguments, FilterWorkArguments, ListWorkArguments, ReassignWorkArguments,
    RetryWorkArguments, SendAgainWorkArguments, ShowWorkArguments, WhichWorkArguments,
};

/// The number of items that are read at once.
const AT_ONCE: u32 = 100;

/// The pause between two lists that are watched.
const PAUSE: Duration = Duration::from_secs(2);

/// Clears a terminal, and moves the cursor to its upper left corner.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// The next step for an unknown message or agent.
const WORK: &str = "list open work with `parlance work list`";

/// Runs the command on the configured store, and prints the result.
pub(crate) async fn run(config: &Config, command: WorkCommand) -> Result<(), Failure> {
    store::with(config, async |store| match &command {
        WorkCommand::List(arguments) => list(config, store, arguments).await,
        WorkCommand::Show(arguments) => show(config, store, arguments).await,
        WorkCommand::Retry(RetryWorkArguments { which }) => {
            change(config, store, which, WorkChange::Retry).await
        }
        WorkCommand::DeadLetter(DeadLetterWorkArguments { which, reason }) => {
            let reason = parse_reason(reason, "dead-letter")?;
            change(config, store, which, WorkChange::DeadLetter(reason)).await
        }
        WorkCommand::Reassign(ReassignWorkArguments { which, to, reason }) => {
            let reason = reason.as_ref().map(|reason| parse_reason(reason, "reassign")).transpose()?;
            let to = Some(agent::find(store, to).await?.id);
            change(config, store, which, WorkChange::Resend(Resend { to, reason })).await
        }
        WorkCommand::SendAgain(SendAgainWorkArguments { message, agent, reason, json }) => {
            let reason = reason.as_ref().map(|reason| parse_reason(reason, "send-again")).transpose()?;
            let again = WorkChange::Resend(Resend { to: None, reason });
            change_named(config, store, (message, agent), *json, again).await
        }
    })
    .await
}

fn parse_reason(text: &str, command: &str) -> Result<DeadLetterReason, Failure> {
    DeadLetterReason::new(text.to_owned()).map_err(|fault| {
        Failure::plain(format!("--reason: {fault}")).next(&format!("see `parlance work {command} --help`"))
    })
}

/// Whose work matches.
async fn scope(
    config: &Config,
    store: &Arc<dyn Store>,
    arguments: &FilterWorkArguments,
) -> Result<WorkScope, Failure> {
    let Some(name) = &arguments.org else { return Ok(WorkScope::Everything) };
    let organizations = wiring::organizations(config, store.clone());
    Ok(WorkScope::Of(Authority::Operator(org::named(&organizations, store, name).await?.id)))
}

async fn filter(store: &Arc<dyn Store>, arguments: &FilterWorkArguments) -> Result<WorkFilter, Failure> {
    let agent = match &arguments.agent {
        Some(handle) => Some(agent::find(store, handle).await?.id),
        None => None,
    };
    let chat = match &arguments.room {
        Some(room) => Some(chat::find(store, room).await?.chat.id),
        None => None,
    };
    let root = arguments.root.as_deref().map(|root| {
        let next = "take `metadata.cause.root_id` of a message of the tree; see `parlance work list --help`";
        MessageId::parse(root.trim())
            .ok_or_else(|| Failure::plain(format!("--root: '{root}' is not the id of a message")).next(next))
    });
    Ok(WorkFilter {
        agent,
        chat,
        root: root.transpose()?,
        state: arguments.state.map(Into::into),
        flag: arguments.flag.map(Into::into),
        ..WorkFilter::default()
    })
}

async fn list(config: &Config, store: &Arc<dyn Store>, arguments: &ListWorkArguments) -> Result<(), Failure> {
    let (scope, filter) =
        (scope(config, store, &arguments.filter).await?, filter(store, &arguments.filter).await?);
    let work = wiring::work(config, store.clone());
    loop {
        if arguments.watch && !arguments.print.json && std::io::stdout().is_terminal() {
            print(CLEAR)?;
        }
        list_once(&work, scope, &filter, arguments).await?;
        if !arguments.watch {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn list_once(
    work: &WorkService,
    scope: WorkScope,
    filter: &WorkFilter,
    arguments: &ListWorkArguments,
) -> Result<(), Failure> {
    let is_all = scope == WorkScope::Everything && *filter == WorkFilter::default();
    let empty = if is_all { "No open work." } else { "No such work." };
    let kind = List { name: Some("work"), headings: &["MESSAGE", "AGENT", "AGE", "TRIES", "STATE"], empty };
    let mut rows = Rows::begin(kind, &arguments.print)?;
    let (mut left, mut after) = (arguments.limit, None);
    while left > 0 {
        let request = PageRequest { slice: Slice::After { after, limit: left.min(AT_ONCE) }, count: false };
        let page = work.list(scope, filter.clone(), request).await.map_err(unread)?;
        left = left.saturating_sub(u32::try_from(page.rows.len()).unwrap_or(u32::MAX));
        let now = work.now();
        for item in &page.rows {
            let flags = work.flags(item, now);
            rows.row(|| as_json(item, &flags, now), |times| as_cells(item, &flags, times))?;
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    rows.end()
}

fn unknown(agent: &Agent, message: &str) -> Failure {
    Failure::plain(format!("'{}' has no message with the id '{message}'", agent.handle)).next(WORK)
}

/// Changes one message of an agent, or all work that matches.
async fn change(
    config: &Config,
    store: &Arc<dyn Store>,
    which: &WhichWorkArguments,
    change: WorkChange,
) -> Result<(), Failure> {
    if let (Some(message), Some(of)) = (&which.message, &which.of) {
        return change_named(config, store, (message, of), which.json, change).await;
    }
    let work = wiring::work(config, store.clone());
    let scope = scope(config, store, &which.filter).await?;
    change_all(&work, scope, filter(store, &which.filter).await?, which, change).await
}

/// Changes the message with this id of the agent with this handle.
async fn change_named(
    config: &Config,
    store: &Arc<dyn Store>,
    (message, of): (&str, &str),
    as_json_text: bool,
    change: WorkChange,
) -> Result<(), Failure> {
    let work = wiring::work(config, store.clone());
    let agent = agent::find(store, of).await?;
    let id = MessageId::parse(message.trim()).ok_or_else(|| unknown(&agent, message))?;
    let done = past(&change);
    let changed = work.change(WorkScope::Everything, id, agent.id, change.clone(), None).await;
    let item = changed.map_err(|error| match error {
        ChangeWorkError::Refused(ChangeWorkRefused::NotFound) => unknown(&agent, message),
        ChangeWorkError::Refused(refused) => {
            let next = next_after(&refused);
            Failure::plain(format!("the work was not {done}: {refused}")).next(next)
        }
        ChangeWorkError::Store(_) => {
            Failure::new(format!("the work was not {done}"), error).next(store::NEXT)
        }
    })?;
    let now = work.now();
    if as_json_text {
        return print(&json!({ "work": as_json(&item, &work.flags(&item, now), now) }).to_string());
    }
    let (message, handle) = (item.message, &item.agent.handle);
    print(&match (change, item.delivery.replaced_by()) {
        (WorkChange::Retry, _) => format!(
            "Retried {message} for {handle}: it is offered again. `parlance work show {message} {handle}` shows whether \
             the agent took it up. If it does not, `parlance work send-again` sends it as a new message."
        ),
        (WorkChange::Resend(_), Some(new)) => {
            format!("Message {new} replaces {message}, which was {done} and has left the queue of {handle}.")
        }
        (WorkChange::DeadLetter(_) | WorkChange::Resend(_), _) => {
            format!("Dead-lettered {message} for {handle}. `parlance work retry` reverses it.")
        }
    })
}

/// What to do about a refusal.
const fn next_after(refused: &ChangeWorkRefused) -> &'static str {
    match refused {
        ChangeWorkRefused::InProgress => "wait until it is stuck, or dead-letter it first",
        ChangeWorkRefused::NotAddressed => "send a message that mentions the agent",
        ChangeWorkRefused::Replaced(_) => "see the new message with `parlance work show`",
        ChangeWorkRefused::NotInChat => {
            "the agent's owner is the sender, and must be in the room: see `parlance chat show`"
        }
        ChangeWorkRefused::AgentNotInChat => "see the agents of the room with `parlance chat show`",
        ChangeWorkRefused::SameAgent => "run `parlance work send-again`",
        ChangeWorkRefused::Limit(_) => "give the organization another plan with `parlance plan set`",
        ChangeWorkRefused::NotFound | ChangeWorkRefused::NotAdmin(_) | ChangeWorkRefused::State(_) => {
            "see its state with `parlance work show`"
        }
    }
}

async fn change_all(
    work: &WorkService,
    scope: WorkScope,
    filter: WorkFilter,
    which: &WhichWorkArguments,
    change: WorkChange,
) -> Result<(), Failure> {
    let done = past(&change);
    let is_all = which.all || scope != WorkScope::Everything;
    let (mut changed, mut skipped, mut refused, mut after) = (0, 0, Vec::new(), None);
    loop {
        let part = work
            .change_all(scope, filter.clone(), is_all, change.clone(), after)
            .await
            .map_err(|error| match error {
                ChangeAllError::NoFilter => {
                    Failure::plain(format!("no work was {done}: no message is named"))
                        .next("name a message and its agent as `parlance work list` shows them, or add an option; `--all` means all \
                         open work")
                }
                ChangeAllError::NotRetryable => Failure::plain(
                    "no work was retried: without a state, messages that wait would match",
                )
                .next("run, for example, `parlance work retry --flag failing`; the flags stuck, dead, and held and the \
                                states delivered, failed, dead, and held can be retried, too"),
                ChangeAllError::SameAgent => Failure::plain(format!("no work was {done}: {error}"))
                    .next("name two agents, or send one message again with `parlance work send-again`"),
                ChangeAllError::NotAdmin(_) | ChangeAllError::Store(_) => {
                    Failure::new(format!("not all work was {done}; {changed} messages were"), error)
                        .next(store::NEXT)
                }
            })?;
        changed += u64::from(part.changed);
        skipped += u64::from(part.skipped);
        refused.extend(part.refused);
        after = part.next;
        if after.is_none() {
            break;
        }
        say(&format!("{done} {}", count(changed, "message")));
    }
    print(&if which.json {
        let refused = refused.iter().map(|(message, agent, reason)| {
            json!({
                "message_id": message.to_string(), "agent_id": agent.to_string(), "reason": reason.to_string(),
            })
        });
        json!({ "changed": changed, "skipped": skipped, "refused": refused.collect::<Vec<_>>() }).to_string()
    } else {
        let left = refused.iter().map(|(message, _, reason)| format!("\n  {message} was not: {reason}"));
        let elsewhere = if skipped > 0 {
            format!(
                " {} skipped: the agent is not in the room, or has the text already.",
                count(skipped, "message")
            )
        } else {
            String::new()
        };
        format!("{} {done}.{elsewhere}{}", count(changed, "message"), left.collect::<String>())
    })
}

/// The change in the past tense, for messages.
const fn past(change: &WorkChange) -> &'static str {
    match change {
        WorkChange::Retry => "retried",
        WorkChange::DeadLetter(_) => "dead-lettered",
        WorkChange::Resend(Resend { to: Some(_), .. }) => "reassigned",
        WorkChange::Resend(Resend { to: None, .. }) => "sent again",
    }
}

async fn show(config: &Config, store: &Arc<dyn Store>, arguments: &ShowWorkArguments) -> Result<(), Failure> {
    let agent = agent::find(store, &arguments.agent).await?;
    let work = wiring::work(config, store.clone());
    let unknown = || unknown(&agent, &arguments.message);
    let message = MessageId::parse(arguments.message.trim()).ok_or_else(unknown)?;
    let found = work.find(WorkScope::Everything, message, agent.id).await;
    let item = found.map_err(|error| match error {
        FindWorkError::NotFound => unknown(),
        FindWorkError::NotAdmin(_) | FindWorkError::Store(_) => {
            Failure::new("cannot read the work", error).next(store::NEXT)
        }
    })?;
    let now = work.now();
    let flags = work.flags(&item, now);
    if arguments.print.json {
        return print(&json!({ "work": as_json(&item, &flags, now) }).to_string());
    }
    let times = Times::of(&arguments.print);
    let delivery = &item.delivery;
    let words = std::iter::once(delivery.status().as_str()).chain(flags.iter().map(|flag| flag.as_str()));
    let words = words.collect::<Vec<_>>().join(", ");
    let lines = [
        format!("{} for {}: {words}", item.message, item.agent.handle),
        format!("  room {}, message {}", item.chat, item.sequence.get()),
        format!("  from {} ({})", on_one_line(&item.sender_name), item.sender.kind().as_str()),
        format!(
            "  written {}, delivered {}, processed {}\n",
            times.text(item.written_at),
            times.or_hyphen(delivery.delivered_at()),
            times.or_hyphen(delivery.processed_at()),
        ),
    ];
    let dead = delivery.dead().map(|dead| {
        let what = if dead.held_by.is_some() { "held" } else { "dead-lettered" };
        format!("  {what} {}: {}\n", times.text(dead.at), on_one_line(&dead.reason))
    });
    let replaced = delivery.replaced_by().map(|new| format!("  replaced by {new}\n"));
    let retried = delivery.restart().map(|restart| format!("  retried {}\n", times.text(restart.at)));
    print(&lines.into_iter().chain(retried).chain(dead).chain(replaced).collect::<Vec<_>>().join("\n"))?;
    let kind = List { name: None, headings: &["TRY", "BEGAN", "TOOK", "RESULT"], empty: "No attempts." };
    let mut rows = Rows::begin(kind, &arguments.print)?;
    for attempt in delivery.attempts() {
        let cells = |times: &Times| {
            let ended = attempt.completed_at().unwrap_or(now);
            vec![
                attempt.number.get().to_string(),
                times.text(attempt.started_at),
                short(ended.since(attempt.started_at)),
                attempt.error().unwrap_or_else(|| attempt.status().as_str()).to_owned(),
            ]
        };
        rows.row(|| attempt_as_json(attempt), cells)?;
    }
    rows.end()
}

fn unread(cause: ListWorkError) -> Failure {
    Failure::new("cannot read the work", cause).next(store::NEXT)
}

/// The state comes last: a flag, if there is one, says more than the state.
fn as_cells(item: &WorkItem, flags: &[WorkFlag], times: &Times) -> Vec<String> {
    let mut words = flags.iter().map(|flag| flag.as_str()).collect::<Vec<_>>();
    if words.is_empty() {
        words.push(item.delivery.status().as_str());
    }
    let halts = [(item.agent.is_stopped, "stopped"), (item.agent.is_paused, "paused")];
    words.extend(halts.into_iter().filter_map(|(applies, word)| applies.then_some(word)));
    let tries = item.delivery.current_attempt().map_or(0, AttemptNumber::get);
    vec![
        item.message.to_string(),
        item.agent.handle.clone(),
        times.age_or_hyphen(Some(item.written_at)),
        tries.to_string(),
        words.join(", "),
    ]
}

fn as_json(item: &WorkItem, flags: &[WorkFlag], now: Timestamp) -> Value {
    let delivery = &item.delivery;
    json!({
        "message_id": item.message.to_string(),
        "sequence": item.sequence.get(),
        "agent": {
            "id": item.agent.id.to_string(), "handle": item.agent.handle, "name": item.agent.name,
            "last_disconnected_at": item.agent.disconnect.map(|last| last.at.to_string()),
            "last_disconnect_reason": item.agent.disconnect.map(|last| last.reason.as_str()),
            "stopped": item.agent.is_stopped, "paused": item.agent.is_paused,
        },
        "chat_room_id": item.chat.to_string(),
        "chat_room_title": item.title,
        "sender": {
            "id": item.sender.to_string(),
            "type": item.sender.kind().as_str(),
            "name": item.sender_name,
        },
        "state": delivery.status().as_str(),
        "flags": flags.iter().map(|flag| flag.as_str()).collect::<Vec<_>>(),
        "age_ms": u64::try_from(now.since(item.written_at).as_millis()).unwrap_or(u64::MAX),
        "current_attempt": delivery.current_attempt().map_or(0, AttemptNumber::get),
        "attempts": delivery.attempts().iter().map(attempt_as_json).collect::<Vec<_>>(),
        "inserted_at": item.written_at.to_string(),
        "respond_by": item.respond_by.map(|by| by.to_string()),
        "delivered_at": delivery.delivered_at().map(|at| at.to_string()),
        "processed_at": delivery.processed_at().map(|at| at.to_string()),
        "dead_at": delivery.dead().map(|dead| dead.at.to_string()),
        "dead_reason": delivery.dead().map(|dead| &dead.reason),
        "held_by": delivery.held_by().map(HeldBy::as_str),
        "replaced_by": delivery.replaced_by().map(|new| new.to_string()),
        "retried_at": delivery.restart().map(|restart| restart.at.to_string()),
    })
}

fn attempt_as_json(attempt: &Attempt) -> Value {
    json!({
        "attempt_number": attempt.number.get(),
        "status": attempt.status().as_str(),
        "started_at": attempt.started_at.to_string(),
        "completed_at": attempt.completed_at().map(|at| at.to_string()),
        "error": attempt.error(),
    })
}
