//! Checks the free disk space, and the permissions of the data's files.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Finding;
use crate::config::Config;
use crate::disk::directory_of;
use crate::store::StoreAt;
use crate::token_keys;

/// Below this number of free bytes, writes are about to fail.
const FULL: u64 = 64 * 1024 * 1024;

/// Below this number of free bytes, space should be freed.
const SCARCE: u64 = 1024 * 1024 * 1024;

/// Checks disk and permissions. If the store could not be checked (`is_store` is false), its file may belong
/// to something else, so only the disk is checked.
pub(super) fn look(config: &Config, is_store: bool) -> Vec<Finding> {
    let (directory, mut secret) = match &config.store {
        StoreAt::Memory => return Vec::new(),
        StoreAt::File(path) => {
            let beside = |end: &str| {
                let mut path = path.as_os_str().to_owned();
                path.push(end);
                PathBuf::from(path)
            };
            (
                directory_of(path),
                vec![token_keys::path_beside(path), path.clone(), beside("-wal"), beside("-shm")],
            )
        }
        StoreAt::Postgres(_) => {
            let keys = token_keys::path_beside(&config.data_dir.join("parlance.db"));
            (config.data_dir.clone(), vec![keys])
        }
    };
    secret.retain(|path| path.exists());
    let floor = if matches!(config.store, StoreAt::File(_)) { config.min_free_bytes } else { 0 };
    let mut findings = vec![disk(&directory, floor)];
    if !is_store && matches!(config.store, StoreAt::File(_)) {
        return findings;
    }
    findings.extend(directory_mode(&directory));
    if secret.is_empty() {
        findings.push(Finding::well("files", "there are none yet; the first start creates them"));
    }
    findings.extend(secret.iter().map(|path| mode(path)));
    findings
}

/// The free space of the directory, or of its future location.
pub(super) fn disk(directory: &Path, floor: u64) -> Finding {
    let whole = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let Some(there) = whole.ancestors().find(|path| path.exists()) else {
        return Finding::fault(
            "disk",
            format!("{} cannot be reached", whole.display()),
            "set data_dir to a directory",
        );
    };
    if !there.is_dir() {
        let found = format!("{} is not a directory", there.display());
        return Finding::fault("disk", found, "set data_dir to a directory, or move the file away");
    }
    match rustix::fs::statvfs(there) {
        Ok(system) => space(there, system.f_bavail.saturating_mul(system.f_frsize), floor),
        Err(error) => {
            let found = format!("cannot determine the free space of {}: {error}", there.display());
            Finding::warning("disk", found, "check it with `df`")
        }
    }
}

/// Below `floor` the server refuses large writes.
fn space(directory: &Path, free: u64, floor: u64) -> Finding {
    let full = floor.max(FULL);
    let found = format!("{} MiB are free for {}", free / 1024 / 1024, directory.display());
    let next = "free some space: when the disk is full, writes are refused (docs/operations.md)";
    if free < full {
        Finding::fault("disk", found, next)
    } else if free < SCARCE.max(full * 2) {
        Finding::warning("disk", found, next)
    } else {
        Finding::well("disk", found)
    }
}

/// A directory that others may enter or read is no fault, as the files in it are protected; it may
/// be intended.
fn directory_mode(directory: &Path) -> Option<Finding> {
    let mode = std::fs::metadata(directory).ok()?.permissions().mode();
    (!is_closed(mode)).then(|| {
        let found =
            format!("{} has mode {:o}, so others can look into it", directory.display(), mode & 0o777);
        Finding::warning("files", found, format!("chmod 700 '{}'", directory.display()))
    })
}

/// Checks that a file with secrets is protected.
fn mode(path: &Path) -> Finding {
    let shown = path.display();
    match std::fs::metadata(path) {
        Ok(file) if is_closed(file.permissions().mode()) => {
            Finding::well("files", format!("{shown} is not accessible to others"))
        }
        Ok(file) => {
            let found =
                format!("{shown} has mode {:o}, so others can read it", file.permissions().mode() & 0o777);
            Finding::fault("files", found, format!("chmod 600 '{shown}'"))
        }
        Err(error) => {
            let next = "run this command as the server's user";
            Finding::fault("files", format!("cannot check {shown}: {error}"), next)
        }
    }
}

/// Returns whether this mode gives only the owner rights.
const fn is_closed(mode: u32) -> bool {
    let others = mode & 0o077;
    others == 0
}

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;

    #[test]
    fn little_space_is_a_warning_and_none_a_fault() {
        let outcome = |free| space(Path::new("/x"), free, 0).outcome;
        assert_eq!(outcome(0), Outcome::Fault);
        assert_eq!(outcome(FULL), Outcome::Warning);
        assert_eq!(outcome(SCARCE), Outcome::Well);
        let with_floor = |free| space(Path::new("/x"), free, 4 * SCARCE).outcome;
        assert_eq!(with_floor(3 * SCARCE), Outcome::Fault, "large writes are refused");
        assert_eq!((with_floor(7 * SCARCE), with_floor(8 * SCARCE)), (Outcome::Warning, Outcome::Well));
        assert_eq!(disk(Path::new("/nowhere/at/all"), 0).check, "disk");
        assert_eq!(disk(Path::new("/dev/null/x"), 0).outcome, Outcome::Fault);
    }
}
