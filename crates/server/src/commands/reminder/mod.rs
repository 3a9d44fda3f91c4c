//! `parlance reminder …`

mod arguments;

pub(crate) use arguments::ReminderCommand;

use std::sync::Arc;

use domain::caller::UserCaller;
use domain::id::ReminderId;
use domain::message::with_handles;
use domain::page::{PageRequest, Slice};
use domain::reminder::{CancelReminderError, Reminder, ReminderFilter, ReminderService, ReminderState};
use http_wire::view::ReminderView;
use serde_json::{Value, json};

use crate::commands::user;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{List, Rows, Times, on_one_line, print};
use crate::store::{self, Store};
use crate::wiring;
use arguments::{CancelReminderArguments, ListRemindersArguments, ListedState};

/// The number of reminders that are read at a time.
const AT_ONCE: u32 = 100;

/// The next step for an unknown reminder.
const REMINDERS: &str = "list them with `parlance reminder list USER`";

/// Runs the command on the configured store, and prints the result.
pub(crate) async fn run(config: &Config, command: ReminderCommand) -> Result<(), Failure> {
    store::with(config, async |store| {
        let reminders = wiring::reminders(store.clone());
        match &command {
            ReminderCommand::List(arguments) => list(&reminders, store, arguments).await,
            ReminderCommand::Cancel(arguments) => cancel(&reminders, store, arguments).await,
        }
    })
    .await
}

/// The user with this handle, as a caller.
async fn caller(store: &Arc<dyn Store>, handle: &str) -> Result<UserCaller, Failure> {
    let user = user::find(store, handle).await?;
    Ok(UserCaller { user: user.id, organization: user.organization })
}

async fn list(
    reminders: &ReminderService,
    store: &Arc<dyn Store>,
    arguments: &ListRemindersArguments,
) -> Result<(), Failure> {
    let caller = caller(store, &arguments.user).await?;
    let state = match arguments.state {
        ListedState::Scheduled => Some(ReminderState::Scheduled),
        ListedState::Ended => Some(ReminderState::Ended),
        ListedState::All => None,
    };
    let filter = ReminderFilter { state, chat: None };
    let kind = List {
        name: Some("reminders"),
        headings: &["ID", "STATE", "TIME", "EVERY", "FROM", "TEXT"],
        empty: "No reminders.",
    };
    let mut rows = Rows::begin(kind, &arguments.print)?;
    let (mut left, mut after) = (arguments.limit, None);
    while left > 0 {
        let request = PageRequest { slice: Slice::After { after, limit: left.min(AT_ONCE) }, count: false };
        let page = reminders.list(caller, filter, request).await;
        let page = page.map_err(|cause| Failure::new("cannot read reminders", cause).next(store::NEXT))?;
        left = left.saturating_sub(u32::try_from(page.rows.len()).unwrap_or(u32::MAX));
        for reminder in &page.rows {
            rows.row(|| as_json(reminder), |times| as_cells(reminder, times))?;
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    rows.end()
}

async fn cancel(
    reminders: &ReminderService,
    store: &Arc<dyn Store>,
    arguments: &CancelReminderArguments,
) -> Result<(), Failure> {
    let caller = caller(store, &arguments.user).await?;
    let id = ReminderId::parse(arguments.id.trim()).ok_or_else(|| {
        Failure::plain(format!("no reminder has the id '{}'", arguments.id)).next(REMINDERS)
    })?;
    let cancelled = reminders.cancel(caller, id).await.map_err(|error| {
        let next = if matches!(error, CancelReminderError::Store(_)) { store::NEXT } else { REMINDERS };
        Failure::new("the reminder was not cancelled", error).next(next)
    })?;
    print(&if arguments.print.json {
        json!({ "reminder": as_json(&cancelled) }).to_string()
    } else {
        format!("Cancelled {}.", cancelled.id)
    })
}

fn as_json(reminder: &Reminder) -> Value {
    serde_json::to_value(ReminderView::new(reminder)).unwrap_or_default()
}

fn as_cells(reminder: &Reminder, times: &Times) -> Vec<String> {
    let text = with_handles(&reminder.content, &reminder.mentions);
    let end = reminder.ended.map(|(end, _)| end.as_str());
    vec![
        reminder.id.to_string(),
        end.unwrap_or(reminder.state().as_str()).to_owned(),
        times.text(reminder.due.at),
        reminder.every.map_or_else(|| "-".to_owned(), |every| every.to_string()),
        reminder.sender_handle.clone(),
        on_one_line(&text),
    ]
}
