//! The keys that sign tokens: a file beside the store, readable by its owner only.
//!
//! It is not in the database, so that a copy of the data does not allow issuing tokens. One line
//! per key, `<id> <secret in base64>`; the first signs, all of them verify. The first server or
//! command that needs the file creates it, whole or not at all.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::account::TokenClaims;
use domain::ports::TokenMint;
use tokio::time::Instant;

use crate::adapters::random;
use crate::failure::Failure;
use crate::jwt::SignedTokens;

/// A key, and its id in tokens.
pub(crate) struct TokenKey {
    pub(crate) id: String,
    pub(crate) secret: [u8; 32],
}

impl TokenKey {
    fn fresh() -> Self {
        Self { id: URL_SAFE_NO_PAD.encode(random::<9>()), secret: random() }
    }

    fn parse(line: &str) -> Option<Self> {
        let (id, secret) = line.split_once(' ')?;
        let secret = URL_SAFE_NO_PAD.decode(secret.trim()).ok()?.try_into().ok()?;
        (!id.is_empty()).then(|| Self { id: id.to_owned(), secret })
    }

    fn line(&self) -> String {
        format!("{} {}\n", self.id, URL_SAFE_NO_PAD.encode(self.secret))
    }
}

/// Keys that end with the process, for a store in memory.
pub(crate) fn ephemeral() -> SignedTokens {
    SignedTokens::new(&TokenKey::fresh(), &[])
}

/// The keys in a file, kept current: a change of the file needs no restart.
pub(crate) struct KeyFile {
    path: PathBuf,
    keys: RwLock<SignedTokens>,
    seen: Mutex<Seen>,
}

/// The time of the last check of the file, and its state.
struct Seen {
    at: Instant,
    mark: Option<Mark>,
}

/// Changes when a file is replaced or written to.
type Mark = (u64, SystemTime);

/// How long the keys are used before the file is checked again.
const FRESH: Duration = Duration::from_secs(1);

impl KeyFile {
    /// The keys of the store in this file; a new one if there is none yet.
    pub(crate) fn beside(store: &Path) -> Result<Self, Failure> {
        let path = path_beside(store);
        // Before the read, as in `refresh`: a change in between causes another read.
        let mut seen = mark(&path);
        let mut keys = read(&path)?;
        if keys.is_none() {
            let fresh = TokenKey::fresh().line();
            replace(&path, &fresh, publish).map_err(|cause| cannot("make", &path, cause))?;
            // Another process may have been first; its key counts.
            seen = mark(&path);
            keys = read(&path)?;
        }
        let keys =
            keys.ok_or_else(|| Failure::plain(format!("the signing keys in {} went away", path.display())))?;
        let seen = Mutex::new(Seen { at: Instant::now(), mark: seen });
        Ok(Self { path, keys: RwLock::new(signed(&keys)), seen })
    }

    /// Reads the file again if it has changed. An invalid file changes nothing.
    fn refresh(&self, at_once: bool) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !at_once && seen.at.elapsed() < FRESH {
            return;
        }
        seen.at = Instant::now();
        let now = mark(&self.path);
        if now.is_none() || now == seen.mark {
            return;
        }
        match read(&self.path) {
            Ok(Some(keys)) => {
                *self.keys.write().unwrap_or_else(PoisonError::into_inner) = signed(&keys);
                tracing::info!("signing keys reloaded");
            }
            Ok(None) => {}
            Err(failure) => {
                tracing::warn!(error = %failure, "signing keys cannot be reloaded; keeping the previous ones");
            }
        }
        seen.mark = now;
    }
}

impl TokenMint for KeyFile {
    fn sign(&self, claims: &TokenClaims) -> String {
        self.refresh(false);
        self.keys.read().unwrap_or_else(PoisonError::into_inner).sign(claims)
    }

    fn verify(&self, presented: &str) -> Option<TokenClaims> {
        let names_unknown_key = {
            let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
            keys.names_unknown_key(presented)
        };
        self.refresh(names_unknown_key);
        self.keys.read().unwrap_or_else(PoisonError::into_inner).verify(presented)
    }
}

/// Adds a new signing key; the previous one still verifies, unless it is to be `forgotten`, and
/// earlier ones do not. If there is none yet, nothing can be forgotten.
pub(crate) fn rotate(store: &Path, forgotten: bool) -> Result<(), Failure> {
    let path = path_beside(store);
    let mut text = TokenKey::fresh().line();
    match read(&path)? {
        Some(keys) if !forgotten => text.push_str(&keys.first.line()),
        // A server with its keys elsewhere would go on accepting all tokens.
        None if forgotten => {
            let next = "name the server's data directory with --data-dir, --env-file, or --config";
            return Err(Failure::plain(format!("there are no signing keys at {}", path.display())).next(next));
        }
        _ => {}
    }
    replace(&path, &text, |draft, path| fs::rename(draft, path))
        .map_err(|cause| cannot("change", &path, cause))
}

/// The content of a file: the key that signs, and those that only verify.
struct Keys {
    first: TokenKey,
    others: Vec<TokenKey>,
}

fn signed(keys: &Keys) -> SignedTokens {
    SignedTokens::new(&keys.first, &keys.others)
}

fn mark(path: &Path) -> Option<Mark> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.modified().ok()?))
}

/// The file of the keys for a store in this file.
pub(crate) fn path_beside(store: &Path) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(".token-keys");
    PathBuf::from(path)
}

/// The keys in the file; `None` if it does not exist. Removes all rights of others on it.
fn read(path: &Path) -> Result<Option<Keys>, Failure> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(cannot("read", path, cause)),
    };
    let cannot_read = |cause| cannot("read", path, cause);
    let mode = file.metadata().map_err(cannot_read)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(
            path = %path.display(),
            "signing keys were readable by other users of this machine; permissions corrected, consider rotating the keys"
        );
        file.set_permissions(Permissions::from_mode(0o600)).map_err(cannot_read)?;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(cannot_read)?;
    let mut keys = text.lines().filter(|line| !line.trim().is_empty()).map(TokenKey::parse);
    let first = keys.next().flatten();
    let others = keys.collect::<Option<Vec<_>>>();
    match (first, others) {
        (Some(first), Some(others)) => Ok(Some(Keys { first, others })),
        _ => Err(Failure::plain(format!(
            "the file {} does not contain signing keys. Remove it, and a new one is created.",
            path.display()
        ))),
    }
}

/// Writes a file that `publish` makes visible only after its whole content is on the disk, so that
/// a crash leaves no part of a key.
fn replace(
    path: &Path,
    text: &str,
    publish: impl FnOnce(&Path, &Path) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(directory)?;
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}", URL_SAFE_NO_PAD.encode(random::<9>())));
    let draft = PathBuf::from(draft);
    let written = write(&draft, text).and_then(|()| publish(&draft, path));
    // After a hard link the draft is a second name of the same file, after a rename it is gone.
    let _ = fs::remove_file(&draft);
    written?;
    File::open(directory)?.sync_all()
}

fn write(draft: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Renames the draft, unless the name is taken. If the file system has no hard links, the last of
/// two concurrent calls wins.
fn publish(draft: &Path, path: &Path) -> std::io::Result<()> {
    match fs::hard_link(draft, path) {
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(_) => fs::rename(draft, path),
        Ok(()) => Ok(()),
    }
}

fn cannot(what: &str, path: &Path, cause: std::io::Error) -> Failure {
    Failure::new(format_args!("cannot {what} the signing keys in {}", path.display()), cause)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use domain::id::{OrganizationId, UserId};
    use domain::time::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn claims() -> TokenClaims {
        TokenClaims {
            session: None,
            user: UserId::new(Uuid::from_u128(1)),
            organization: OrganizationId::new(Uuid::from_u128(2)),
            password_set_at: None,
            issued_at: Timestamp::from_micros(0),
            expires_at: Timestamp::from_micros(60_000_000),
        }
    }

    #[test]
    fn a_second_process_reads_the_key_that_the_first_one_made() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("new/parlance.db");
        let token = KeyFile::beside(&store).unwrap().sign(&claims());
        assert_eq!(KeyFile::beside(&store).unwrap().verify(&token), Some(claims()));
        assert_eq!(ephemeral().verify(&token), None);
        let names = fs::read_dir(store.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["parlance.db.token-keys"], "no draft is left");
        let mode = fs::metadata(path_beside(&store)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn two_that_start_at_once_agree_on_a_key() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("parlance.db");
        let start = Barrier::new(8);
        let tokens = std::thread::scope(|scope| {
            let make = || {
                start.wait();
                KeyFile::beside(&store).unwrap().sign(&claims())
            };
            let threads = (0..8).map(|_| scope.spawn(make)).collect::<Vec<_>>();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let keys = KeyFile::beside(&store).unwrap();
        assert!(tokens.iter().all(|token| keys.verify(token).is_some()));
    }

    /// A start during a change of the keys uses the new ones, at once or on the next check.
    #[test]
    fn a_change_while_a_server_starts_is_not_missed() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("parlance.db");
        KeyFile::beside(&store).unwrap();
        for _ in 0..50 {
            let started = std::thread::scope(|scope| {
                let change = scope.spawn(|| rotate(&store, false).unwrap());
                let mut started = vec![KeyFile::beside(&store).unwrap()];
                while !change.is_finished() {
                    started.push(KeyFile::beside(&store).unwrap());
                }
                started
            });
            let token = KeyFile::beside(&store).unwrap().sign(&claims());
            assert!(started.iter().all(|keys| keys.verify(&token).is_some()));
        }
    }

    #[test]
    fn an_open_file_is_closed_to_others_and_a_broken_one_is_a_fault() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("parlance.db");
        KeyFile::beside(&store).unwrap();
        let path = path_beside(&store);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        KeyFile::beside(&store).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for broken in ["", "\n", "only-an-id\n", "id c2hvcnQ\n", "id not base64!\n"] {
            fs::write(&path, broken).unwrap();
            let failure =
                KeyFile::beside(&store).err().map(|failure| failure.to_string()).unwrap_or_default();
            assert!(failure.contains("does not contain signing keys"), "{broken:?}: {failure}");
        }
    }

    #[test]
    fn new_keys_are_used_without_a_restart_and_old_ones_end_when_told() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("parlance.db");
        let running = KeyFile::beside(&store).unwrap();
        let first = running.sign(&claims());
        rotate(&store, false).unwrap();
        let second = KeyFile::beside(&store).unwrap().sign(&claims());
        assert!(running.verify(&second).is_some(), "a key that is not known is looked for at once");
        assert!(running.verify(&first).is_some(), "the one before still verifies");
        assert_eq!(running.sign(&claims()), second, "and the new one signs");
        rotate(&store, true).unwrap();
        let third = KeyFile::beside(&store).unwrap();
        let token = third.sign(&claims());
        assert!(third.verify(&first).is_none() && third.verify(&second).is_none());
        assert!(running.verify(&token).is_some());
        assert!(running.verify(&first).is_none() && running.verify(&second).is_none());
        let wrong = directory.path().join("elsewhere.db");
        assert!(rotate(&wrong, true).unwrap_err().to_string().contains("no signing keys at"));
        assert!(!path_beside(&wrong).exists(), "nothing is written to a wrong directory");
        rotate(&wrong, false).unwrap();
        assert!(path_beside(&wrong).exists());
        fs::write(path_beside(&store), "damaged").unwrap();
        running.refresh(true);
        assert!(running.verify(&token).is_some(), "a file that cannot be used changes nothing");
    }
}
