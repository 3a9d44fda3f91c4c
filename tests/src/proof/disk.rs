//! A small disk that tests can fill.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A file system in memory, mounted for as long as this lives.
pub(super) struct Disk {
    place: TempDir,
}

impl Disk {
    /// Mounts one of so many megabytes that every user may write to; `None` where this process may not mount anything.
    pub(super) fn mount(megabytes: u64) -> Option<Self> {
        let place = TempDir::new().unwrap();
        let size = format!("size={megabytes}m,mode=1777");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(place.path()).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self { place })
    }

    pub(super) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Leaves no byte free.
    pub(super) fn fill(&self) {
        let mut ballast = File::create(self.place.path().join("ballast")).unwrap();
        for piece in [1 << 20, 4096, 1] {
            let piece = vec![0; piece];
            loop {
                match ballast.write_all(&piece) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    /// Gives the room back.
    pub(super) fn free(&self) {
        std::fs::remove_file(self.place.path().join("ballast")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Processes with an open file on it keep it until then, but the name disappears immediately.
        let _ = Command::new("umount").arg("-l").arg(self.place.path()).status();
    }
}
