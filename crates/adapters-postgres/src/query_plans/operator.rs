//! What operators read: lists of everything, page by page.

use domain::account::{AdministrationRepository, AgentHandle, UserHandle};
use domain::page::Position;
use domain::plan::PlanRepository;
use domain::time::Timestamp;
use domain::work::{WorkRepository, WorkThresholds};

use super::Watched;
use super::fill::at;

impl Watched {
    pub(super) async fn reads_of_operators(&mut self) {
        let (store, bot) = (self.store.clone(), self.bot.id);
        // Before the tables are analysed, PostgreSQL expects few accounts, and sorts all of them.
        let page = if self.is_analysed { 150 } else { 500 + 10 * self.size.users };
        for user in [None, Some(UserHandle::from_stored("user5".to_owned()))] {
            self.costs("all users", page, store.users_after(user, 50)).await.unwrap();
        }
        for agent in [None, Some(AgentHandle::from_stored("user/agent-5".to_owned()))] {
            self.costs("all agents", page, store.agents_after(None, agent, 50)).await.unwrap();
        }
        for before in [None, Some(Position::at(at(50), bot))] {
            self.costs("all disconnects", 150, store.disconnects_before(before, 50)).await.unwrap();
        }
        // The members, agents, and chats of these are counted: one organization has nearly all.
        let all = 10 * (self.size.users + self.size.rooms);
        for after in [None, Some("ann".to_owned())] {
            self.costs("all organizations", all, store.organizations_after(after, 50)).await.unwrap();
        }
        // An open item is read with its message, its chat, and its participant.
        let flags = WorkThresholds::default().at(Timestamp::from_micros(at(0)));
        let flagged = store.flagged_agents(None, 50, flags);
        self.costs("agents with flagged work", 10 * self.size.messages, flagged).await.unwrap();
    }
}
