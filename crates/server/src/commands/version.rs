//! `parlance version`

use crate::cli::ListArguments;
use crate::failure::Failure;
use crate::output;
use crate::system::PROGRAM;

/// Prints version and build of the program, as in `GET /version`.
pub(crate) fn print(arguments: &ListArguments) -> Result<(), Failure> {
    if arguments.json {
        let text = serde_json::to_string(&PROGRAM);
        return output::print(&text.map_err(|cause| Failure::new("Cannot write the version", cause))?);
    }
    output::print(&format!(
        "parlance {}\nAPI {}, commit {}, built at {}",
        PROGRAM.version, PROGRAM.api_version, PROGRAM.commit, PROGRAM.built_at
    ))
}
