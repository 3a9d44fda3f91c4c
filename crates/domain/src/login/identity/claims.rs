//! What a provider says of a person.

use std::fmt;

use serde_json::{Map, Value};

use super::{ProvidedEmail, ProviderPolicy};
use crate::account::{PersonName, parse_email, parse_person_name};

/// The claims of an ID token and of the provider's page of the person. Not shown, since they are personal.
#[derive(Clone, PartialEq, Default)]
pub struct Claims(Map<String, Value>);

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Claims(…)")
    }
}

impl Claims {
    /// Wraps the JSON object.
    pub fn new(object: Map<String, Value>) -> Self {
        Self(object)
    }

    /// Returns whether there is a claim with this name or path.
    pub fn has(&self, claim: &str) -> bool {
        self.find(claim).is_some()
    }

    /// The value of a claim. A name may contain dots itself, as those of Auth0 do, which are URLs.
    fn find(&self, claim: &str) -> Option<&Value> {
        if let Some(whole) = self.0.get(claim) {
            return Some(whole);
        }
        let (first, rest) = claim.split_once('.')?;
        rest.split('.').try_fold(self.0.get(first)?, |value, name| value.get(name))
    }

    /// Returns whether a claim has this value, or contains it; `*` is any.
    pub(super) fn have(&self, claim: &str, expected: &str) -> bool {
        let is_it = |value: &Value| match value {
            Value::String(text) => text == expected,
            Value::Bool(value) => expected == if *value { "true" } else { "false" },
            Value::Number(number) => number.to_string() == expected,
            Value::Null | Value::Array(_) | Value::Object(_) => false,
        };
        match self.find(claim) {
            None | Some(Value::Null) => false,
            Some(_) if expected == "*" => true,
            Some(Value::Array(values)) => values.iter().any(is_it),
            Some(value) => is_it(value),
        }
    }

    /// A claim that is a text.
    pub(super) fn text(&self, claim: &str) -> Option<String> {
        Some(self.0.get(claim)?.as_str()?.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The address, if there is a usable one. Some providers write the flag as a text.
    pub fn email(&self, policy: &ProviderPolicy) -> Option<ProvidedEmail> {
        let address = parse_email(&self.text("email")?).ok()?;
        let is_verified = match self.0.get("email_verified") {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(flag)) => flag == "true",
            None | Some(Value::Null) => policy.trusts_email,
            Some(_) => false,
        };
        Some(ProvidedEmail { address, is_verified })
    }

    /// The name of the person, or the text before the `@` of the address.
    pub(in crate::login) fn name(&self, email: &str) -> Option<PersonName> {
        let parts = ["given_name", "family_name"].map(|part| self.text(part)).into_iter().flatten();
        let parts = parts.collect::<Vec<_>>().join(" ");
        let local = email.split('@').next().unwrap_or(email);
        let all = [self.text("name").unwrap_or_default(), parts, local.to_owned()];
        all.iter().find_map(|name| parse_person_name(name).ok())
    }
}
