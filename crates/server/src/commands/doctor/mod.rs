//! `parlance doctor`: checks an installation, and suggests remedies.
//!
//! It only reads: nothing is created, moved, or migrated, so it can run at any time, beside a
//! server or without one. It must run as the server's user and with the server's settings;
//! otherwise it checks different ones.

mod certificate;
mod contents;
mod docs;
mod file;
pub(crate) mod port;
mod provider;
mod store;

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::{Value, json};

use crate::config::{Config, Examined};
use crate::failure::Failure;
use crate::output::unprinted;
use crate::progress::Spinner;

/// The outcome of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Well,
    /// It works, but may fail soon or is not as it should be.
    Warning,
    /// It does not work.
    Fault,
}

impl Outcome {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::Warning => "warning",
            Self::Fault => "fault",
        }
    }
}

/// The result of one check.
#[derive(Debug)]
pub(crate) struct Finding {
    check: &'static str,
    outcome: Outcome,
    found: String,
    /// The remedy; `None` if there is no fault.
    next: Option<String>,
}

impl Finding {
    fn well(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Well, found: found.into(), next: None }
    }

    fn warning(check: &'static str, found: impl Into<String>, next: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Warning, found: found.into(), next: Some(next.into()) }
    }

    fn fault(check: &'static str, found: impl Into<String>, next: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Fault, found: found.into(), next: Some(next.into()) }
    }

    fn json(&self) -> Value {
        json!({
            "check": self.check,
            "outcome": self.outcome.as_str(),
            "found": self.found,
            "next": self.next,
        })
    }
}

/// Runs all checks and prints the findings; fails if there is a fault.
pub(crate) async fn run(examined: Examined, as_json: bool) -> Result<(), Failure> {
    let spinner = Spinner::begin("checking");
    let findings = findings(&examined).await;
    drop(spinner);
    let faults = findings.iter().filter(|finding| finding.outcome == Outcome::Fault).count();
    let text = if as_json {
        let findings = findings.iter().map(Finding::json).collect::<Vec<_>>();
        format!("{}\n", json!({ "ok": faults == 0, "findings": findings }))
    } else {
        as_text(&findings)
    };
    let written = std::io::stdout().lock().write_all(text.as_bytes());
    written.map_err(unprinted)?;
    match faults {
        0 => Ok(()),
        1 => Err(Failure::plain("1 fault found. Follow the advice after `next:`, then run this again.")),
        faults => Err(Failure::plain(format!(
            "{faults} faults found. Follow the advice after `next:`, then run this again."
        ))),
    }
}

async fn findings(examined: &Examined) -> Vec<Finding> {
    let next = "correct it; see `parlance config check`";
    let wrong = examined.faults.iter().map(|fault| Finding::fault("configuration", fault.to_string(), next));
    let mut findings = wrong.collect::<Vec<_>>();
    if !findings.is_empty() {
        // The intended settings are unknown, so further checks would be useless.
        return findings;
    }
    findings.push(Finding::well("configuration", "no problems"));
    let config = &examined.config;
    let store = store::look(config).await;
    let is_store = !store.iter().any(|finding| finding.check == "store" && finding.outcome == Outcome::Fault);
    findings.extend(store);
    findings.extend(file::look(config, is_store));
    findings.extend(contents::look(config).await);
    findings.extend(config.docs_directory.as_deref().map(docs::look));
    findings.extend(provider::look(config).await);
    findings.extend(config.tls.iter().flat_map(certificate::look));
    let ours = if config.tls.is_some() { port::Ours::TlsServer } else { port::Ours::Server };
    findings.push(port::look(config, "listen", &config.listen, ours));
    if let Some(listen) = &config.metrics_listen {
        findings.push(port::look(config, "metrics_listen", listen, port::Ours::Metrics));
    }
    findings
}

/// The checks that a running server can repeat often: they read no store and contact nobody.
pub(crate) fn cheap_findings(config: &Config) -> Vec<Finding> {
    let mut findings = file::look(config, true);
    findings.extend(config.docs_directory.as_deref().map(docs::look));
    findings.extend(config.tls.iter().flat_map(certificate::look));
    findings
}

impl From<Finding> for domain::operator::Finding {
    fn from(Finding { check, outcome, found, next }: Finding) -> Self {
        Self { check, outcome: outcome.as_str(), found, next }
    }
}

fn as_text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { check, outcome, found, next } in findings {
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{:8} {check:15} {found}", outcome.as_str());
        if let Some(next) = next {
            let _ = writeln!(text, "{:25}next: {next}", "");
        }
    }
    text
}
