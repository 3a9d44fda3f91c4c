//! The given values of all settings, their origins, and their precedence.
//!
//! Each section of the configuration reads its settings by [`Key`], which also describes them for the
//! command line, `config show`, and the reference.

use std::collections::{BTreeMap, btree_map};
use std::ffi::OsString;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::env_file;
use super::file::{self, Entry};
use super::flags::Flags;
use super::key::RENAMED;
use super::key::{Form, Key};
use super::{oidc, plans, prices};
use crate::nearest::nearest;

/// The default configuration file; it need not exist.
const DEFAULT_FILE: &str = "parlance.toml";

/// Variables with the prefix of settings that are not settings: those of `parlance client`, of which scripts and examples
/// use the API key too, those of the build and of the project's tests, and those that Kubernetes sets for a service of this
/// name.
const NO_SETTINGS: [&str; 8] = [
    ::client::KEY_VARIABLE,
    ::client::PROFILE_VARIABLE,
    ::client::URL_VARIABLE,
    "PARLANCE_COMMIT",
    "PARLANCE_BUILT_AT",
    "PARLANCE_BIN",
    "PARLANCE_SCENE",
    "PARLANCE_PORT",
];

/// The prefixes of further variables that are not settings.
const NO_SETTINGS_BEGIN: [&str; 3] = ["PARLANCE_TEST_", "PARLANCE_SERVICE_", "PARLANCE_PORT_"];

/// The origin of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// The value is the default.
    Default,
    /// A file, with the line.
    File(PathBuf, usize),
    /// A variable, with its name.
    Variable(String),
    /// A flag, with its name.
    Flag(String),
}

impl Origin {
    /// The file and the line, if the value is from a file.
    fn line(&self) -> Option<(&Path, usize)> {
        match self {
            Self::File(path, line) => Some((path, *line)),
            Self::Default | Self::Variable(_) | Self::Flag(_) => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, line) => write!(f, "{}, line {line}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(name) => write!(f, "--{name}"),
        }
    }
}

/// A fault of the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// The name of the setting.
    pub(crate) key: String,
    /// What is wrong, and what is expected.
    pub(crate) problem: String,
    /// The origin of the value.
    pub(crate) origin: Origin,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.problem)?;
        match &self.origin {
            Origin::Default => Ok(()),
            Origin::Variable(name) if *name == self.key => Ok(()),
            origin => write!(f, " (from {origin})"),
        }
    }
}

/// A setting that was read.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The setting.
    pub(crate) key: Key,
    /// The section that describes it.
    pub(crate) section: &'static str,
    /// The value without secrets; `None` if the setting is not set and its default cannot be written.
    pub(crate) shown: Option<String>,
    /// The origin of the value.
    pub(crate) origin: Origin,
}

/// The beginning of the names of variables for a bucket.
const OF_BUCKET: &str = "AWS_";

struct Given {
    text: String,
    /// How the value is written, if it is from a file.
    form: Option<Form>,
    origin: Origin,
}

/// All given values that no section has read yet.
#[derive(Default)]
pub(crate) struct Values {
    given: BTreeMap<String, Given>,
    /// Lines of the file that a flag or a variable overrides.
    overruled: Vec<(String, Given)>,
    tables: Vec<String>,
    section: &'static str,
    settings: Vec<Setting>,
    faults: Vec<Fault>,
    /// Variables that begin with `AWS_`, which are not settings of Parlance.
    of_bucket: BTreeMap<String, String>,
}

impl Values {
    /// Collects the values of flags, variables, and the file, in this order of precedence.
    pub(super) fn gather(flags: Flags, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut values = Self::default();
        let mut lower = BTreeMap::new();
        for (name, value) in variables {
            let Some(name) = name.to_str() else { continue };
            if let Some(text) = value.to_str().filter(|_| name.starts_with(OF_BUCKET)) {
                values.of_bucket.insert(name.to_owned(), text.to_owned());
            }
            if !name.starts_with("PARLANCE_") {
                continue;
            }
            let origin = Origin::Variable(name.to_owned());
            match value.into_string() {
                Ok(text) => {
                    let key = name.trim_start_matches("PARLANCE_").to_ascii_lowercase();
                    lower.insert(key, Given { text, form: None, origin });
                }
                Err(_) => values.fault(name, "is not valid UTF-8".to_owned(), origin),
            }
        }
        let mut flags = flags.0;
        let env_file = flags.remove("env_file").map(|text| (text, Origin::Flag("env-file".to_owned())));
        let env_file = env_file.or_else(|| {
            let given = lower.remove("env_file")?;
            Some((given.text, given.origin))
        });
        // A variable that a flag has made as well.
        lower.remove("env_file");
        if let Some((path, named_by)) = &env_file {
            values.read_env_file(Path::new(path), named_by, &mut lower);
        }
        for (key, text) in flags {
            lower.insert(
                key.to_owned(),
                Given { text, form: None, origin: Origin::Flag(key.replace('_', "-")) },
            );
        }
        let file = lower.remove("config");
        values.given = lower;
        if let Some(named) = file {
            values.read_file(Path::new(&named.text), &named.origin, true);
            let shown = Some(named.text);
            values.settings.push(Setting { shown, origin: named.origin, ..Self::config_setting() });
        } else {
            values.read_file(Path::new(DEFAULT_FILE), &Origin::Default, false);
            values.settings.push(Self::config_setting());
        }
        let (shown, origin) = env_file.map_or((None, Origin::Default), |(path, by)| (Some(path), by));
        values.settings.push(Setting { shown, origin, ..Self::env_file_setting() });
        values
    }

    /// The variables for a bucket, from the environment and the file of variables.
    pub(super) fn of_bucket(&mut self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.of_bucket)
    }

    /// No given values.
    pub(super) fn gather_nothing() -> Self {
        Self { settings: vec![Self::config_setting(), Self::env_file_setting()], ..Self::default() }
    }

    /// The setting that names the configuration file.
    fn config_setting() -> Setting {
        let key = super::flags::CONFIG;
        Setting { key, section: "The file", shown: None, origin: Origin::Default }
    }

    /// The setting that names the file of environment variables.
    fn env_file_setting() -> Setting {
        let key = super::flags::ENV_FILE;
        Setting { key, section: "The file", shown: None, origin: Origin::Default }
    }

    /// Adds the settings of a file of variables, except those that the environment sets.
    fn read_env_file(&mut self, path: &Path, named_by: &Origin, lower: &mut BTreeMap<String, Given>) {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(cause) => {
                let problem = format!("cannot read {}: {cause}", path.display());
                return self.fault("env_file", problem, named_by.clone());
            }
        };
        for (line, variable) in env_file::variables(&text) {
            let origin = Origin::File(path.to_owned(), line);
            match variable {
                Ok((name, text)) if name.starts_with(OF_BUCKET) => {
                    self.of_bucket.entry(name.to_owned()).or_insert(text);
                }
                Ok((name, text)) => {
                    let is_setting = !is_no_setting(name) && name != "PARLANCE_ENV_FILE";
                    let Some(key) = name.strip_prefix("PARLANCE_").filter(|_| is_setting) else { continue };
                    let given = Given { text, form: None, origin };
                    lower.entry(key.to_ascii_lowercase()).or_insert(given);
                }
                Err(problem) => self.fault("env_file", problem.to_owned(), origin),
            }
        }
    }

    fn read_file(&mut self, path: &Path, named_by: &Origin, must_be: bool) {
        match std::fs::read_to_string(path) {
            Ok(text) => self.take_file(path, &text),
            Err(cause) if cause.kind() == ErrorKind::NotFound && !must_be => {}
            Err(cause) => {
                let problem = format!("cannot read {}: {cause}", path.display());
                self.fault("config", problem, named_by.clone());
            }
        }
    }

    /// Adds the settings of the configuration file, except those that flags or variables set.
    pub(super) fn take_file(&mut self, path: &Path, text: &str) {
        let (entries, faults) = file::entries(text);
        for (line, problem) in faults {
            self.fault("config", format!("not valid TOML: {problem}"), Origin::File(path.to_owned(), line));
        }
        for Entry { path: key, text, form, line, table } in entries {
            let origin = Origin::File(path.to_owned(), line);
            let is_named = |tables: &str| key == tables || key.starts_with(&format!("{tables}."));
            if table && (is_named("plans") || is_named("prices") || is_named("oidc")) {
                self.tables.push(key);
                continue;
            }
            let given = Given { text, form: Some(form), origin };
            match self.given.entry(key) {
                btree_map::Entry::Occupied(higher) => self.overruled.push((higher.key().clone(), given)),
                btree_map::Entry::Vacant(entry) => {
                    entry.insert(given);
                }
            }
        }
    }

    /// Begins a section: the settings that are read next belong to it.
    pub(super) fn section(&mut self, title: &'static str) {
        self.section = title;
    }

    /// Reads a setting. A wrong value is recorded as a fault, and the default is used.
    pub(super) fn read<T>(&mut self, key: Key, parse: impl Fn(&str) -> Result<T, String>) -> T {
        let given = self.take(key, &parse);
        let value = given.map_or_else(|| parse(key.default), Ok);
        value.expect("a default can be read")
    }

    /// Reads a setting that may be absent.
    pub(super) fn optional<T>(&mut self, key: Key, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let value = self.take(key, &parse);
        if let (None, Some(setting)) = (&value, self.settings.last_mut())
            && setting.origin == Origin::Default
        {
            setting.shown = None;
        }
        value
    }

    fn take<T>(&mut self, key: Key, parse: &impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let from_file = |given: &Given| matches!(given.origin, Origin::File(..)) && given.form.is_some();
        let given = match self.given.remove(key.name) {
            Some(given) if key.for_tests && from_file(&given) => {
                let problem = "is for tests and cannot be set in a file".to_owned();
                self.fault(key.name, problem, given.origin);
                None
            }
            given => given,
        };
        let (shown, origin, value) = match given {
            None => (key.default.to_owned(), Origin::Default, None),
            Some(Given { text, form, origin }) => {
                let fits = form
                    .is_none_or(|form| form == key.form || (form == Form::Text && key.form == Form::List));
                let value = if fits { parse(&text) } else { Err(key.form.said().to_owned()) };
                if let Err(problem) = &value {
                    self.fault(key.name, problem.clone(), origin.clone());
                }
                (key.hide.map_or_else(|| text.clone(), |hide| hide(&text)), origin, value.ok())
            }
        };
        self.settings.push(Setting { key, section: self.section, shown: Some(shown), origin });
        value
    }

    /// Records that the value of a setting conflicts with other settings.
    pub(super) fn refuse(&mut self, key: &str, problem: String) {
        let set = self.settings.iter().find(|setting| setting.key.name == key);
        let origin = set.map_or(Origin::Default, |setting| setting.origin.clone());
        self.fault(key, problem, origin);
    }

    fn fault(&mut self, key: &str, problem: String, origin: Origin) {
        self.faults.push(Fault { key: key.to_owned(), problem, origin });
    }

    /// The names of the tables inside `plans`.
    pub(super) fn plan_names(&self) -> Vec<String> {
        self.tables_in("plans").into_iter().filter(|name| !name.contains('.')).collect()
    }

    /// The names of the tables inside another one, and of those inside them, whose names contain a dot.
    pub(super) fn tables_in(&self, outer: &str) -> Vec<String> {
        let names = self.tables.iter().filter_map(|table| table.strip_prefix(outer)?.strip_prefix('.'));
        names.map(str::to_owned).collect()
    }

    /// Reads one line of a table in the file, which has no flag and no variable.
    pub(super) fn line<T>(
        &mut self,
        path: &str,
        form: Form,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let given = self.given.remove(path)?;
        let value = if given.form == Some(form) { parse(&given.text) } else { Err(form.said().to_owned()) };
        value.map_err(|problem| self.fault(path, problem, given.origin)).ok()
    }

    /// Returns all settings and faults. An unknown setting is a fault.
    pub(super) fn end(mut self) -> (Vec<Setting>, Vec<Fault>) {
        let known = self.settings.iter().map(|setting| setting.key.name).collect::<Vec<_>>();
        let mut left = std::mem::take(&mut self.overruled);
        left.retain(|(name, _)| !known.contains(&name.as_str()));
        left.extend(std::mem::take(&mut self.given));
        for (name, given) in left {
            let variable = match &given.origin {
                Origin::Variable(variable) => Some(variable.clone()),
                Origin::Default | Origin::File(..) | Origin::Flag(_) => None,
            };
            if variable.as_deref().is_some_and(is_no_setting) {
                continue;
            }
            let problem = "there is no such setting";
            let renamed = RENAMED.iter().find(|(old, _)| *old == name).map(|(_, new)| *new);
            let of_a_table = plans::lines_like(&name)
                .into_iter()
                .chain(prices::lines_like(&name))
                .chain(oidc::lines_like(&name));
            let of_a_table = of_a_table.collect::<Vec<_>>();
            let meant = || nearest(&name, known.iter().copied().chain(of_a_table.iter().map(String::as_str)));
            let problem = match (renamed.or_else(meant), &variable) {
                (Some(now), Some(_)) if renamed.is_some() => {
                    format!("this setting is called PARLANCE_{} now", now.to_ascii_uppercase())
                }
                (Some(now), None) if renamed.is_some() => format!("this setting is called {now} now"),
                (Some(meant), Some(_)) => {
                    format!("{problem}; did you mean PARLANCE_{}?", meant.to_ascii_uppercase())
                }
                (Some(meant), None) => format!("{problem}; did you mean {meant}?"),
                (None, Some(_)) => format!("{problem}; unset it"),
                (None, None) => problem.to_owned(),
            };
            self.fault(variable.as_deref().unwrap_or(&name), problem, given.origin);
        }
        in_order(&mut self.faults);
        (self.settings, self.faults)
    }
}

/// Sorts faults: first those of flags and variables, then those of files by their lines.
pub(super) fn in_order(faults: &mut [Fault]) {
    faults.sort_by(|one, other| one.origin.line().cmp(&other.origin.line()));
}

/// Returns whether a variable with the prefix of settings is not a setting.
fn is_no_setting(variable: &str) -> bool {
    NO_SETTINGS.contains(&variable) || NO_SETTINGS_BEGIN.iter().any(|begin| variable.starts_with(begin))
}
