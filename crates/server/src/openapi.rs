//! `parlance openapi`

use std::io::Write;

use crate::api_document;
use crate::failure::Failure;

/// Prints the API's document.
pub(crate) fn print() -> Result<(), Failure> {
    let cannot_print = |cause| Failure::new("cannot print the document", cause);
    let text = serde_json::to_string_pretty(&api_document::document());
    let text = text.map_err(|cause| Failure::new("cannot write the document", cause))?;
    writeln!(std::io::stdout().lock(), "{text}").map_err(cannot_print)
}
