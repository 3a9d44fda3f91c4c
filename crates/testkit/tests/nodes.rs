//! What stands in for a store's nodes keeps their contract.

use std::sync::Arc;

use testkit::contract::nodes::Nodes;
use testkit::nodes::MemoryNodes;

testkit::node_contract_tests!((Nodes::of(&Arc::<MemoryNodes>::default()), ()));
