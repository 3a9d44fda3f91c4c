//! The contract of the ports on PostgreSQL.

mod common;

use common::store;

mod postgres {
    use super::*;

    testkit::contract_tests!(store().await);
}

mod nodes {
    use testkit::contract::nodes::Nodes;

    use super::common::{database, open};

    testkit::node_contract_tests!({
        let database = database().await;
        (Nodes::of(&open(&database).await), database)
    });
}
