//! `parlance chat …`

mod arguments;
mod export;

pub(crate) use arguments::ChatCommand;

use std::sync::Arc;

use domain::account::normalize_handle;
use domain::chat::{ChatFilter, ChatOverview, DeleteChatError, Participant};
use domain::id::ChatId;
use serde_json::{Value, json};

use crate::commands::user::AT_ONCE;
use crate::commands::{hold, key, org};
use crate::config::Config;
use crate::failure::Failure;
use crate::nearest::{self, nearest};
use crate::output::{List, Rows, Times, count, on_one_line, print};
use crate::store::{self, Store};
use crate::wiring;
use arguments::{DeleteChatArguments, ListChatsArguments, ShowChatArguments};

/// The next step for an unknown id.
const CHATS: &str = "list chats with `parlance chat list`";

/// Printed for a list without chats.
const NO_CHATS: &str = "No chats. Users and agents create them; see docs/API.md.";

/// Runs the command on the configured store, and prints the result.
pub(crate) async fn run(config: &Config, command: ChatCommand) -> Result<(), Failure> {
    store::with(config, async |store| match &command {
        ChatCommand::List(arguments) => list(config, store, arguments).await,
        ChatCommand::Show(arguments) => show(store, arguments).await,
        ChatCommand::Delete(arguments) => delete(store, arguments).await,
        ChatCommand::Export(arguments) => export::export(store, arguments).await,
    })
    .await
}

async fn list(
    config: &Config,
    store: &Arc<dyn Store>,
    arguments: &ListChatsArguments,
) -> Result<(), Failure> {
    let filter = if let Some(name) = &arguments.org {
        let organizations = wiring::organizations(config, store.clone());
        ChatFilter::Organization(org::named(&organizations, store, name).await?.id)
    } else if let Some(handle) = &arguments.participant {
        let handle = normalize_handle(handle);
        let found = wiring::accounts(store.clone()).find_holder(&handle).await.map_err(unread)?;
        let Some(found) = found else { return Err(key::unknown(store, &handle).await) };
        ChatFilter::Participant(found)
    } else {
        ChatFilter::All
    };
    let kind = List {
        name: Some("chats"),
        headings: &["ID", "MESSAGES", "LAST MESSAGE", "TITLE"],
        empty: if filter == ChatFilter::All { NO_CHATS } else { "No such chats." },
    };
    let mut rows = Rows::begin(kind, &arguments.print)?;
    let (mut left, mut before) = (arguments.limit, None);
    while left > 0 {
        let part = store.overview(filter, before, left.min(AT_ONCE)).await.map_err(unread)?;
        let Some(last) = part.last() else { break };
        before = Some(last.chat.id);
        left = left.saturating_sub(u32::try_from(part.len()).unwrap_or(u32::MAX));
        for overview in &part {
            rows.row(|| as_json(overview), |times| as_cells(overview, times))?;
        }
    }
    rows.end()
}

/// Finds the chat with this id.
pub(crate) async fn find(store: &Arc<dyn Store>, id: &str) -> Result<ChatOverview, Failure> {
    let found = match ChatId::parse(id.trim()) {
        Some(id) => store.overview(ChatFilter::One(id), None, 1).await.map_err(unread)?,
        None => Vec::new(),
    };
    if let Some(found) = found.into_iter().next() {
        return Ok(found);
    }
    let chats = nearest::chats(store).await;
    let chats = || chats.iter().map(String::as_str);
    let mut longer = chats().filter(|chat| chat.starts_with(id.trim()));
    let meant = longer.next().filter(|_| longer.next().is_none()).or_else(|| nearest(id.trim(), chats()));
    Err(Failure::unknown(format!("no chat has the id '{id}'"), meant, CHATS))
}

async fn delete(store: &Arc<dyn Store>, arguments: &DeleteChatArguments) -> Result<(), Failure> {
    let overview = find(store, &arguments.id).await?;
    let deleted = wiring::chats(store.clone()).delete_any(overview.chat.id).await;
    deleted.map_err(|cause| {
        let next = if matches!(cause, DeleteChatError::UnderHold(_)) { hold::HOLDS } else { store::NEXT };
        Failure::new("the chat was not deleted", cause).next(next)
    })?;
    print(&if arguments.json {
        json!({ "chat": as_json(&overview) }).to_string()
    } else {
        let ChatOverview { chat, participants, messages, .. } = &overview;
        let title = on_one_line(chat.display_title());
        format!(
            "Deleted the chat '{title}' with {} and {}.",
            count(*messages, "message"),
            count(*participants, "participant")
        )
    })
}

async fn show(store: &Arc<dyn Store>, arguments: &ShowChatArguments) -> Result<(), Failure> {
    let overview = &find(store, &arguments.id).await?;
    let roster = store.roster_unchecked(overview.chat.id).await.map_err(unread)?;
    let participants = roster.map(|roster| roster.participants).unwrap_or_default();
    if arguments.print.json {
        let mut shown = as_json(overview);
        shown["participants"] = participants.iter().map(participant_as_json).collect();
        return print(&json!({ "chat": shown }).to_string());
    }
    let ChatOverview { chat, organization, messages, bytes, .. } = overview;
    let times = Times::of(&arguments.print);
    let lines = [
        on_one_line(chat.display_title()),
        format!("  id {}", chat.id),
        format!("  {}, created {}", chat.status.as_str(), times.text(chat.created_at)),
        format!("  organization {}", organization.as_deref().map_or_else(|| "-".to_owned(), on_one_line)),
        format!(
            "  {messages} messages, {bytes} bytes, last message {}\n",
            times.or_hyphen(chat.last_message_at)
        ),
    ];
    print(&lines.join("\n"))?;
    let kind =
        List { name: None, headings: &["PARTICIPANT", "NAME", "ROLE", "JOINED"], empty: "No participants." };
    let mut rows = Rows::begin(kind, &arguments.print)?;
    for participant in &participants {
        let Participant { handle, name, role, joined_at, .. } = participant;
        let cells = |times: &Times| {
            vec![handle.clone(), name.clone(), role.as_str().to_owned(), times.text(*joined_at)]
        };
        rows.row(|| participant_as_json(participant), cells)?;
    }
    rows.end()
}

fn unread(cause: domain::store::StoreError) -> Failure {
    Failure::new("cannot read the chats", cause).next(store::NEXT)
}

fn as_json(overview: &ChatOverview) -> Value {
    let ChatOverview { chat, organization, participants, messages, bytes, .. } = overview;
    json!({
        "id": chat.id.to_string(),
        "title": chat.title,
        "type": chat.kind.as_str(),
        "status": chat.status.as_str(),
        "task_id": chat.task_id.map(|id| id.to_string()),
        "organization": organization,
        "participant_count": participants,
        "message_count": messages,
        "content_bytes": bytes,
        "inserted_at": chat.created_at.to_string(),
        "updated_at": chat.updated_at.to_string(),
        "last_message_at": chat.last_message_at.map(|at| at.to_string()),
    })
}

/// The title comes last, since it has the most varied width.
fn as_cells(overview: &ChatOverview, times: &Times) -> Vec<String> {
    let ChatOverview { chat, messages, .. } = overview;
    vec![
        chat.id.to_string(),
        messages.to_string(),
        times.or_hyphen(chat.last_message_at),
        chat.display_title().to_owned(),
    ]
}

fn participant_as_json(participant: &Participant) -> Value {
    json!({
        "id": participant.id.uuid().to_string(),
        "type": participant.id.kind().as_str(),
        "handle": participant.handle,
        "name": participant.name,
        "role": participant.role.as_str(),
        "status": participant.status.as_str(),
        "joined_at": participant.joined_at.to_string(),
    })
}
