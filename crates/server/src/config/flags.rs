//! The settings as flags of the command line, generated from the keys that the sections read.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint};

use super::key::{Key, RENAMED};
use super::{Config, without_password};

/// The configuration file; it cannot be set in the file.
pub(super) const CONFIG: Key = Key::text(
    "config",
    "FILE",
    "parlance.toml, if there is one",
    "Configuration file (TOML). If you name a file, it must exist.",
);

/// The settings that select the store, with a short help. Every command accepts them.
const OF_EVERY_COMMAND: [(&str, &str); 4] = [
    ("config", "Configuration file [default: parlance.toml, if there is one]"),
    ("env_file", "File with environment variables, as of systemd [default: none]"),
    ("data_dir", "Directory of the store and the signing keys [default: data]"),
    ("database_url", "Store: sqlite:PATH or postgres://… [default: in the data directory]"),
];

/// Quotes a text as one word for a shell.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The short help of a setting that every command accepts.
fn short_help(name: &str) -> Option<&'static str> {
    OF_EVERY_COMMAND.iter().find(|(known, _)| *known == name).map(|(_, help)| *help)
}

/// The file of environment variables.
pub(super) const ENV_FILE: Key = Key::text(
    "env_file",
    "FILE",
    "none",
    "File with environment variables, one `NAME=value` per line, in the format of systemd's `EnvironmentFile`. Gives \
     a command the settings of the service. Variables that are already set take precedence.",
);

/// The given flags with their values, as they were written.
#[derive(Clone, Debug, Default)]
pub struct Flags(pub(super) BTreeMap<&'static str, String>);

impl Flags {
    /// Adds `others`, which take precedence.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The flags that select the store, quoted for a shell, without passwords.
    pub(crate) fn of_the_store(&self) -> String {
        let given = OF_EVERY_COMMAND.iter().filter_map(|(name, _)| Some((name, self.0.get(name)?)));
        given.fold(String::new(), |said, (name, value)| {
            let value = if *name == "database_url" { without_password(value) } else { value.clone() };
            format!("{said} --{} {}", name.replace('_', "-"), shell_word(&value))
        })
    }

    /// Returns a flag among these that only the server accepts, as it is written on the command line.
    pub fn only_for_the_server(&self) -> Option<String> {
        let name = self.0.keys().find(|name| short_help(name).is_none())?;
        Some(format!("--{}", name.replace('_', "-")))
    }
}

/// The flags before a command: those of every command, and those of the server, which the help of `serve`
/// describes.
#[derive(Clone, Debug, Default)]
pub struct LeadingFlags(pub Flags);

/// All settings of the server as flags of one command.
#[derive(Clone, Debug, Default)]
pub struct ServerFlags(pub Flags);

impl Args for LeadingFlags {
    fn augment_args(command: Command) -> Command {
        let command = flags().fold(command, |command, (key, of_every_command)| {
            let heading = if of_every_command { "Store" } else { "Settings" };
            let flag = flag(&key, heading).global(of_every_command);
            command.arg(if of_every_command { flag } else { flag.hide(true) })
        });
        RENAMED.iter().fold(command, |command, (old, _)| command.arg(renamed_flag(old)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl Args for ServerFlags {
    fn augment_args(command: Command) -> Command {
        let keys = flags().filter(|(_, of_every_command)| !of_every_command);
        let command = keys.fold(command, |command, (key, _)| command.arg(flag(&key, "Settings")));
        RENAMED.iter().fold(command, |command, (old, _)| command.arg(renamed_flag(old)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LeadingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(given(matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl FromArgMatches for ServerFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(given(matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The settings that select the store, for a command that uses none: it does not show them, and says so if it gets one.
pub(crate) fn unused_store_flags() -> Vec<Arg> {
    let of_every_command = flags().filter(|(_, of_every_command)| *of_every_command);
    of_every_command.map(|(key, _)| flag(&key, "Store").global(true).hide(true)).collect()
}

/// Every setting, and whether every command accepts it.
fn flags() -> impl Iterator<Item = (Key, bool)> {
    let keys = Config::described().into_iter().map(|setting| setting.key);
    keys.map(|key| (key, short_help(key.name).is_some()))
}

fn given(matches: &ArgMatches) -> Flags {
    let names = flags().map(|(key, _)| key.name).chain(RENAMED.iter().map(|(old, _)| *old));
    // A command that does not have a setting is asked for it as well.
    let value = |name| matches.try_get_one::<String>(name).ok().flatten().cloned();
    Flags(names.filter_map(|name| Some((name, value(name)?))).collect())
}

/// The flag of a renamed setting, which is rejected with a hint at the new name.
fn renamed_flag(old: &'static str) -> Arg {
    Arg::new(old).long(old.replace('_', "-")).action(ArgAction::Set).hide(true)
}

fn flag(key: &Key, heading: &'static str) -> Arg {
    let said = short_help(key.name).map_or_else(
        || format!("{} [default: {}] [variable: {}]", without_links(key.what), key.default, key.variable()),
        str::to_owned,
    );
    Arg::new(key.name)
        .long(key.flag())
        .value_name(key.value)
        .value_hint(match key.value {
            "FILE" => ValueHint::FilePath,
            "DIRECTORY" => ValueHint::DirPath,
            _ => ValueHint::Other,
        })
        .help(said)
        .action(ArgAction::Set)
        .hide(key.for_tests)
        .help_heading(heading)
}

/// A description without Markdown links, for a terminal.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[')
        && let Some((name, target)) = link.split_once("](")
        && let Some((_, after)) = target.split_once(')')
    {
        plain.push_str(before);
        plain.push_str("docs/");
        plain.push_str(name);
        rest = after;
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        crate::cli::Cli::command().debug_assert();
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (text, word) in
            [("./a-b/c_1.d", "./a-b/c_1.d"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("", "''")]
        {
            assert_eq!(shell_word(text), word);
        }
        let given = [("data_dir", "my data"), ("listen", "x"), ("database_url", "postgres://u:secret@h/d")];
        let flags = Flags(given.map(|(name, value)| (name, value.to_owned())).into());
        assert_eq!(flags.of_the_store(), " --data-dir 'my data' --database-url 'postgres://u:***@h/d'");
    }

    #[test]
    fn links_are_names_of_files() {
        assert_eq!(without_links("See [a.md](a.md), or [b.md](b.md)."), "See docs/a.md, or docs/b.md.");
        assert_eq!(without_links("A [list]."), "A [list].");
    }
}
