//! A store as a stream of lines, for `parlance export` and `parlance import`.
//!
//! The first line says what this is and what it holds, each of the others is one row, and the last one says how
//! many there were and their digest, so that a file which was cut or changed is noticed. Rows stand in one order,
//! whatever the store: two stores with the same digest hold the same.

pub(crate) mod draft;
pub(crate) mod line;
pub(crate) mod place;
pub(crate) mod reader;
pub(crate) mod writer;
