//! The bytes of files: in a [`Directory`], in a bucket (`Bucket`, of the feature `bucket`), or in memory ([`MemoryObjects`])
//! beside a store in memory.
#![warn(missing_docs)]

#[cfg(feature = "bucket")]
mod bucket;
mod bucket_name;
mod directory;
mod memory;
#[cfg(test)]
mod tests;

#[cfg(feature = "bucket")]
pub use bucket::Bucket;
pub use bucket_name::BucketName;
pub use directory::{Directory, Sharing};
pub use memory::MemoryObjects;

/// The maximum size of a piece that is read or written at once, in bytes.
const PIECE: usize = 64 * 1024;
