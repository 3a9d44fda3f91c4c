//! Whether the files for TLS can be used, and for how long.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::Finding;
use crate::tls::{Standing, TlsFault, TlsFiles};

const CHECK: &str = "tls";

/// Who may do more than read with the group's rights, or anything as somebody else, has the key.
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
            let next = "put a certificate and its key there that the server's user may read; a running server \
                        keeps those from before";
            return Finding::fault(CHECK, format!("{setting}: {problem}"), next);
        }
    };
    let (file, until) = (files.certificate.display(), pair.until());
    match pair.standing() {
        Standing::Good => Finding::well(CHECK, format!("the certificate in {file} holds until {until}")),
        Standing::EndsSoon => {
            let found = format!("the certificate in {file} ends soon, at {until}");
            Finding::warning(CHECK, found, "renew it, and see why that was not done by itself")
        }
        Standing::Ended => {
            let found = format!("the certificate in {file} ended at {until}");
            Finding::fault(CHECK, found, "renew it: clients refuse it")
        }
        Standing::NotYet => {
            let found = format!("the certificate in {file} does not hold yet");
            Finding::fault(CHECK, found, "see that the clock is right, or use the certificate from before")
        }
    }
}

/// Whether the key is closed to others. A group may read it, as those of ACME clients do.
fn mode(key: &Path) -> Option<Finding> {
    let mode = std::fs::metadata(key).ok()?.permissions().mode() & 0o777;
    let shown = key.display();
    Some(if mode & OPEN == 0 {
        Finding::well(CHECK, format!("{shown} is closed to others"))
    } else {
        let found = format!("{shown} has the mode {mode:o}, so that others may use it");
        Finding::fault(CHECK, found, format!("chmod 600 '{shown}' (640 for a group that may read it)"))
    })
}
