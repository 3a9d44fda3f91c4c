//! The name and the form of a setting.

/// Renamed settings with their new names. An old name is rejected with a hint at the new one.
pub(super) const RENAMED: [(&str, &str); 4] = [
    ("database_statement_ms", "statement_timeout_ms"),
    ("database_wait_ms", "pool_timeout_ms"),
    ("nodes", "cluster_mode"),
    ("push_again_after_ms", "redelivery_after_ms"),
];

/// One setting: a flag, a variable `PARLANCE_…` and a line in the file, of the same name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its name in the file.
    pub(crate) name: &'static str,
    /// The placeholder for its value in descriptions.
    pub(crate) value: &'static str,
    /// The default, as it would be written; a description if no value can be written for it.
    pub(crate) default: &'static str,
    /// How it is written in the file.
    pub(crate) form: Form,
    /// Its description, in full sentences.
    pub(crate) what: &'static str,
    /// Removes secrets from a shown value.
    pub(crate) hide: Option<fn(&str) -> String>,
    /// Set if it is only a flag or a variable, and left out of all help and references.
    pub(crate) for_tests: bool,
}

/// How a value is written in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// In quotes.
    Text,
    /// Digits.
    Number,
    /// `true` or `false`.
    Switch,
    /// In quotes with commas, or a list of texts.
    List,
    /// Anything else, which no setting takes.
    Other,
}

impl Key {
    const fn new(
        form: Form,
        name: &'static str,
        value: &'static str,
        default: &'static str,
        what: &'static str,
    ) -> Self {
        Self { name, value, default, form, what, hide: None, for_tests: false }
    }

    /// A setting that is a text.
    pub(super) const fn text(
        name: &'static str,
        value: &'static str,
        default: &'static str,
        what: &'static str,
    ) -> Self {
        Self::new(Form::Text, name, value, default, what)
    }

    /// A setting that is a number.
    pub(super) const fn number(
        name: &'static str,
        value: &'static str,
        default: &'static str,
        what: &'static str,
    ) -> Self {
        Self::new(Form::Number, name, value, default, what)
    }

    /// A setting that is true or false.
    pub(super) const fn switch(name: &'static str, default: &'static str, what: &'static str) -> Self {
        Self::new(Form::Switch, name, "true|false", default, what)
    }

    /// A setting that is several texts.
    pub(super) const fn list(name: &'static str, value: &'static str, what: &'static str) -> Self {
        Self::new(Form::List, name, value, "none", what)
    }

    /// The same with something secret in it.
    pub(super) const fn secret(self, hide: fn(&str) -> String) -> Self {
        Self { hide: Some(hide), ..self }
    }

    /// The same for tests only.
    pub(super) const fn for_tests(self) -> Self {
        Self { for_tests: true, ..self }
    }

    /// The variable, as `PARLANCE_LISTEN`.
    pub(crate) fn variable(&self) -> String {
        format!("PARLANCE_{}", self.name.to_ascii_uppercase())
    }

    /// The flag without its hyphens in front, as `data-dir`.
    pub(crate) fn flag(&self) -> String {
        self.name.replace('_', "-")
    }
}

impl Form {
    /// How to write it, for somebody who wrote it otherwise.
    pub(super) fn said(self) -> &'static str {
        match self {
            Self::Text => "must be a text in quotes",
            Self::Number => "must be a number, without quotes",
            Self::Switch => "must be true or false, without quotes",
            Self::List => "must be a list of texts in quotes",
            Self::Other => "cannot be set",
        }
    }
}
