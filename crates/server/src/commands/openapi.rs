//! `parlance openapi`

use crate::api_document;
use crate::failure::Failure;
use crate::output;

/// Prints the API's document.
pub(crate) fn print() -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(&api_document::document());
    let text = text.map_err(|cause| Failure::new("cannot write the document", cause))?;
    output::print(&text)
}
