//! All data of a store, for export and import.
//!
//! A store presents itself as [`TABLES`] of neutral, typed values, each in the order of its key,
//! which is the same in every store: two stores have the same content if their rows are equal. The
//! tables are in an order in which rows can be written: referenced rows come first.
//!
//! Reads use one [`Snapshot`]: the store at one moment, whatever is written meanwhile. Writes are
//! by rows, and can be repeated: an identical row is skipped, and one with other content is
//! refused. An interrupted transfer can therefore start again, anywhere before the position that it
//! had reached.
//!
//! No rule is checked here: the data was checked when it was created.

mod archived;
mod archived_later;
mod port;
mod table;
mod tables;
mod value;

pub use port::{ArchiveRepository, Snapshot, WriteRefused, Written};
pub use table::{CLUSTER, Column, ColumnKind, LOCAL, TABLES, Table};
pub use value::{Row, Value};
