//! Suggestions for mistyped names.

use std::sync::Arc;

use domain::chat::ChatFilter;
use domain::id::ParticipantId;
use domain::page::{PageRequest, Slice};

use crate::commands::user::AT_ONCE;
use crate::store::Store;
use crate::wiring;

/// The maximum number of names of a kind that a mistyped one is compared with.
const COMPARED: usize = 10_000;

/// The maximum number of users and agents whose keys a mistyped one is compared with.
const HOLDERS: usize = 500;

/// The known name that `name` most likely means: at most one slip per three characters, and three
/// in all.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = characters(name);
    let slips = (name.len() / 3).clamp(1, 3);
    let distances = known.into_iter().map(|known| (distance(&name, &characters(known)), known));
    // A name of one character is a slip away from every other.
    distances.filter(|(slip, _)| *slip <= slips && *slip < name.len()).min().map(|(_, known)| known)
}

fn characters(text: &str) -> Vec<char> {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// The number of characters to insert, remove, change, or swap with the next to turn one text into
/// the other.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before = Vec::new();
    let mut above = (0..=other.len()).collect::<Vec<_>>();
    for (row, left) in one.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, right) in other.iter().enumerate() {
            let changed = above[column] + usize::from(left != right);
            let mut least = changed.min(above[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *left == other[column - 1] && one[row - 1] == *right {
                least = least.min(before[column - 1] + 1);
            }
            current.push(least);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[other.len()]
}

/// The handles of users. Like all lists here, it is for a suggestion: it is bounded, and empty if the store
/// fails.
pub(crate) async fn users(store: &Arc<dyn Store>) -> Vec<String> {
    let administration = wiring::administration(store.clone());
    all(async |after| {
        let users = administration.users_after(after, AT_ONCE).await.unwrap_or_default();
        users.into_iter().map(|user| user.handle).collect()
    })
    .await
}

/// The handles of agents.
pub(crate) async fn agents(store: &Arc<dyn Store>) -> Vec<String> {
    let administration = wiring::administration(store.clone());
    all(async |after| {
        let agents = administration.agents_after(None, after, AT_ONCE).await.unwrap_or_default();
        agents.into_iter().map(|agent| agent.handle).collect()
    })
    .await
}

/// Handles, page by page, each page after the last handle of the previous one.
async fn all<H: Clone + ToString>(mut page: impl AsyncFnMut(Option<H>) -> Vec<H>) -> Vec<String> {
    let mut handles = Vec::<H>::new();
    while handles.len() < COMPARED {
        let next = page(handles.last().cloned()).await;
        if next.is_empty() {
            break;
        }
        handles.extend(next);
    }
    handles.iter().map(ToString::to_string).collect()
}

/// The handles of users, or of agents if `like` is one.
pub(crate) async fn handles(store: &Arc<dyn Store>, like: &str) -> Vec<String> {
    if like.contains('/') { agents(store).await } else { users(store).await }
}

/// The names of organizations.
pub(crate) async fn organizations(store: &Arc<dyn Store>) -> Vec<String> {
    let found = wiring::plans(store.clone()).organizations().await.unwrap_or_default();
    found.into_iter().map(|organization| organization.name).collect()
}

/// The names of plans.
pub(crate) async fn plans(store: &Arc<dyn Store>) -> Vec<String> {
    let found = wiring::plans(store.clone()).list().await.unwrap_or_default();
    found.into_iter().map(|in_use| in_use.plan.name.as_str().to_owned()).collect()
}

/// The ids of the newest chats.
pub(crate) async fn chats(store: &Arc<dyn Store>) -> Vec<String> {
    let found = store.overview(ChatFilter::All, None, AT_ONCE).await.unwrap_or_default();
    found.iter().map(|overview| overview.chat.id.to_string()).collect()
}

/// The ids and prefixes of active keys.
pub(crate) async fn keys(store: &Arc<dyn Store>) -> Vec<String> {
    let (administration, accounts) = (wiring::administration(store.clone()), wiring::accounts(store.clone()));
    let users = administration.users_after(None, AT_ONCE).await.unwrap_or_default();
    let agents = administration.agents_after(None, None, AT_ONCE).await.unwrap_or_default();
    let holders = users.iter().map(|user| ParticipantId::User(user.id));
    let holders = holders.chain(agents.iter().map(|agent| ParticipantId::Agent(agent.id)));
    let mut names = Vec::new();
    for holder in holders.take(HOLDERS) {
        let page = PageRequest { slice: Slice::After { after: None, limit: 100 }, count: false };
        let Ok(page) = accounts.list_keys(holder, page).await else { break };
        names
            .extend(page.rows.into_iter().flat_map(|key| key.prefix.into_iter().chain([key.id.to_string()])));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_names_are_found() {
        let known = ["listen", "data_dir", "database_url", "ann", "Acme"];
        for (name, meant) in [
            ("lisen", "listen"),
            ("data_dri", "data_dir"),
            ("databaseurl", "database_url"),
            ("nan", "ann"),
            ("an", "ann"),
            ("amce", "Acme"),
        ] {
            assert_eq!(nearest(name, known), Some(meant));
        }
        for name in ["", "server", "x", "nobody", "naan-lee"] {
            assert_eq!(nearest(name, known), None, "{name}");
        }
        assert_eq!(nearest("x", ["y", ""]), None);
        let distance = |one: &str, other: &str| distance(&characters(one), &characters(other));
        assert_eq!(
            (distance("kitten", "sitting"), distance("", "abc"), distance("a", "a"), distance("ab", "ba")),
            (3, 3, 0, 1)
        );
    }
}
