//! What the environment tells `parlance client`. None of it is a setting of the server.

use std::ffi::OsString;
use std::path::PathBuf;

use ::client::{Given, KEY_VARIABLE, PROFILE_VARIABLE, URL_VARIABLE};

/// What chooses the server of a command, and the file of profiles.
#[derive(Debug)]
pub(crate) struct ClientSettings {
    /// What was given to choose a server.
    pub(crate) given: Given,
    /// The file of profiles; absent without a home directory.
    pub(crate) file: Option<PathBuf>,
}

impl ClientSettings {
    /// Reads the environment; `profile` is from the command line.
    pub(crate) fn read(profile: Option<String>) -> Self {
        Self::of(profile, |name| std::env::var_os(name))
    }

    /// An empty variable is like none, and what is not UTF-8 is told by the check of the value.
    fn of(profile: Option<String>, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name| {
            let value = variable(name).filter(|value| !value.is_empty());
            value.map(|value| value.to_string_lossy().into_owned())
        };
        let directory = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let config = directory("XDG_CONFIG_HOME").or_else(|| Some(directory("HOME")?.join(".config")));
        let given = Given {
            profile,
            profile_variable: text(PROFILE_VARIABLE),
            url: text(URL_VARIABLE),
            key: text(KEY_VARIABLE),
        };
        Self { given, file: config.map(|config| config.join("parlance/client.toml")) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_file_is_where_other_programs_have_theirs() {
        let settings = |variables: &'static [(&'static str, &'static str)]| {
            let variables = move |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            };
            ClientSettings::of(Some("work".to_owned()), variables)
        };
        let file = |variables| settings(variables).file;
        let in_home = Some(Path::new("/home/ann/.config/parlance/client.toml").to_owned());
        assert_eq!(file(&[("HOME", "/home/ann")]), in_home);
        assert_eq!(file(&[("HOME", "/home/ann"), ("XDG_CONFIG_HOME", "relative")]), in_home);
        let chosen = file(&[("HOME", "/home/ann"), ("XDG_CONFIG_HOME", "/etc/ann")]);
        assert_eq!(chosen, Some(Path::new("/etc/ann/parlance/client.toml").to_owned()));
        assert_eq!(file(&[]), None);
        let given = settings(&[("PARLANCE_URL", "http://x"), ("PARLANCE_KEY", "")]).given;
        assert_eq!(
            (given.url.as_deref(), given.key.as_deref(), given.profile_name()),
            (Some("http://x"), None, "work")
        );
    }
}
