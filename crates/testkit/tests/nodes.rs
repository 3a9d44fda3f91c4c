//! The in-memory nodes of a store keep the contract of nodes.

use std::sync::Arc;

use testkit::contract::nodes::Nodes;
use testkit::nodes::MemoryNodes;

testkit::node_contract_tests!((Nodes::of(&Arc::<MemoryNodes>::default()), ()));
