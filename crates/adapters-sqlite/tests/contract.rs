//! The contract of the ports on SQLite, in memory and in a file.

mod memory {
    testkit::contract_tests!((testkit::Stores::in_memory(), ()));
}

mod file {
    testkit::contract_tests!({
        let directory = tempfile::TempDir::new().unwrap();
        (testkit::Stores::in_file(&directory.path().join("parlance.db")), directory)
    });
}
