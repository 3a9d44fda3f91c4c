//! The contract of the ports on SQLite, in memory and in a file.

mod memory {
    testkit::contract_tests!((testkit::Stores::in_memory(), ()));
}

mod file {
    use adapters_sqlite::Location;

    testkit::contract_tests!({
        let directory = tempfile::TempDir::new().unwrap();
        (testkit::Stores::sqlite(&Location::File(directory.path().join("parlance.db"))), directory)
    });
}
