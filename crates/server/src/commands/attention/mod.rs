//! `parlance attention …`

mod arguments;

pub(crate) use arguments::AttentionCommand;

use std::sync::Arc;

use domain::attention::{
    AnswerAttentionError, AttentionAnswer, AttentionFilter, AttentionId, AttentionLine, AttentionService,
    AttentionState, Decision, DismissAttentionError,
};
use domain::caller::UserCaller;
use domain::message::MessageContent;
use domain::page::{PageRequest, Slice};
use domain::time::Timestamp;
use http_wire::view::AttentionView;
use serde_json::{Value, json};

use crate::cli::TableArguments;
use crate::commands::user;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{List, Rows, Times, on_one_line, print};
use crate::store::{self, Store};
use crate::wiring;
use arguments::{AnswerAttentionArguments, GivenDecision, ListAttentionArguments, ListedState};

/// The number of items that are read at a time.
const AT_ONCE: u32 = 100;

/// The next step for an unknown item.
const ITEMS: &str = "list what waits with `parlance attention list USER`";

/// Runs the command on the configured store, and prints the result.
pub(crate) async fn run(config: &Config, command: AttentionCommand) -> Result<(), Failure> {
    store::with(config, async |store| {
        let attention = wiring::attention(config, store.clone());
        match &command {
            AttentionCommand::List(arguments) => list(&attention, store, arguments).await,
            AttentionCommand::Answer(arguments) => answer(&attention, store, arguments).await,
            AttentionCommand::Dismiss(arguments) => {
                let caller = caller(store, &arguments.user).await?;
                let dismissed = attention.dismiss(caller, id(&arguments.id)?).await;
                let item = dismissed.map_err(|error| match error {
                    DismissAttentionError::Store(_) => {
                        Failure::new("the item was not dismissed", error).next(store::NEXT)
                    }
                    error => Failure::new("the item was not dismissed", error).next(ITEMS),
                })?;
                show(&attention, &AttentionLine::Item(item), "Dismissed", &arguments.print)
            }
        }
    })
    .await
}

/// The user with this handle, as a caller.
async fn caller(store: &Arc<dyn Store>, handle: &str) -> Result<UserCaller, Failure> {
    let user = user::find(store, handle).await?;
    Ok(UserCaller { user: user.id, organization: user.organization })
}

fn id(text: &str) -> Result<AttentionId, Failure> {
    AttentionId::parse(text.trim())
        .ok_or_else(|| Failure::plain(format!("no item has the id '{text}'")).next(ITEMS))
}

async fn list(
    attention: &AttentionService,
    store: &Arc<dyn Store>,
    arguments: &ListAttentionArguments,
) -> Result<(), Failure> {
    let caller = caller(store, &arguments.user).await?;
    let state = match arguments.state {
        ListedState::Open => Some(AttentionState::Open),
        ListedState::Answered => Some(AttentionState::Answered),
        ListedState::Expired => Some(AttentionState::Expired),
        ListedState::All => None,
    };
    let filter = AttentionFilter { state, ..AttentionFilter::default() };
    let kind = List {
        name: Some("attention"),
        headings: &["ID", "KIND", "STATE", "ASKED", "FROM", "TEXT"],
        empty: "Nothing waits.",
    };
    let mut rows = Rows::begin(kind, &arguments.print)?;
    let (mut left, mut after) = (arguments.limit, None);
    while left > 0 {
        let request = PageRequest { slice: Slice::After { after, limit: left.min(AT_ONCE) }, count: false };
        let page = attention.list(caller, filter, request).await;
        let page = page.map_err(|cause| Failure::new("cannot read what waits", cause).next(store::NEXT))?;
        left = left.saturating_sub(u32::try_from(page.rows.len()).unwrap_or(u32::MAX));
        let now = attention.now();
        for line in &page.rows {
            rows.row(|| as_json(line, now), |times| as_cells(line, now, times))?;
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    rows.end()
}

async fn answer(
    attention: &AttentionService,
    store: &Arc<dyn Store>,
    arguments: &AnswerAttentionArguments,
) -> Result<(), Failure> {
    let caller = caller(store, &arguments.user).await?;
    let given = &arguments.answer;
    let answer = match (&given.text, given.decision) {
        (Some(text), _) => {
            let content = MessageContent::new(text.clone()).map_err(|fault| {
                Failure::plain(format!("--text: {fault}")).next("see `parlance attention answer --help`")
            })?;
            AttentionAnswer::from(content)
        }
        (None, Some(GivenDecision::Approve)) => Decision::Approve.into(),
        (None, Some(GivenDecision::ApproveSession)) => Decision::ApproveSession.into(),
        (None, Some(GivenDecision::Decline) | None) => Decision::Decline.into(),
    };
    let answered = attention.answer(caller, id(&arguments.id)?, answer).await;
    let line = answered.map_err(|error| {
        let next = match &error {
            AnswerAttentionError::Store(_) => store::NEXT,
            AnswerAttentionError::NeedsText => "give it a text with --text",
            AnswerAttentionError::NeedsDecision(_) => "give it a decision with --decision",
            AnswerAttentionError::TakesNone => "dismiss a notice, retry work with `parlance work retry`, or enable or change a webhook with `parlance webhook`",
            _ => ITEMS,
        };
        Failure::new("the item was not answered", error).next(next)
    })?;
    show(attention, &line, "Answered", &arguments.print)
}

fn show(
    attention: &AttentionService,
    line: &AttentionLine,
    done: &str,
    how: &TableArguments,
) -> Result<(), Failure> {
    print(&if how.json {
        json!({ "attention": as_json(line, attention.now()) }).to_string()
    } else {
        format!("{done} {}.", line.id())
    })
}

fn as_json(line: &AttentionLine, now: Timestamp) -> Value {
    serde_json::to_value(AttentionView::new(line, now)).unwrap_or_default()
}

fn as_cells(line: &AttentionLine, now: Timestamp, times: &Times) -> Vec<String> {
    let shown = as_json(line, now);
    let text = |pointer: &str| shown.pointer(pointer).and_then(Value::as_str).unwrap_or("-").to_owned();
    let blocking = if line.place().is_blocking { " (blocking)" } else { "" };
    vec![
        text("/id"),
        text("/kind"),
        format!("{}{blocking}", text("/state")),
        times.text(line.place().at),
        text("/asker/handle"),
        on_one_line(&text("/summary")),
    ]
}
