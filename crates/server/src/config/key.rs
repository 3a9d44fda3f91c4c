//! The name and the form of a setting.

/// Renamed settings with their new names. An old name is rejected with a hint at the new one.
pub(super) const RENAMED: [(&str, &str); 4] = [
    ("database_statement_ms", "statement_timeout_ms"),
    ("database_wait_ms", "pool_timeout_ms"),
    ("nodes", "cluster_mode"),
    ("push_again_after_ms", "redelivery_after_ms"),
];

/// A setting. Its flag, its variable `PARLANCE_…`, and its line in the file have the same name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// The name in the file.
    pub(crate) name: &'static str,
    /// The placeholder for its value in descriptions.
    pub(crate) value: &'static str,
    /// The default as it would be written, or a description of it.
    pub(crate) default: &'static str,
    /// How the value is written in the file.
    pub(crate) form: Form,
    /// The description, in full sentences.
    pub(crate) what: &'static str,
    /// Removes secrets from a shown value.
    pub(crate) hide: Option<fn(&str) -> String>,
    /// Whether the setting is for tests: only a flag and a variable, and in no help or reference.
    pub(crate) for_tests: bool,
}

/// How a value is written in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// In quotes.
    Text,
    /// As digits.
    Number,
    /// `true` or `false`.
    Switch,
    /// In quotes and separated by commas, or as a list of texts.
    List,
    /// In another way, which no setting accepts.
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

    /// Makes a setting whose value is a text.
    pub(super) const fn text(
        name: &'static str,
        value: &'static str,
        default: &'static str,
        what: &'static str,
    ) -> Self {
        Self::new(Form::Text, name, value, default, what)
    }

    /// Makes a setting whose value is a number.
    pub(super) const fn number(
        name: &'static str,
        value: &'static str,
        default: &'static str,
        what: &'static str,
    ) -> Self {
        Self::new(Form::Number, name, value, default, what)
    }

    /// Makes a setting that is true or false.
    pub(super) const fn switch(name: &'static str, default: &'static str, what: &'static str) -> Self {
        Self::new(Form::Switch, name, "true|false", default, what)
    }

    /// Makes a setting whose value is a list of texts.
    pub(super) const fn list(name: &'static str, value: &'static str, what: &'static str) -> Self {
        Self::new(Form::List, name, value, "none", what)
    }

    /// Hides secrets in shown values with `hide`.
    pub(super) const fn secret(self, hide: fn(&str) -> String) -> Self {
        Self { hide: Some(hide), ..self }
    }

    /// Makes the setting one for tests.
    pub(super) const fn for_tests(self) -> Self {
        Self { for_tests: true, ..self }
    }

    /// The name of the variable, such as `PARLANCE_LISTEN`.
    pub(crate) fn variable(&self) -> String {
        format!("PARLANCE_{}", self.name.to_ascii_uppercase())
    }

    /// The name of the flag without leading hyphens, such as `data-dir`.
    pub(crate) fn flag(&self) -> String {
        self.name.replace('_', "-")
    }
}

impl Form {
    /// Describes the expected form, for error messages.
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
