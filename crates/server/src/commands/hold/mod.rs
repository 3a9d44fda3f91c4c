//! `parlance hold …`

mod arguments;

pub(crate) use arguments::HoldCommand;

use std::sync::Arc;

use domain::id::ChatId;
use domain::legal_hold::{HoldError, HoldReason, HoldSubject, LegalHold, LegalHoldService, PlaceHoldRefused};
use serde_json::{Value, json};

use crate::cli::TableArguments;
use crate::commands::{chat, org};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{List, Rows, Times, on_one_line, print};
use crate::store::{self, Store};
use crate::wiring;
use arguments::{PlaceHoldArguments, ReleaseHoldArguments, SubjectArguments};

/// The next step for what a hold keeps.
pub(crate) const HOLDS: &str = "list legal holds with `parlance hold list`";

/// The number of holds that are read at a time.
const AT_ONCE: u32 = 100;

/// Runs the command on the configured store, and prints the result.
pub(crate) async fn run(config: &Config, command: HoldCommand) -> Result<(), Failure> {
    store::with(config, async |store| {
        let holds = wiring::legal_holds(store.clone());
        match &command {
            HoldCommand::List(arguments) => list(&holds, arguments).await,
            HoldCommand::Place(arguments) => place(config, store, &holds, arguments).await,
            HoldCommand::Release(arguments) => release(config, store, &holds, arguments).await,
        }
    })
    .await
}

async fn list(holds: &LegalHoldService, arguments: &TableArguments) -> Result<(), Failure> {
    let kind = List {
        name: Some("holds"),
        headings: &["ON", "ID", "PLACED", "NAME", "REASON"],
        empty: "No legal holds.",
    };
    let mut rows = Rows::begin(kind, arguments)?;
    let mut last: Option<LegalHold> = None;
    loop {
        let part = holds.list(last.as_ref(), AT_ONCE).await;
        let part = part.map_err(|cause| Failure::new("cannot read legal holds", cause).next(store::NEXT))?;
        if part.is_empty() {
            return rows.end();
        }
        for hold in &part {
            rows.row(|| as_json(hold), |times| as_cells(hold, times))?;
        }
        last = part.into_iter().last();
    }
}

async fn place(
    config: &Config,
    store: &Arc<dyn Store>,
    holds: &LegalHoldService,
    arguments: &PlaceHoldArguments,
) -> Result<(), Failure> {
    let reason = HoldReason::new(arguments.reason.clone()).map_err(|fault| {
        Failure::plain(format!("--reason: {fault}")).next("see `parlance hold place --help`")
    })?;
    let (subject, name) = subject(config, store, &arguments.subject).await?;
    let placed = holds.place(subject, reason).await;
    placed.map_err(|error| match error {
        HoldError::Place(PlaceHoldRefused::NotFound) => unknown(&name),
        HoldError::Store(_) => Failure::new("the legal hold was not placed", error).next(store::NEXT),
        _ => Failure::new("the legal hold was not placed", error).next(HOLDS),
    })?;
    say(subject, arguments.json, &format!("{name} is under a legal hold."))
}

async fn release(
    config: &Config,
    store: &Arc<dyn Store>,
    holds: &LegalHoldService,
    arguments: &ReleaseHoldArguments,
) -> Result<(), Failure> {
    let (subject, name) = subject(config, store, &arguments.subject).await?;
    holds.release(subject).await.map_err(|error| {
        let next = if matches!(error, HoldError::Store(_)) { store::NEXT } else { HOLDS };
        Failure::new("the legal hold was not released", error).next(next)
    })?;
    say(subject, arguments.json, &format!("{name} is no longer under a legal hold."))
}

/// What the arguments name, and how to call it. A deleted room has an id as well.
async fn subject(
    config: &Config,
    store: &Arc<dyn Store>,
    arguments: &SubjectArguments,
) -> Result<(HoldSubject, String), Failure> {
    if let Some(name) = &arguments.org {
        let found = org::named(&wiring::organizations(config, store.clone()), store, name).await?;
        return Ok((HoldSubject::Organization(found.id), format!("The organization '{}'", found.name)));
    }
    let id = arguments.room.as_deref().unwrap_or_default();
    let id = match ChatId::parse(id.trim()) {
        Some(id) => id,
        None => chat::find(store, id).await?.chat.id,
    };
    Ok((HoldSubject::Chat(id), format!("The room {id}")))
}

fn unknown(name: &str) -> Failure {
    Failure::plain(format!("{name} does not exist")).next("list rooms with `parlance chat list`")
}

fn say(subject: HoldSubject, is_json: bool, text: &str) -> Result<(), Failure> {
    let (kind, id) = subject.parts();
    print(&if is_json {
        json!({ "hold": { "on": kind, "id": id.uuid().to_string() } }).to_string()
    } else {
        text.to_owned()
    })
}

fn as_json(hold: &LegalHold) -> Value {
    let (kind, id) = hold.subject.parts();
    json!({
        "on": kind,
        "id": id.uuid().to_string(),
        "name": hold.name,
        "reason": hold.reason,
        "placed_at": hold.placed_at.to_string(),
    })
}

fn as_cells(hold: &LegalHold, times: &Times) -> Vec<String> {
    let on = match hold.subject {
        HoldSubject::Chat(_) => "room",
        HoldSubject::Organization(_) => "organization",
    };
    vec![
        on.to_owned(),
        hold.subject.parts().1.uuid().to_string(),
        times.text(hold.placed_at),
        hold.name.as_deref().map_or_else(|| "-".to_owned(), on_one_line),
        on_one_line(&hold.reason),
    ]
}
