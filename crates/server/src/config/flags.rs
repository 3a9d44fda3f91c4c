//! The settings as flags of the command line, made from what the sections ask for.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::Config;
use super::key::Key;

/// Which file is read; it cannot stand in the file.
pub(super) const CONFIG: Key = Key::text(
    "config",
    "FILE",
    "parlance.toml, if there is one",
    "File with settings, TOML. A file that is named must be there.",
);

/// What the flags say, each as it was written.
#[derive(Clone, Debug, Default)]
pub struct Flags(pub(super) BTreeMap<&'static str, String>);

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        let keys = Config::described().into_iter().map(|setting| setting.key);
        keys.fold(command, |command, key| command.arg(flag(&key)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let keys = Config::described().into_iter().map(|setting| setting.key.name);
        let given = keys.filter_map(|name| Some((name, matches.get_one::<String>(name)?.clone())));
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn flag(key: &Key) -> Arg {
    let said =
        format!("{} [default: {}] [variable: {}]", without_links(key.what), key.default, key.variable());
    Arg::new(key.name)
        .long(key.flag())
        .value_name(key.value)
        .help(said)
        .global(true)
        .action(ArgAction::Set)
        .hide(key.for_tests)
        .help_heading("Settings")
}

/// The text of a description as it reads in a terminal.
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
    fn links_are_names_of_files() {
        assert_eq!(without_links("See [a.md](a.md), or [b.md](b.md)."), "See docs/a.md, or docs/b.md.");
        assert_eq!(without_links("A [list]."), "A [list].");
    }
}
