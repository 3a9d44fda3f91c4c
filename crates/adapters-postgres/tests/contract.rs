//! The contract of the ports on PostgreSQL.

mod common;

use common::store;

mod postgres {
    use super::*;

    testkit::contract_tests!(store().await);
}
