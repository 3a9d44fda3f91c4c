//! Checks the place of the contents of files.

use std::path::Path;

use rustix::fs::Access;

use super::{Finding, file};
use crate::config::{Config, FilesAt};
use crate::failure::Failure;
use crate::wiring;

/// Checks the directory or the bucket, unless files are off.
pub(super) async fn look(config: &Config) -> Vec<Finding> {
    match &config.files.at {
        _ if config.files.limits.file_bytes == 0 => Vec::new(),
        FilesAt::Memory => Vec::new(),
        FilesAt::Directory { path, .. } => directory(path),
        at @ FilesAt::Bucket { .. } => vec![bucket(config, at).await],
    }
}

/// Checks that a directory can be written, and the free space there, which may be another disk than that of the data.
fn directory(path: &Path) -> Vec<Finding> {
    let shown = path.display();
    if !path.exists() {
        return vec![Finding::well(
            "contents",
            format!("{shown} does not exist yet; the first start creates it"),
        )];
    }
    let writable = rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK);
    if path.is_dir() && writable.is_ok() {
        vec![Finding::well("contents", format!("files are in {shown}")), file::disk(path, 0)]
    } else {
        let found = format!("{shown} is not a directory that this user may write");
        vec![Finding::fault(
            "contents",
            found,
            "run this command as the server's user, or change files_directory",
        )]
    }
}

/// Checks that the bucket answers.
async fn bucket(config: &Config, at: &FilesAt) -> Finding {
    let reached = match wiring::objects_at(config) {
        Ok(objects) => objects.begin().await,
        Err(error) => Err(error),
    };
    match reached {
        Ok(()) => Finding::well("contents", format!("files are in {at}, and the bucket responds")),
        Err(error) => {
            let failure = Failure::new(format_args!("cannot use {at}"), error);
            Finding::fault("contents", failure.to_string(), at.remedy())
        }
    }
}
