//! Files of chats: their bytes, stored behind a port of its own, and a record for each.
//!
//! Rules: a file belongs to one chat, and all participants may download it, whether or not they see a message that shows
//! it. The same bytes in one chat are one file, under its first name. A message shows up to [`MAX_ATTACHED`] files. A file
//! that no message shows expires ([`FileLimits::unattached`]); one that expires or whose chat is deleted is found no
//! more, and its bytes are removed a little later ([`FileService::sweep`]).
//!
//! Invariants: a record never exists without its bytes, which are durable before it is stored; and what a committed
//! message shows does not expire, as the store locks the record.
//!
//! The bytes are stored under the id of the file, not under their digest. So no two chats share any: nobody can tell from
//! an answer or its time what other chats have, and removing the bytes of one file never affects another.

mod digest;
mod download;
mod kind;
mod model;
mod name;
mod objects;
mod port;
mod service;
mod span;
mod sweep;
#[cfg(test)]
mod tests;
mod upload;

pub use digest::FileDigest;
pub use download::DownloadError;
pub use kind::{ContentType, TypeScan};
pub use model::{File, MAX_ATTACHED};
pub use name::FileName;
pub use objects::{NoObjects, ObjectError, ObjectReader, ObjectStore, ObjectWriter, Shard};
pub use port::{FileRepository, FilesFull, NewFile, StoreFileRefused, StoredBytes, StoredFile};
pub use service::{FileLimits, FileService};
pub use span::{Requested, Span};
pub use sweep::{ORPHAN_AGE, REMOVAL_DELAY, SweepError, SweepWalk, Swept};
pub use upload::{Announced, Upload, UploadError};
