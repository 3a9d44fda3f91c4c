//! Budgets: the messages and tokens that an organization lets its agents use.
//!
//! An organization can have one amount for each [`Budget`]. It counts for every tree, or for every room, agent, or the
//! organization itself on a day in UTC. At 80 % of the amount, the humans of the room get an event. At 100 %, they get
//! another one, and new deliveries are held until a human releases one of them, the amount is raised, or the day ends.
//! What is held already stays held. Texts of humans are held too: a budget limits what agents cost.
//!
//! - The budgets of a tree and of a room are those of the organization of the room. They count the texts of all
//!   participants, and hold the deliveries to all agents.
//! - Those of an agent and of an organization count what the agents and members of the organization send, wherever they
//!   do so, and hold the deliveries to the organization's own agents.
//!
//! Nothing is counted or read while a message is stored. Each process notes what it has stored ([`BudgetWatch`]), and
//! counts about once a second ([`BudgetService::check`]). So a budget may be exceeded by what is sent meanwhile, and by
//! a turn that already runs, which no count can stop.

mod amount;
mod exceeded;
mod level;
mod port;
mod service;
mod watch;

pub use amount::{Amount, Budget, BudgetScope, Budgets};
pub use exceeded::ExceededBudgets;
pub use level::{BudgetLevel, BudgetUse};
pub use port::{BudgetRepository, BudgetTenants, NewCounts, SetBudgets, TextCount, TreeCount};
pub use service::{BudgetService, SetBudgetsError, ShownBudgets};
pub use watch::{BudgetWatch, Spent};
