//! Checks the TLS files, and the expiry of the certificate.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::Finding;
use crate::tls::{CertificateState, TlsFault, TlsFiles};

const CHECK: &str = "tls";

/// The mode bits that expose the key: more than reading for the group, or any right for others.
const OPEN: u32 = 0o037;

pub(super) fn look(files: &TlsFiles) -> Vec<Finding> {
    let mut findings = vec![pair(files)];
    findings.extend(mode(&files.key));
    findings
}

fn pair(files: &TlsFiles) -> Finding {
    let pair = match files.read() {
        Ok(pair) => pair,
        Err(TlsFault { setting, problem }) => {
            let next = "install a certificate and its key that the server's user can read; a running server keeps \
             the previous ones";
            return Finding::fault(CHECK, format!("{setting}: {problem}"), next);
        }
    };
    let (file, until) = (files.certificate.display(), pair.until());
    match pair.state() {
        CertificateState::Good => {
            Finding::well(CHECK, format!("the certificate in {file} is valid until {until}"))
        }
        CertificateState::EndsSoon => {
            let found = format!("the certificate in {file} expires soon, at {until}");
            Finding::warning(CHECK, found, "renew it, and find out why it was not renewed automatically")
        }
        CertificateState::Ended => {
            let found = format!("the certificate in {file} expired at {until}");
            Finding::fault(CHECK, found, "renew it, because clients refuse it")
        }
        CertificateState::NotYet => {
            let found = format!("the certificate in {file} is not valid yet");
            Finding::fault(CHECK, found, "check the clock, or use the previous certificate")
        }
    }
}

/// Checks that the key is not accessible to others. A group may read it, as with ACME clients.
fn mode(key: &Path) -> Option<Finding> {
    let mode = std::fs::metadata(key).ok()?.permissions().mode() & 0o777;
    let shown = key.display();
    Some(if mode & OPEN == 0 {
        Finding::well(CHECK, format!("{shown} is not accessible to others"))
    } else {
        let found = format!("{shown} has mode {mode:o}, so others can read the key");
        Finding::fault(CHECK, found, format!("chmod 600 '{shown}' (640 for a group that may read it)"))
    })
}
