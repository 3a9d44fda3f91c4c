//! A store as a stream of lines, for `parlance export` and `parlance import`.
//!
//! The first line describes the archive, each of the others is one row, and the last one has the
//! number of rows and their digest, so that a truncated or changed file is detected. The order of
//! rows is the same for every store: two stores with the same digest have the same content.
//!
//! The contents of files are not part of it; they are copied to and from a directory beside it.

pub(crate) mod draft;
pub(crate) mod files;
pub(crate) mod line;
pub(crate) mod position;
pub(crate) mod reader;
pub(crate) mod writer;
