//! Documents that belong to the version of the program, each made on first use.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use http_wire::static_file::StaticFile;

/// The documents of one location by name.
pub(crate) struct StaticFiles<T = StaticFile>(LazyLock<Mutex<HashMap<String, Arc<T>>>>);

impl<T> StaticFiles<T> {
    pub(crate) const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// The document with this name; `make` generates it, if it exists.
    pub(crate) fn get<E>(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<Option<T>, E>,
    ) -> Result<Option<Arc<T>>, E> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.get(name) {
            return Ok(Some(file.clone()));
        }
        let file = make()?.map(Arc::new);
        if let Some(file) = &file {
            files.insert(name.to_owned(), file.clone());
        }
        Ok(file)
    }
}
