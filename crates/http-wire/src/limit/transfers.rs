//! Limits concurrent uploads and downloads of each caller: a transfer takes as long as its client likes, and holds a file
//! and some memory meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{ApiError, ErrorCode};

/// The minimum rate of a client that sends or reads a long body, in bytes a second.
pub const SLOWEST: u64 = 4096;

/// The direction of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Transfer {
    /// From the client.
    Upload,
    /// To the client.
    Download,
    /// A transcript to the client, which holds a page of messages.
    Transcript,
}

impl Transfer {
    /// The maximum number of one caller.
    const fn most(self) -> u32 {
        match self {
            Self::Upload => 4,
            Self::Download => 16,
            Self::Transcript => 2,
        }
    }
}

/// The maximum number of transcripts of all callers, each of which takes about 2 MiB.
const MOST_TRANSCRIPTS: u32 = 32;

/// The value of `Retry-After` for a caller with too many transfers, in seconds.
const RETRY_SECONDS: u32 = 1;

/// The transfers under way; one for all workers of the server.
#[derive(Default)]
pub(super) struct Transfers(Mutex<HashMap<(u128, Transfer), u32>>);

/// The permit of a transfer, until it is dropped.
pub struct TransferPermit {
    transfers: Arc<Transfers>,
    key: (u128, Transfer),
}

impl Transfers {
    fn under_way(&self) -> MutexGuard<'_, HashMap<(u128, Transfer), u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a transfer.
    pub(super) fn begin(
        self: &Arc<Self>,
        caller: u128,
        transfer: Transfer,
    ) -> Result<TransferPermit, ApiError> {
        let key = (caller, transfer);
        let mut under_way = self.under_way();
        let count = under_way.get(&key).copied().unwrap_or(0);
        if count >= transfer.most() {
            let what = match transfer {
                Transfer::Upload => "uploads",
                Transfer::Download => "downloads",
                Transfer::Transcript => "transcripts",
            };
            let message = format!(
                "You have reached the limit of {count} concurrent {what}. Try again when one has ended."
            );
            return Err(ApiError::new(ErrorCode::RateLimited, message).with_retry_after(RETRY_SECONDS));
        }
        let of_all =
            || under_way.iter().filter(|((_, of), _)| *of == Transfer::Transcript).map(|(_, count)| count);
        if transfer == Transfer::Transcript && of_all().sum::<u32>() >= MOST_TRANSCRIPTS {
            let message = "The server sends as many transcripts as it can. Try again in a moment.";
            return Err(ApiError::new(ErrorCode::ServiceUnavailable, message).with_retry_after(RETRY_SECONDS));
        }
        under_way.insert(key, count + 1);
        Ok(TransferPermit { transfers: self.clone(), key })
    }
}

impl Drop for TransferPermit {
    fn drop(&mut self) {
        let mut under_way = self.transfers.under_way();
        let left = under_way.get(&self.key).map_or(0, |count| count - 1);
        if left == 0 {
            under_way.remove(&self.key);
        } else {
            under_way.insert(self.key, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_a_few_transfers_in_each_direction() {
        let transfers = Arc::<Transfers>::default();
        let begin = |caller, transfer| transfers.begin(caller, transfer);
        let mut uploads =
            (0..4).map(|_| begin(1, Transfer::Upload).unwrap_or_else(|_| panic!())).collect::<Vec<_>>();
        let refused = begin(1, Transfer::Upload).err().map(|error| error.code());
        assert_eq!(refused, Some(ErrorCode::RateLimited));
        assert!(begin(2, Transfer::Upload).is_ok() && begin(1, Transfer::Download).is_ok());
        uploads.pop();
        assert!(begin(1, Transfer::Upload).is_ok());
        let all = (0..16)
            .flat_map(|caller| [begin(caller, Transfer::Transcript), begin(caller, Transfer::Transcript)]);
        let all = all.map(|permit| permit.unwrap_or_else(|_| panic!())).collect::<Vec<_>>();
        for (caller, code) in [(1, ErrorCode::RateLimited), (16, ErrorCode::ServiceUnavailable)] {
            assert_eq!(begin(caller, Transfer::Transcript).err().map(|error| error.code()), Some(code));
        }
        drop(all);
        assert!(begin(16, Transfer::Transcript).is_ok());
        uploads.clear();
        assert!(transfers.under_way().is_empty(), "nothing is kept of callers without transfers");
    }
}
