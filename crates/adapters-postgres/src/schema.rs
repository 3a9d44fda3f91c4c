//! The tables, made of the [list that all stores share](domain::tables).

/// The types of the list in this database.
mod kinds {
    pub(super) use diesel::sql_types::{
        BigInt as Integer, Bool as Flag, Bytea as Bytes, Integer as Small, Nullable, Text,
        Timestamptz as Instant, Uuid as Id, Uuid as IdOrNil,
    };
}

macro_rules! schema {
    (
        archived { $($archived:ident $archived_key:tt $archived_columns:tt)* }
        local { $($local:ident $local_key:tt $local_columns:tt)* }
        cluster { $($cluster:ident $cluster_key:tt $cluster_columns:tt)* }
        joins { $($child:ident -> $parent:ident $by:tt)* }
        together { $($together:ident),* }
    ) => {
        $(diesel::table! { use crate::schema::kinds::*; $archived $archived_key $archived_columns })*
        $(diesel::table! { use crate::schema::kinds::*; $local $local_key $local_columns })*
        $(diesel::table! { use crate::schema::kinds::*; $cluster $cluster_key $cluster_columns })*
        $(diesel::joinable!($child -> $parent $by);)*
        diesel::allow_tables_to_appear_in_same_query!($($together),*);
    };
}

domain::tables!(schema);
