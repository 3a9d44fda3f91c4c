//! All of a store's data, to be kept elsewhere or moved to another store.
//!
//! A store shows itself as [`TABLES`] of neutral, typed values, each in the order of its key, which is the same in
//! every store: so what two stores hold is the same if the rows that they show are. Tables stand in an order in
//! which rows may be written: whoever is referred to comes first.
//!
//! What is read is one [`Snapshot`]: the store as it was at one moment, whatever is written meanwhile. Writing is
//! by rows, and may be repeated: a row that is there already is left as it is, and one that is there with other
//! content is refused. So an interrupted transfer is begun again, anywhere before the place that it had reached.
//!
//! No rule is looked at here: what a store holds was decided when it was made.

mod port;
mod table;
mod value;

pub use port::{ArchiveRepository, Snapshot, WriteRefused, Written};
pub use table::{Column, Kind, STAY_BEHIND, TABLES, Table};
pub use value::{Row, Value};
