//! Which server a command talks to, and with which key.
//!
//! A key belongs to one server, so the two always come from the same place: a key in the environment is never sent to the
//! server of a profile, and the key of a profile never to another address.

use crate::address::Address;
use crate::model::ApiKey;
use crate::profile::Profiles;

/// The variable with the name of a profile.
pub const PROFILE_VARIABLE: &str = "PARLANCE_PROFILE";

/// The variable with the address of a server.
pub const URL_VARIABLE: &str = "PARLANCE_URL";

/// The variable with a user's API key.
pub const KEY_VARIABLE: &str = "PARLANCE_KEY";

/// The name of a profile if none is given.
const DEFAULT: &str = "default";

/// What somebody gave to choose a server.
#[derive(Clone, Default, Debug)]
pub struct Given {
    /// The profile, on the command line.
    pub profile: Option<String>,
    /// The profile, in the environment.
    pub profile_variable: Option<String>,
    /// The address, in the environment.
    pub url: Option<String>,
    /// The key, in the environment.
    pub key: Option<String>,
}

/// A server, and the key for it.
#[derive(Clone, Debug)]
pub struct Access {
    /// The address of the server.
    pub address: Address,
    /// The key.
    pub key: ApiKey,
    /// Where the key is from: `PARLANCE_KEY`, or the profile.
    pub origin: String,
}

/// Why there is no server to talk to.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AccessError {
    /// A variable has an invalid value.
    #[error("{variable} {fault}")]
    Invalid {
        /// The variable.
        variable: &'static str,
        /// What is wrong with its value.
        fault: String,
    },
    /// There is no profile with this name.
    #[error("there is no profile '{0}'")]
    NoProfile(String),
    /// There is neither a profile nor a key.
    #[error("you are not logged in")]
    LoggedOut,
    /// The address in the environment has no key.
    #[error("there is no key for {0}, the server in PARLANCE_URL")]
    NoKey(Address),
}

impl Given {
    /// The name of the profile that this chooses.
    pub fn profile_name(&self) -> &str {
        self.profile.as_deref().or(self.profile_variable.as_deref()).unwrap_or(DEFAULT)
    }

    /// The address in the environment.
    ///
    /// # Errors
    /// [`AccessError::Invalid`]
    pub fn address(&self) -> Result<Option<Address>, AccessError> {
        let address = self.url.as_deref().map(str::parse::<Address>).transpose();
        address.map_err(|fault| AccessError::Invalid { variable: URL_VARIABLE, fault })
    }

    /// The key in the environment.
    ///
    /// # Errors
    /// [`AccessError::Invalid`]
    pub fn key(&self) -> Result<Option<ApiKey>, AccessError> {
        let key = self.key.as_deref().map(ApiKey::new).transpose();
        key.map_err(|fault| AccessError::Invalid { variable: KEY_VARIABLE, fault: fault.to_owned() })
    }

    /// The server and the key: those of the profile on the command line, or else of the environment, or else of the
    /// profile that the environment names, or else of the default profile.
    ///
    /// # Errors
    /// No server or key is configured, or a variable is invalid.
    pub fn access(&self, profiles: &Profiles) -> Result<Access, AccessError> {
        if let Some(access) = self.environment()? {
            return Ok(access);
        }
        let named = if self.profile.is_none() { self.address()? } else { None };
        match named {
            None => self.stored(profiles),
            Some(address) => {
                let stored = self.stored(profiles).ok().filter(|access| access.address == address);
                stored.ok_or(AccessError::NoKey(address))
            }
        }
    }

    /// The server and the key in the environment, which need no profiles; unless there is no key in it, or a profile is
    /// named on the command line.
    ///
    /// # Errors
    /// [`AccessError::Invalid`]
    pub fn environment(&self) -> Result<Option<Access>, AccessError> {
        if self.profile.is_some() {
            return Ok(None);
        }
        let Some(key) = self.key()? else { return Ok(None) };
        let address = self.address()?.unwrap_or_else(Address::local);
        Ok(Some(Access { address, key, origin: KEY_VARIABLE.to_owned() }))
    }

    fn stored(&self, profiles: &Profiles) -> Result<Access, AccessError> {
        let name = self.profile_name();
        let is_named = self.profile.is_some() || self.profile_variable.is_some();
        let Some(profile) = profiles.get(name) else {
            return Err(if is_named {
                AccessError::NoProfile(name.to_owned())
            } else {
                AccessError::LoggedOut
            });
        };
        let (address, key) = (profile.url.clone(), profile.api_key.clone());
        Ok(Access { address, key, origin: format!("profile '{name}'") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::StoredProfile;

    fn given(profile: &str, profile_variable: &str, url: &str, key: &str) -> Given {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let (profile, profile_variable, url, key) =
            (text(profile), text(profile_variable), text(url), text(key));
        Given { profile, profile_variable, url, key }
    }

    #[test]
    fn a_key_and_its_server_come_from_one_place() {
        let directory = tempfile::TempDir::new().unwrap();
        let mut profiles = Profiles::load(&directory.path().join("client.toml")).unwrap();
        let none = given("", "", "", "").access(&profiles).unwrap_err();
        assert_eq!(none, AccessError::LoggedOut);
        for (name, url) in [("default", "https://one.example"), ("two", "https://two.example")] {
            let profile = StoredProfile { url: url.parse().unwrap(), api_key: ApiKey::new(name).unwrap() };
            profiles.put(name, profile).unwrap();
        }
        let (one, two, local) = ("https://one.example", "https://two.example", "http://127.0.0.1:4000");
        for (given, address, key) in [
            (given("", "", "", ""), one, "default"),
            (given("", "two", "", ""), two, "two"),
            (given("two", "", "", "k"), two, "two"),
            (given("two", "", "https://x.example", "k"), two, "two"),
            (given("", "two", "", "k"), local, "k"),
            (given("", "", "https://x.example", "k"), "https://x.example", "k"),
            (given("", "", one, ""), one, "default"),
            (given("", "two", two, ""), two, "two"),
        ] {
            let access = given.access(&profiles).unwrap();
            assert_eq!(
                (access.address.to_string().as_str(), access.key.reveal()),
                (address, key),
                "{given:?}"
            );
        }
        let other = "https://x.example".parse().unwrap();
        for (given, error) in [
            (given("three", "", "", "k"), AccessError::NoProfile("three".to_owned())),
            (given("", "three", "", ""), AccessError::NoProfile("three".to_owned())),
            (given("", "", "https://x.example", ""), AccessError::NoKey(other)),
        ] {
            assert_eq!(given.access(&profiles).unwrap_err(), error);
        }
        let wrong = [given("", "", "x", ""), given("", "", "", "a b"), given("", "", "", " ")];
        for given in wrong {
            assert!(matches!(given.access(&profiles), Err(AccessError::Invalid { .. })), "{given:?}");
        }
    }
}
