//! Hands the program what it is compiled with.
//!
//! A count holds for one compiler: other versions inline and unroll differently, and SQLite, which is
//! compiled from C, is about half of what is counted.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CC");
    let rustc = first_line("RUSTC", "rustc");
    let cc = first_line("CC", "cc");
    let target = std::env::var_os("TARGET").unwrap_or_default();
    println!("cargo:rustc-env=GUARD_RUSTC={rustc}");
    println!("cargo:rustc-env=GUARD_CC={cc}");
    println!("cargo:rustc-env=GUARD_TARGET={}", target.display());
}

/// What the program that `variable` names, or else `usual`, says of its version.
fn first_line(variable: &str, usual: &str) -> String {
    let program = std::env::var_os(variable).unwrap_or_else(|| usual.into());
    let said = Command::new(program).arg("--version").output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    said.ok().and_then(|said| said.lines().next().map(str::to_owned)).unwrap_or_default()
}
