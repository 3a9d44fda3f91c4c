//! The keys that sign tokens: a file beside the store, for nobody else to read.
//!
//! It stands outside the database, so that a copy of the data is not a way to make tokens. One
//! line a key, `<id> <secret in base64>`; the first signs, all of them verify. The file is made
//! by whoever needs it first, a server or a command, and appears whole or not at all.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::failure::Failure;
use crate::ports::random;
use crate::tokens::SignedTokens;

/// A key, and the id by which a token names it.
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

/// Keys that end with the process, for a store that does.
pub(crate) fn ephemeral() -> SignedTokens {
    SignedTokens::new(&TokenKey::fresh(), &[])
}

/// The keys of the store in this file; a new one when there is none yet.
pub(crate) fn beside(store: &Path) -> Result<SignedTokens, Failure> {
    let path = path_beside(store);
    let text = if let Some(text) = read(&path)? {
        text
    } else {
        create(&path).map_err(|cause| cannot("make", &path, cause))?;
        // Somebody else may have been first; then it is theirs that counts.
        read(&path)?.ok_or_else(|| Failure::plain(format!("{} went away", path.display())))?
    };
    let keys = text.lines().filter(|line| !line.trim().is_empty()).map(TokenKey::parse);
    match keys.collect::<Option<Vec<_>>>().as_deref() {
        Some([first, others @ ..]) => Ok(SignedTokens::new(first, others)),
        _ => Err(Failure::plain(format!(
            "{} does not hold keys for tokens; take it away to have a new one made",
            path.display()
        ))),
    }
}

fn path_beside(store: &Path) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(".token-keys");
    PathBuf::from(path)
}

/// What the file says; `None` when there is none. Whatever others could do with it ends here.
fn read(path: &Path) -> Result<Option<String>, Failure> {
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
            "others could read the keys for tokens; this is taken from them now, but consider new keys"
        );
        file.set_permissions(Permissions::from_mode(0o600)).map_err(cannot_read)?;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(cannot_read)?;
    Ok(Some(text))
}

/// Makes the file with one new key, unless there is one by now. The name appears only after the
/// whole content is on the disk, so that a crash leaves no half of a key.
fn create(path: &Path) -> std::io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(directory)?;
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}", URL_SAFE_NO_PAD.encode(random::<9>())));
    let draft = PathBuf::from(draft);
    let written = write(&draft).and_then(|()| publish(&draft, path));
    // After a hard link the draft is a second name of the same file, after a rename it is gone.
    let _ = fs::remove_file(&draft);
    written?;
    File::open(directory)?.sync_all()
}

fn write(draft: &Path) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    file.write_all(TokenKey::fresh().line().as_bytes())?;
    file.sync_all()
}

/// Gives the draft its name, unless somebody else has it. Where the file system has no hard links
/// the last of two who start at the same moment wins.
fn publish(draft: &Path, path: &Path) -> std::io::Result<()> {
    match fs::hard_link(draft, path) {
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(_) => fs::rename(draft, path),
        Ok(()) => Ok(()),
    }
}

fn cannot(what: &str, path: &Path, cause: std::io::Error) -> Failure {
    Failure::new(format_args!("cannot {what} the keys for tokens in {}", path.display()), cause)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use domain::account::TokenClaims;
    use domain::id::{OrganizationId, UserId};
    use domain::ports::TokenMint;
    use domain::time::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn claims() -> TokenClaims {
        TokenClaims {
            user: UserId::new(Uuid::from_u128(1)),
            organization: OrganizationId::new(Uuid::from_u128(2)),
            issued_at: Timestamp::from_micros(0),
            expires_at: Timestamp::from_micros(60_000_000),
        }
    }

    #[test]
    fn a_second_process_reads_the_key_that_the_first_one_made() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("new/parlance.db");
        let token = beside(&store).unwrap().sign(&claims());
        assert_eq!(beside(&store).unwrap().verify(&token), Some(claims()));
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
                beside(&store).unwrap().sign(&claims())
            };
            let threads = (0..8).map(|_| scope.spawn(make)).collect::<Vec<_>>();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let keys = beside(&store).unwrap();
        assert!(tokens.iter().all(|token| keys.verify(token).is_some()));
    }

    #[test]
    fn an_open_file_is_closed_to_others_and_a_broken_one_is_a_fault() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("parlance.db");
        beside(&store).unwrap();
        let path = path_beside(&store);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        beside(&store).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for broken in ["", "\n", "only-an-id\n", "id c2hvcnQ\n", "id not base64!\n"] {
            fs::write(&path, broken).unwrap();
            let failure = beside(&store).err().map(|failure| failure.to_string()).unwrap_or_default();
            assert!(failure.contains("does not hold keys"), "{broken:?}: {failure}");
        }
    }
}
