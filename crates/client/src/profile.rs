//! The file of profiles: servers with the key for each.
//!
//! It holds keys, so only its owner may read it. It is written as a whole and then put in place, so that a crash leaves the
//! old file or the new one.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::model::ApiKey;

/// The permissions of others, of which the file has none.
const OTHERS: u32 = 0o077;

/// The maximum length of a name.
const NAME_BYTES: usize = 64;

/// The profiles of a file.
#[derive(Debug)]
pub struct Profiles {
    path: PathBuf,
    stored: File,
}

/// A server, and the key for it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredProfile {
    /// The address of the server.
    pub url: Address,
    /// The key of a user there.
    pub api_key: ApiKey,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    profiles: BTreeMap<String, StoredProfile>,
}

/// Why the profiles cannot be read or stored.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("cannot read {}", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// Others may read the file.
    #[error("others may read {}, which holds API keys", .0.display())]
    Exposed(PathBuf),
    /// The file does not have the form of profiles. The text does not repeat its contents.
    #[error("{} is not a file of profiles: line {line} is wrong", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line that is wrong.
        line: usize,
    },
    /// The file cannot be written.
    #[error("cannot write {}", .0.display())]
    Unwritable(PathBuf, #[source] io::Error),
    /// A profile cannot have this name.
    #[error("the name of a profile has 1 to 64 letters, digits, '-', and '_'")]
    Name,
}

impl Profiles {
    /// Reads the file, which need not exist.
    ///
    /// # Errors
    /// It cannot be read, others may read it, or it is malformed.
    pub fn load(path: &Path) -> Result<Self, ProfileError> {
        let unreadable = |error| ProfileError::Unreadable(path.to_owned(), error);
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path: path.to_owned(), stored: File::default() });
            }
            Err(error) => return Err(unreadable(error)),
        };
        if fs::metadata(path).map_err(unreadable)?.permissions().mode() & OTHERS != 0 {
            return Err(ProfileError::Exposed(path.to_owned()));
        }
        let stored = toml::from_str(&text).map_err(|error: toml::de::Error| {
            // The error quotes what is there, which may be a key.
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            ProfileError::Malformed { path: path.to_owned(), line: before.matches('\n').count() + 1 }
        })?;
        Ok(Self { path: path.to_owned(), stored })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A profile.
    pub fn get(&self, name: &str) -> Option<&StoredProfile> {
        self.stored.profiles.get(name)
    }

    /// All profiles by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &StoredProfile)> {
        self.stored.profiles.iter().map(|(name, profile)| (name.as_str(), profile))
    }

    /// Checks a name.
    ///
    /// # Errors
    /// [`ProfileError::Name`]
    pub fn check_name(name: &str) -> Result<(), ProfileError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_name = (1..=NAME_BYTES).contains(&name.len()) && name.bytes().all(is_plain);
        if is_name { Ok(()) } else { Err(ProfileError::Name) }
    }

    /// Stores a profile, which replaces one of the same name.
    ///
    /// # Errors
    /// The name cannot be one, or the file cannot be written.
    pub fn put(&mut self, name: &str, profile: StoredProfile) -> Result<(), ProfileError> {
        Self::check_name(name)?;
        self.stored.profiles.insert(name.to_owned(), profile);
        self.write()
    }

    /// Removes a profile; returns whether there was one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn remove(&mut self, name: &str) -> Result<bool, ProfileError> {
        let removed = self.stored.profiles.remove(name).is_some();
        if removed {
            self.write()?;
        }
        Ok(removed)
    }

    fn write(&self) -> Result<(), ProfileError> {
        let unwritable = |error| ProfileError::Unwritable(self.path.clone(), error);
        let text = toml::to_string(&self.stored).map_err(|error| unwritable(io::Error::other(error)))?;
        if let Some(directory) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(unwritable)?;
        }
        put_in_place(&self.path, &text).map_err(unwritable)
    }
}

fn put_in_place(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("toml.new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    // A draft that a crash has left may have had other permissions.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(url: &str) -> StoredProfile {
        StoredProfile { url: url.parse().unwrap(), api_key: ApiKey::new("thnv_u_secret").unwrap() }
    }

    #[test]
    fn profiles_are_stored_for_their_owner_only() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("new/client.toml");
        let mut profiles = Profiles::load(&path).unwrap();
        profiles.put("work", profile("https://example.org/parlance")).unwrap();
        profiles.put("default", profile("http://127.0.0.1:4000")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let mut read = Profiles::load(&path).unwrap();
        assert_eq!(read.all().map(|(name, _)| name).collect::<Vec<_>>(), ["default", "work"]);
        assert_eq!(read.get("work"), Some(&profile("https://example.org/parlance")));
        assert!(read.remove("work").unwrap() && !read.remove("work").unwrap());
        assert_eq!(Profiles::load(&path).unwrap().all().count(), 1);
        assert!(!format!("{read:?}").contains("secret"));
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Profiles::load(&path), Err(ProfileError::Exposed(_))));
    }

    #[test]
    fn a_fault_does_not_repeat_the_key() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("client.toml");
        for text in [
            "[profiles.x]\nurl = \"http://u:secret@h\"\napi_key = \"thnv_u_secret\"",
            "[profiles.x]\nurl = \"http://h\"\napi_key = \"thnv_u_secret",
            "[profiles.x]\nurl = \"http://h\"\napi_key = [\"thnv_u_secret\"]",
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            let error = Profiles::load(&path).unwrap_err();
            assert!(matches!(error, ProfileError::Malformed { .. }), "{error}");
            assert!(!error.to_string().contains("secret") && !error.to_string().contains('\n'), "{error}");
        }
    }

    #[test]
    fn names_are_words() {
        for name in ["a", "work-2", "A_b"] {
            Profiles::check_name(name).unwrap();
        }
        for name in ["", "a b", "a.b", "é", &"x".repeat(65)] {
            assert!(Profiles::check_name(name).is_err(), "{name}");
        }
    }
}
