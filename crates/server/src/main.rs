//! The `parlance` program.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;

/// Returns memory to the system after a peak, see docs/performance.md.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    match server::run(server::cli::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_reader_gone() => ExitCode::SUCCESS,
        Err(failure) => {
            // If this cannot be written either, there is no one to notify.
            let _ = writeln!(std::io::stderr(), "parlance: {failure}");
            ExitCode::from(failure.status())
        }
    }
}
