//! Finds the newest installed PostgreSQL in the usual places.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest PostgreSQL that Parlance runs on.
pub(super) const OLDEST: u32 = 13;

/// Directories of which each may hold several installed versions: parent, beginning of the name, what
/// comes below.
const VERSIONED: [(&str, &str, &str); 6] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
    ("/opt/homebrew/opt", "postgresql", "bin"),
    ("/usr/local/opt", "postgresql", "bin"),
    ("/usr/local", "pgsql", "bin"),
    ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
];

/// The directory with the programs of the newest installed PostgreSQL.
///
/// # Panics
/// If there is none, or none that is new enough: a test that needs a database must not pass without it.
pub(super) fn newest() -> PathBuf {
    let found = candidates().into_iter().filter_map(|bin| Some((version(&bin)?, bin))).max();
    match found {
        Some((version, bin)) if version >= OLDEST => bin,
        Some((version, bin)) => {
            panic!("PostgreSQL {version} in {} is too old, these tests need {OLDEST} or newer", bin.display())
        }
        None => panic!(
            "no PostgreSQL found. Install its server (Debian: apt-get install postgresql), put `initdb`, \
             `pg_ctl` and `postgres` on the PATH, or name a server in PARLANCE_TEST_DATABASE_URL"
        ),
    }
}

fn candidates() -> Vec<PathBuf> {
    let mut all = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        all.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    if let Some(path) = std::env::var_os("PATH") {
        // A link on the PATH leads to a program that looks for its libraries where it really is.
        let programs = std::env::split_paths(&path).filter_map(|bin| bin.join("initdb").canonicalize().ok());
        all.extend(programs.filter_map(|initdb| Some(initdb.parent()?.to_owned())));
    }
    for (parent, beginning, below) in VERSIONED {
        let Ok(entries) = std::fs::read_dir(parent) else { continue };
        let fitting =
            entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning));
        all.extend(fitting.map(|entry| entry.path().join(below)));
    }
    all
}

/// The major version of the server in a directory, if all programs are there that a cluster needs.
fn version(bin: &Path) -> Option<u32> {
    if !["initdb", "pg_ctl", "postgres"].iter().all(|program| bin.join(program).is_file()) {
        return None;
    }
    let output = Command::new(bin.join("postgres")).arg("--version").output().ok()?;
    major(&String::from_utf8_lossy(&output.stdout))
}

/// Reads `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`, also `17rc1` and `18devel`.
fn major(output: &str) -> Option<u32> {
    let number = output.split_once("(PostgreSQL) ")?.1;
    let end = number.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(number.len());
    number[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_what_the_server_tells() {
        assert_eq!(major("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n"), Some(15));
        assert_eq!(major("postgres (PostgreSQL) 17rc1\n"), Some(17));
        assert_eq!(major("postgres (PostgreSQL) 18devel"), Some(18));
        assert_eq!(major("something else"), None);
    }

    #[test]
    fn a_directory_without_a_server_is_no_candidate() {
        assert_eq!(version(Path::new("/")), None);
    }
}
