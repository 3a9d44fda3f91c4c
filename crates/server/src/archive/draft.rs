//! A file that appears whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file on its way, for its owner only; gone if it is not finished.
pub(crate) struct Draft {
    out: BufWriter<File>,
    written: PathBuf,
    path: PathBuf,
}

impl Draft {
    /// Begins the file that is to stand at `path`; what stands there stays until this is finished.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let mut draft = path.as_os_str().to_owned();
        draft.push(format!(".{}.part", std::process::id()));
        let draft = PathBuf::from(draft);
        // What a process of the same number was killed over is of no use.
        let _ = fs::remove_file(&draft);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        Ok(Self { out: BufWriter::new(file), written: draft, path: path.to_owned() })
    }

    /// Flushes it to the disk and gives it its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        fs::rename(&self.written, &self.path)?;
        let directory = match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        File::open(directory)?.sync_all()
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After `finish` it has another name.
        let _ = fs::remove_file(&self.written);
    }
}
