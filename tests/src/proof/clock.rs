//! The wall clock of a server, which tests change while it runs. The monotonic clock is not changed.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// A clock that a server is started under.
pub(super) struct Clock {
    place: TempDir,
}

impl Clock {
    /// Builds the library that moves it.
    pub(super) fn build() -> Self {
        let place = TempDir::new().unwrap();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/clock/clock.c");
        let library = place.path().join("clock.so");
        let built =
            Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).arg(library).arg(source).status();
        assert!(built.expect("a C compiler is there").success(), "{source} does not build");
        let clock = Self { place };
        std::fs::write(clock.offset(), 0_i64.to_ne_bytes()).unwrap();
        clock
    }

    fn offset(&self) -> PathBuf {
        self.place.path().join("offset")
    }

    /// The variables of the server's environment.
    pub(super) fn settings(&self) -> [(&'static str, String); 2] {
        let library = self.place.path().join("clock.so");
        [
            ("LD_PRELOAD", library.display().to_string()),
            ("CLOCK_OFFSET_FILE", self.offset().display().to_string()),
        ]
    }

    /// Puts it so many seconds before (or behind) the right time. The file is mapped: it keeps its length.
    pub(super) fn set(&self, seconds: i64) {
        let mut file = std::fs::File::options().write(true).open(self.offset()).unwrap();
        file.write_all(&seconds.to_ne_bytes()).unwrap();
    }
}
