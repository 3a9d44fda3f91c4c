//! Checking a quota. Pure; the stores call it inside the write.

use crate::id::ChatId;
use crate::words::words;

words! {
    /// A limited resource.
    Resource {
        /// Agents of an organization.
        Agents = "agents",
        /// Active chats of an organization.
        Chats = "chats",
        /// Participants of a chat.
        Participants = "participants",
        /// Texts and events of a chat.
        Messages = "messages",
        /// Bytes of the messages and memories of an organization.
        Bytes = "bytes",
    }
}

/// The limit of the plan is reached.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the plan allows {limit} {}", resource.as_str())]
pub struct LimitReached {
    /// The resource.
    pub resource: Resource,
    /// The limit.
    pub limit: u64,
    /// The current number.
    pub current: u64,
    /// Name of the plan.
    pub plan: String,
    /// The chat, for a quota of a chat.
    pub scope: Option<ChatId>,
}

/// Checks that `more` of `resource` can be added to the `current` ones; zero is always possible.
pub fn check_more(
    resource: Resource,
    limit: Option<u64>,
    current: u64,
    more: u64,
    plan: &str,
) -> Result<(), LimitReached> {
    match more.checked_sub(1) {
        Some(others) => check(resource, limit, current + others, plan, None)
            .map_err(|reached| LimitReached { current, ..reached }),
        None => Ok(()),
    }
}

/// Checks that one more of `resource` can be added to the `current` ones.
pub fn check(
    resource: Resource,
    limit: Option<u64>,
    current: u64,
    plan: &str,
    scope: Option<ChatId>,
) -> Result<(), LimitReached> {
    match limit {
        Some(limit) if current >= limit => {
            Err(LimitReached { resource, limit, current, plan: plan.to_owned(), scope })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_fits_below_the_limit_only() {
        let fits = |limit, current| check(Resource::Chats, limit, current, "tiny", None).is_ok();
        assert!(fits(None, u64::MAX));
        assert!(fits(Some(1), 0) && !fits(Some(1), 1) && !fits(Some(1), 2));
        assert!(!fits(Some(0), 0), "a limit of none allows none");
        let more = |current, more| check_more(Resource::Agents, Some(5), current, more, "tiny");
        assert!(more(3, 2).is_ok() && more(5, 0).is_ok() && more(9, 0).is_ok());
        assert_eq!(more(3, 3).unwrap_err().current, 3);
        let refused = check(Resource::Agents, Some(2), 7, "tiny", None).unwrap_err();
        assert_eq!((refused.limit, refused.current, refused.plan.as_str()), (2, 7, "tiny"));
    }
}
