//! `parlance audit`: printing entries, and checking the chain.

use std::sync::Arc;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::audit::{
    AuditAction, AuditFilter, AuditRecord, AuditScope, AuditService, ChainFault, ChainLink, ChainReport,
    NamedObject, RecordedActor,
};
use domain::id::SubjectId;
use domain::organization::Authority;
use domain::page::{PageRequest, Slice};
use domain::ports::Clock;
use domain::time::Timestamp;
use serde_json::{Value, json};

use crate::adapters::SystemClock;
use crate::cli::TableArguments;
use crate::commands::{agent, org, user};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{List, Rows, Times, count, print};
use crate::progress::Spinner;
use crate::store::{self, Store};
use crate::wiring;

/// The entries to print, or a command.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AuditArguments {
    /// What to do, other than printing entries.
    #[command(subcommand)]
    pub command: Option<AuditCommand>,
    /// Show only entries of the organization with this name.
    #[arg(long, value_name = "NAME")]
    pub org: Option<String>,
    /// Show only entries from this time on, such as 2026-11-22T08:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Show only entries up to and including this time.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Show only entries with this action, such as chat.created.
    #[arg(long, value_parser = PossibleValuesParser::new(AuditAction::WORDS), hide_possible_values = true)]
    pub action: Option<String>,
    /// Show only actions of this user or agent, by handle or id.
    #[arg(long, value_name = "WHO")]
    pub actor: Option<String>,
    /// Show only actions on this user or agent, by handle or id, or on the room, message, key, or
    /// organization with this id.
    #[arg(long, value_name = "WHAT")]
    pub subject: Option<String>,
    /// Maximum number of entries.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    #[command(flatten)]
    pub print: TableArguments,
}

/// What to do with the audit log.
#[derive(Subcommand, Debug)]
pub enum AuditCommand {
    /// Check that no sealed entry was changed, removed, or moved.
    ///
    /// Prints the newest seal, an anchor to keep elsewhere. Exits with a non-zero status if something is
    /// wrong.
    #[command(after_help = "Examples:\n  parlance audit verify\n  \
        parlance audit verify --anchor \"$(cat /mnt/elsewhere/audit-anchor)\"")]
    Verify(VerifyArguments),
}

/// How to check the audit log.
#[derive(Args, Debug)]
pub struct VerifyArguments {
    /// Seal that an earlier check printed (NUMBER:DIGEST). Checks that the log still contains what it
    /// contained then.
    #[arg(long, value_name = "SEAL")]
    pub anchor: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The number of entries that are read at a time.
const PAGE: u32 = 100;

/// Prints entries of the audit log, newest first.
pub(crate) async fn run(config: &Config, arguments: AuditArguments) -> Result<(), Failure> {
    if let Some(AuditCommand::Verify(arguments)) = &arguments.command {
        return store::with(config, async |store| verify(store.clone(), arguments).await).await;
    }
    store::with(config, async |store| list(config, store.clone(), &arguments).await).await
}

/// Checks the chain; fails if it is broken, or if entries have waited too long for their seal.
async fn verify(store: Arc<dyn Store>, arguments: &VerifyArguments) -> Result<(), Failure> {
    let anchor = arguments.anchor.as_deref().map(str::parse::<ChainLink>).transpose();
    let anchor = anchor.map_err(|fault| {
        Failure::plain(format!("--anchor: {fault}")).next("see `parlance audit verify --help`")
    })?;
    let spinner = Spinner::begin("verifying the audit log");
    let report = AuditService::new(store).verify(anchor).await;
    drop(spinner);
    let report =
        report.map_err(|cause| Failure::new("cannot read the audit log", cause).next(store::NEXT))?;
    let text = if arguments.json { report_as_json(&report).to_string() } else { report_as_text(&report) };
    print(&text)?;
    match (report.fault_count, report.state.overdue(SystemClock.now())) {
        (0, None) => Ok(()),
        (0, Some(since)) => {
            let text = format!(
                "{} entries have waited for their seal since {since}. Until then, changes to them leave no \
                 trace",
                report.state.unsealed
            );
            Err(Failure::plain(text).next("start a server, which seals them, and verify again"))
        }
        (faults, _) => {
            let text = format!("the audit log was changed: {}", count(faults, "fault"));
            Err(Failure::plain(text).next("compare it with a backup; see *Audit log* in docs/operations.md"))
        }
    }
}

fn report_as_json(report: &ChainReport) -> Value {
    json!({
        "ok": report.fault_count == 0,
        "checked": report.checked,
        "unsealed": report.state.unsealed,
        "unsealed_since": report.state.unsealed_since.map(|since| since.to_string()),
        "anchor": report.state.head.map(|head| head.to_string()),
        "fault_count": report.fault_count,
        "faults": report.faults.iter().map(fault_as_json).collect::<Vec<_>>(),
    })
}

fn fault_as_json(fault: &ChainFault) -> Value {
    let text = fault_as_text(fault);
    match fault {
        ChainFault::Missing { from, to } => json!({"kind": "missing", "from": from, "to": to, "text": text}),
        ChainFault::Altered { number, id } => {
            json!({"kind": "altered", "number": number, "id": id.to_string(), "text": text})
        }
        ChainFault::Moved { number, id, sealed_after } => {
            json!({"kind": "moved", "number": number, "id": id.to_string(), "sealed_after": sealed_after, "text": text})
        }
        ChainFault::Unexpected { number, id } => {
            json!({"kind": "unexpected", "number": number, "id": id.to_string(), "text": text})
        }
        ChainFault::Head { .. } => json!({"kind": "head", "text": text}),
        ChainFault::Anchor(seal) => json!({"kind": "anchor", "number": seal.number, "text": text}),
    }
}

fn report_as_text(report: &ChainReport) -> String {
    let mut lines = report.faults.iter().map(fault_as_text).collect::<Vec<_>>();
    let unlisted = report.fault_count - report.faults.len() as u64;
    if unlisted > 0 {
        lines.push(format!("… and {unlisted} more faults"));
    }
    let sound = if report.fault_count == 0 { ", all unchanged" } else { "" };
    lines.push(format!(
        "{} sealed entries checked{sound}; {} not sealed yet",
        report.checked, report.state.unsealed
    ));
    lines.extend(report.state.head.map(|head| format!("anchor {head}")));
    lines.join("\n")
}

fn fault_as_text(fault: &ChainFault) -> String {
    match fault {
        ChainFault::Missing { from, to } if from == to => format!("entry {from} is missing"),
        ChainFault::Missing { from, to } => format!("entries {from} to {to} are missing"),
        ChainFault::Altered { number, id } => format!(
            "entry {number} ({id}) does not match its digest: it was changed, or the entry before it was removed"
        ),
        ChainFault::Moved { number, id, sealed_after } => {
            format!("entry {number} ({id}) is out of order: it was sealed after entry {sealed_after}")
        }
        ChainFault::Unexpected { number, id } => {
            format!("entry {number} ({id}) has a number that no seal gave it")
        }
        ChainFault::Head { last } => {
            format!("the record of the newest seal was changed or removed; the newest entry has {last}")
        }
        ChainFault::Anchor(seal) => format!(
            "the log does not contain the anchor {seal}: it was rewritten, or entries up to the anchor were removed"
        ),
    }
}

async fn list(config: &Config, store: Arc<dyn Store>, arguments: &AuditArguments) -> Result<(), Failure> {
    let scope = match &arguments.org {
        Some(name) => {
            let organization =
                org::named(&wiring::organizations(config, store.clone()), &store, name).await?;
            AuditScope::Of(Authority::Operator(organization.id))
        }
        None => AuditScope::Everything,
    };
    let filter = AuditFilter {
        scope,
        since: instant("--since", arguments.since.as_deref())?,
        until: instant("--until", arguments.until.as_deref())?,
        action: arguments.action.as_deref().and_then(AuditAction::parse),
        actor: object(&store, arguments.actor.as_deref()).await?,
        subject: object(&store, arguments.subject.as_deref()).await?,
    };
    let is_all = filter == AuditFilter::of(AuditScope::Everything);
    let log = AuditService::new(store);
    let kind = List {
        name: None,
        headings: &["TIME", "ACTOR", "ACTION", "SUBJECT"],
        empty: if is_all { "No entries." } else { "No such entries." },
    };
    let mut rows = Rows::begin(kind, &arguments.print)?;
    let (mut left, mut after) = (arguments.limit, None);
    loop {
        let page = PageRequest { slice: Slice::After { after, limit: left.min(PAGE) }, count: false };
        let page = log.list(filter.clone(), page).await;
        let page =
            page.map_err(|cause| Failure::new("cannot read the audit log", cause).next(store::NEXT))?;
        for record in &page.rows {
            rows.row(|| as_json(record), |times| as_cells(record, times))?;
        }
        left = left.saturating_sub(u32::try_from(page.rows.len()).unwrap_or(u32::MAX));
        after = page.next;
        if after.is_none() || left == 0 {
            return rows.end();
        }
    }
}

fn instant(option: &str, text: Option<&str>) -> Result<Option<Timestamp>, Failure> {
    let wrong = |text| {
        let said = format!("{option}: '{text}' is not a time such as 2026-11-22T08:00:00Z");
        Failure::plain(said).next("see `parlance audit --help`")
    };
    text.map(|text| Timestamp::parse(text).ok_or_else(|| wrong(text))).transpose()
}

/// What an id or a handle names.
async fn object(store: &Arc<dyn Store>, text: Option<&str>) -> Result<Option<SubjectId>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let id = match SubjectId::parse(text) {
        Some(id) => id,
        None if text.contains('/') => agent::find(store, text).await?.id.into(),
        None => SubjectId::new(user::find(store, text).await?.id.uuid()),
    };
    Ok(Some(id))
}

/// One object per line, so that the output can be read while it is written.
fn as_json(record: &AuditRecord) -> Value {
    json!({
        "id": record.id.to_string(),
        "at": record.at.to_string(),
        "actor": record.actor.known().map(named_as_json),
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

/// The subject comes last, with the place and the detail, since it has the most varied width.
fn as_cells(record: &AuditRecord, times: &Times) -> Vec<String> {
    let actor = match &record.actor {
        RecordedActor::Operator => "the operator".to_owned(),
        RecordedActor::Anonymous => "somebody".to_owned(),
        RecordedActor::Server => "the server".to_owned(),
        RecordedActor::Known(named) => named_as_text(named),
    };
    let place = record.place.as_ref().map(|place| format!(" ({})", named_as_text(place))).unwrap_or_default();
    let detail = record.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
    let subject = named_as_text(&record.subject);
    vec![times.text(record.at), actor, record.action.as_str().to_owned(), format!("{subject}{place}{detail}")]
}

/// The name, or the kind and the id if there is no name.
fn named_as_text(named: &NamedObject) -> String {
    let (kind, id) = named.object.parts();
    match &named.name {
        Some(name) => name.clone(),
        None if id == SubjectId::NIL => kind.to_owned(),
        None => format!("{kind} {id}"),
    }
}
