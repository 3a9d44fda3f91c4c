//! How many files a process may open: each socket is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What a process needs beside its sockets.
const RESERVED: u64 = 1000;

/// Raises the limit of this process, and of those that it starts, as far as the system allows; how many sockets that
/// leaves to each of them.
pub(crate) fn raise() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // Where there is no limit to raise it to, it stays as it is.
    let wanted = Rlimit { current: maximum, maximum };
    let allowed = setrlimit(Resource::Nofile, wanted).map_or(current, |()| maximum);
    usize::try_from(allowed.unwrap_or(u64::MAX).saturating_sub(RESERVED)).unwrap_or(usize::MAX)
}
