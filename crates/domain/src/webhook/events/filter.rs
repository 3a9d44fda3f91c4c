//! Which entries of the audit log a webhook receives.

use crate::audit::AuditAction;

/// What stands for all actions of an area.
const WHOLE_AREA: &str = ".*";

/// Between the names in a store.
const BETWEEN: &str = " ";

/// A name that is neither an action nor an area.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be an action of the audit log, such as agent.deleted, or an area, such as agent.*")]
pub struct UnknownEvent;

/// The actions of the audit log that a webhook receives, and areas such as `agent.*`; all if it is empty.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct EventFilter(Vec<String>);

impl EventFilter {
    /// The maximum number of names.
    pub const MAX: usize = 50;

    /// The maximum number of characters of a name.
    pub const MAX_CHARS: usize = 100;

    /// Checks a name.
    ///
    /// # Errors
    /// [`UnknownEvent`].
    pub fn check(name: &str) -> Result<String, UnknownEvent> {
        let is_area = name.strip_suffix(WHOLE_AREA).is_some_and(|area| {
            AuditAction::WORDS.iter().any(|action| action.split_once('.').is_some_and(|(of, _)| of == area))
        });
        if is_area || AuditAction::parse(name).is_some() { Ok(name.to_owned()) } else { Err(UnknownEvent) }
    }

    /// These names, which were checked, in their order and each once.
    pub fn new(mut names: Vec<String>) -> Self {
        names.sort_unstable();
        names.dedup();
        Self(names)
    }

    /// The names that a store has kept.
    pub fn stored(text: Option<&str>) -> Self {
        Self(text.into_iter().flat_map(|text| text.split(BETWEEN)).map(str::to_owned).collect())
    }

    /// The names as a store keeps them; `None` if there are none.
    pub fn to_stored(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.join(BETWEEN))
    }

    /// The names.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The names separated by commas, cut to about `most_chars`; `all` if there are none.
    pub fn to_text(&self, most_chars: usize) -> String {
        let text = if self.0.is_empty() { "all".to_owned() } else { self.0.join(",") };
        match text.char_indices().nth(most_chars) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    /// Returns whether an action is among them.
    pub fn has(&self, action: &str) -> bool {
        let is_named = |name: &String| {
            let area = name.strip_suffix('*');
            area.map_or_else(|| name == action, |area| action.starts_with(area))
        };
        self.0.is_empty() || self.0.iter().any(is_named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_and_areas_are_names() {
        for name in ["agent.deleted", "agent.*", "webhook.*", "session.*", "login.failed"] {
            assert_eq!(EventFilter::check(name).as_deref(), Ok(name));
        }
        for name in
            ["", "*", ".*", "agent", "agent.", "agent.d*", "agents.*", "agent.deleted.*", "Agent.*", "a b"]
        {
            assert_eq!(EventFilter::check(name), Err(UnknownEvent), "{name}");
        }
        let longest = AuditAction::WORDS.iter().map(|action| action.len()).max();
        assert!(
            longest < Some(EventFilter::MAX_CHARS)
                && !AuditAction::WORDS.iter().any(|one| one.contains(BETWEEN))
        );
    }

    #[test]
    fn a_webhook_receives_what_is_named() {
        let all = EventFilter::default();
        assert!(all.has("agent.deleted") && all.has("something.new"));
        let some = EventFilter::new(["key.*", "agent.deleted", "key.*"].map(str::to_owned).to_vec());
        assert_eq!(some.names(), ["agent.deleted", "key.*"]);
        for (action, expected) in [
            ("agent.deleted", true),
            ("key.created", true),
            ("agent.updated", false),
            ("keys.created", false),
        ] {
            assert_eq!(some.has(action), expected, "{action}");
        }
        assert_eq!((all.to_text(9), some.to_text(99)), ("all".to_owned(), "agent.deleted,key.*".to_owned()));
        assert_eq!(some.to_text(5), "agent…");
        for filter in [all, some] {
            assert_eq!(EventFilter::stored(filter.to_stored().as_deref()), filter);
        }
    }
}
