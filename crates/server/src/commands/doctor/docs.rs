//! Checks the directory of the documentation.

use std::path::Path;

use super::Finding;
use crate::book::Book;

/// Checks that its first page can be read.
pub(super) fn look(directory: &Path) -> Finding {
    let shown = directory.display();
    match Book::open(directory) {
        Ok(_) => Finding::well("documentation", format!("its pages are in {shown}")),
        Err(cause) => Finding::warning(
            "documentation",
            format!("{shown} has no first page that can be read: {cause}"),
            "change docs_directory, or build the pages with `scripts/book`; then restart the server",
        ),
    }
}
