//! The [list of tables](crate::tables) as values.

use super::Value;

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    /// An id.
    Id,
    /// A part of a key that is an id, or the nil id for none.
    IdOrNil,
    /// An instant.
    Instant,
    /// A number.
    Integer,
    /// Yes or no.
    Flag,
    /// A text.
    Text,
    /// Bytes.
    Bytes,
}

/// A column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The type.
    pub kind: ColumnKind,
    /// Set if it can be null.
    pub is_optional: bool,
}

/// A table.
#[derive(PartialEq, Eq, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// The number of leading columns that form its key.
    pub key: usize,
    /// Its columns.
    pub columns: &'static [Column],
}

impl Table {
    /// The table of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.name == name)
    }

    /// The columns of its key.
    pub fn key_columns(&self) -> &'static [Column] {
        &self.columns[..self.key]
    }

    /// The key of one of its rows.
    pub fn key_of<'r>(&self, row: &'r [Value]) -> &'r [Value] {
        &row[..self.key]
    }
}

macro_rules! table {
    ($name:ident ($($key:ident),*) { $($column:ident -> $kind:ident $(<$inner:ident>)?,)* }) => {
        Table {
            name: stringify!($name),
            key: [$(stringify!($key)),*].len(),
            columns: &[$(column!($column $kind $($inner)?)),*],
        }
    };
}

macro_rules! column {
    ($name:ident Nullable $kind:ident) => {
        Column { is_optional: true, ..column!($name $kind) }
    };
    ($name:ident Small) => {
        column!($name Integer)
    };
    ($name:ident $kind:ident) => {
        Column { name: stringify!($name), kind: ColumnKind::$kind, is_optional: false }
    };
}

macro_rules! lists {
    (
        archived { $($archived:ident $archived_key:tt $archived_columns:tt)* }
        local { $($local:ident $local_key:tt $local_columns:tt)* }
        cluster { $($cluster:ident $cluster_key:tt $cluster_columns:tt)* }
        $($rest:tt)*
    ) => {
        /// All tables of an archive, referenced ones first.
        pub static TABLES: [Table; [$(stringify!($archived)),*].len()] =
            [$(table!($archived $archived_key $archived_columns)),*];

        /// The tables of every store that no archive contains.
        pub static LOCAL: [Table; [$(stringify!($local)),*].len()] =
            [$(table!($local $local_key $local_columns)),*];

        /// The tables by which several servers on one store know of each other. No archive contains
        /// them, and the embedded store has none.
        pub static CLUSTER: [Table; [$(stringify!($cluster)),*].len()] =
            [$(table!($cluster $cluster_key $cluster_columns)),*];
    };
}

crate::tables!(lists);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_never_nothing_and_names_stand_for_one() {
        for table in &TABLES {
            assert!(table.key > 0 && table.key_columns().iter().all(|column| !column.is_optional));
            assert!(std::ptr::eq(Table::named(table.name).unwrap(), table));
            for column in table.columns {
                let same = table.columns.iter().filter(|other| other.name == column.name);
                assert_eq!(same.count(), 1, "{}.{}", table.name, column.name);
            }
        }
        assert_eq!(Table::named("nothing"), None);
    }
}
