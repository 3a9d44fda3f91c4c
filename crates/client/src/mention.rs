//! Who a typed text is addressed to.

use std::collections::BTreeSet;

use crate::model::Participant;

/// The participants whose handle the text has after an `@`, each once, in the order of the list. An agent may be named
/// without its owner, if only one is called so. Nobody mentions `own`, the sender.
pub fn mentioned<'p>(text: &str, participants: &'p [Participant], own: &str) -> Vec<&'p Participant> {
    let written = handles_in(text);
    let is_written = |participant: &&Participant| {
        let is_short = |slug: &str| written.contains(slug) && by_slug(slug, participants).is_some();
        written.contains(&participant.handle) || participant.slug().is_some_and(is_short)
    };
    participants.iter().filter(|participant| participant.id != own).filter(is_written).collect()
}

/// The participant with this handle, or the only agent with it behind its owner's.
pub(crate) fn by_handle<'p>(handle: &str, participants: &'p [Participant]) -> Option<&'p Participant> {
    let handle = handle.trim().trim_start_matches('@').to_ascii_lowercase();
    let exact = participants.iter().find(|participant| participant.handle == handle);
    exact.or_else(|| by_slug(&handle, participants))
}

fn by_slug<'p>(slug: &str, participants: &'p [Participant]) -> Option<&'p Participant> {
    if participants.iter().any(|participant| participant.handle == slug) {
        return None;
    }
    let mut agents = participants.iter().filter(|participant| participant.slug() == Some(slug));
    agents.next().filter(|_| agents.next().is_none())
}

/// The handles after an `@` that is not inside of a word, in lowercase. The server finds them in the same way.
fn handles_in(text: &str) -> BTreeSet<String> {
    let handles = text.match_indices('@').filter_map(|(at, _)| {
        let is_inside_a_word = text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '/')));
        let handle = rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', '-', '/']);
        (!is_inside_a_word && !handle.is_empty()).then(|| handle.to_ascii_lowercase())
    });
    handles.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room() -> Vec<Participant> {
        let participant = |handle: &str| {
            let kind = if handle.contains('/') { "Agent" } else { "User" };
            Participant { id: format!("id-{handle}"), handle: handle.to_owned(), kind: kind.to_owned() }
        };
        ["ann", "bob", "ann/echo", "bob/echo", "ann/scout", "ann/bob"].map(participant).to_vec()
    }

    #[test]
    fn handles_in_a_text_mention_participants() {
        for (text, who) in [
            ("@bob, @ann/echo: hello", &["bob", "ann/echo"][..]),
            ("(@Bob) and @bob.", &["bob"]),
            ("@scout and @echo", &["ann/scout"]),
            ("mail ann@bob or @nobody @ @/", &[]),
            ("@ann it is me", &[]),
            ("@ann/bob", &["ann/bob"]),
            ("@ann/echo/x", &[]),
        ] {
            let room = room();
            let handles =
                mentioned(text, &room, "id-ann").into_iter().map(|participant| participant.handle.as_str());
            assert_eq!(handles.collect::<Vec<_>>(), who, "{text}");
        }
    }

    #[test]
    fn an_agent_is_found_by_its_handle() {
        let room = room();
        let found = |handle| by_handle(handle, &room).map(|participant| participant.handle.as_str());
        assert_eq!(found(" @Ann/Echo"), Some("ann/echo"));
        assert_eq!(found("scout"), Some("ann/scout"));
        assert_eq!(found("bob"), Some("bob"), "a user's handle is not short for an agent's");
        assert_eq!((found("echo"), found("nobody"), found("")), (None, None, None));
    }
}
