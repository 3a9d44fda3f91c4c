//! The number of files that the process may open: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that connections of clients leave to the store, the bus, and outgoing requests.
const RESERVED: u64 = 512;

/// Raises the limit of this process as far as the system allows, and returns the number of connections that it leaves
/// room for.
pub(crate) fn raise_limit() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // Some systems name no maximum, or one that they refuse.
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let files = raised.map_or(current, |()| maximum).unwrap_or(u64::MAX);
    let connections = connections_of(files);
    tracing::info!(files, connections, "limit of open files");
    connections
}

/// Connections under this limit of open files.
fn connections_of(files: u64) -> usize {
    let connections = files.saturating_sub(RESERVED).max(files / 2);
    usize::try_from(connections).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_to_the_store() {
        assert_eq!(connections_of(65_536), 65_024);
        assert_eq!(connections_of(1024), 512);
        assert_eq!(connections_of(256), 128, "half of very few");
        assert!(connections_of(u64::MAX) > 1_000_000_000);
    }

    #[test]
    fn the_limit_is_raised_to_what_the_system_allows() {
        let allowed = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        assert_eq!(raise_limit(), connections_of(allowed));
        assert_eq!(getrlimit(Resource::Nofile).current, Some(allowed));
    }
}
