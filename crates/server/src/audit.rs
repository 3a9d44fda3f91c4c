//! `parlance audit`

use std::io::Write;
use std::sync::Arc;

use domain::audit::{AuditFilter, AuditRecord, AuditScope, AuditService, NamedObject};
use domain::organization::Authority;
use domain::page::{PageRequest, Slice};
use domain::time::Timestamp;
use serde_json::{Value, json};

use crate::cli::AuditArguments;
use crate::config::Config;
use crate::failure::Failure;
use crate::org;
use crate::store::{self, Store};
use crate::wiring;

/// Entries that are read at once.
const PAGE: u32 = 100;

/// Prints entries of the audit log, newest first.
pub(crate) async fn run(config: &Config, arguments: AuditArguments) -> Result<(), Failure> {
    config.refuse_memory()?;
    let opened = store::open(config).await?;
    let done = print(config, opened.clone(), &arguments).await;
    opened.close();
    done
}

async fn print(config: &Config, store: Arc<dyn Store>, arguments: &AuditArguments) -> Result<(), Failure> {
    let since = arguments.since.as_deref().map(|text| Timestamp::parse(text).ok_or_else(|| wrong_time(text)));
    let scope = match &arguments.org {
        Some(name) => {
            let organization = org::named(&wiring::organizations(config, store.clone()), name).await?;
            AuditScope::Of(Authority::Operator(organization.id))
        }
        None => AuditScope::Everything,
    };
    let filter = AuditFilter { scope, since: since.transpose()? };
    let log = AuditService::new(store);
    let mut out = std::io::stdout().lock();
    let (mut left, mut after) = (arguments.limit, None);
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: left.min(PAGE) }, count: false };
        let page = log.list(filter.clone(), page).await;
        let page =
            page.map_err(|cause| Failure::new("cannot read the audit log", cause).next(store::NEXT))?;
        for record in &page.rows {
            let line = if arguments.json { as_json(record).to_string() } else { as_text(record) };
            writeln!(out, "{line}").map_err(|cause| Failure::new("cannot print", cause))?;
        }
        left = left.saturating_sub(u32::try_from(page.rows.len()).unwrap_or(u32::MAX));
        after = page.next;
        if after.is_none() || left == 0 {
            return Ok(());
        }
    }
}

fn wrong_time(text: &str) -> Failure {
    let said = format!("--since: '{text}' is no time; write it like 2026-11-22T08:00:00Z");
    Failure::plain(said).next("see `parlance audit --help`")
}

/// One object a line, so that the output can be read while it is written.
fn as_json(record: &AuditRecord) -> Value {
    json!({
        "id": record.id.to_string(),
        "at": record.at.to_string(),
        "actor": record.actor.as_ref().map(named_as_json),
        "action": record.action.as_str(),
        "subject": named_as_json(&record.subject),
        "place": record.place.as_ref().map(named_as_json),
        "detail": record.detail,
        "organization_id": record.organization.map(|id| id.to_string()),
    })
}

fn named_as_json(named: &NamedObject) -> Value {
    let (kind, id) = named.object.parts();
    json!({ "type": kind, "id": id.to_string(), "name": named.name })
}

fn as_text(record: &AuditRecord) -> String {
    let actor = record.actor.as_ref().map_or_else(|| "the operator".to_owned(), named_as_text);
    let place = record.place.as_ref().map(|place| format!(" ({})", named_as_text(place))).unwrap_or_default();
    let detail = record.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
    let subject = named_as_text(&record.subject);
    format!("{}  {actor}  {}  {subject}{place}{detail}", record.at, record.action.as_str())
}

/// The name, or what it is and its id; a name is a client's text and stays on its line.
fn named_as_text(named: &NamedObject) -> String {
    let (kind, id) = named.object.parts();
    match &named.name {
        Some(name) => name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        None => format!("{kind} {id}"),
    }
}
