//! What operators read: lists of everything, page by page.

use super::*;
use domain::account::{AdministrationRepository, AgentHandle, UserHandle};
use domain::plan::PlanRepository;
use domain::status::StatusRepository;

#[tokio::test]
async fn lists_of_operators_run_along_indexes() {
    let mut heard = Overheard::open();
    let (ann, bot, ..) = at_work(&heard).await;
    let store = heard.store.clone();
    for (user, agent) in [(None, None), (Some("ann"), Some("ann/a"))] {
        let user = user.map(|handle| UserHandle::from_stored(handle.to_owned()));
        store.users_after(user, 10).await.unwrap();
        heard.expect("users", &["sqlite_autoindex_users_2"]);
        let agent = agent.map(|handle| AgentHandle::from_stored(handle.to_owned()));
        store.agents_after(None, agent, 10).await.unwrap();
        heard.expect("agents", &["sqlite_autoindex_agents_2"]);
    }
    store.users_of(vec![ann.id]).await.unwrap();
    heard.expect("users by id", &["sqlite_autoindex_users_1"]);
    store.agents_of(vec![bot.id]).await.unwrap();
    heard.expect("agents by id", &["sqlite_autoindex_agents_1"]);
    for before in [None, Some(Position::at(NOON, bot.id))] {
        store.disconnects_before(before, 10).await.unwrap();
        // Without a position, the page is the end of the index.
        for (step, query) in heard.steps() {
            assert!(
                step.contains("agent_connections USING INDEX agent_connections_newest"),
                "{step}\n{query}"
            );
        }
    }
    for after in [None, Some("an".to_owned())] {
        store.organizations_after(after, 10).await.unwrap();
        heard.expect_no_table_scans("organizations");
    }
}

/// What is counted is read from end to end, but nothing that grows with each message.
#[tokio::test]
async fn figures_of_operators_do_not_read_what_is_done() {
    let mut heard = Overheard::open();
    let (_, bot, ..) = at_work(&heard).await;
    let store = heard.store.clone();
    store.status().await.unwrap();
    for (step, query) in heard.steps() {
        let large = ["messages", "deliveries", "attempts", "participants"];
        let is_large = large.iter().any(|table| step.starts_with(&format!("SCAN {table}")));
        assert!(!is_large, "{step}\n{query}");
    }
    let flags = WorkThresholds::default().at(Timestamp::from_micros(NOON));
    for after in [None, Some(bot.id)] {
        store.flagged_agents(after, 10, flags).await.unwrap();
        let steps = heard.steps();
        let parts = ["deliveries_open", "deliveries_at_work", "deliveries_dead"];
        for index in parts.map(|name| format!("{name} (agent_id>?)")) {
            assert!(steps.iter().any(|(step, _)| step.contains(&index)), "{index} is not in {steps:#?}");
        }
        for (step, query) in &steps {
            let large = ["messages", "participants", "chats", "attempts"];
            let is_large = large.iter().any(|table| step.starts_with(&format!("SCAN {table}")));
            assert!(!is_large, "{step}\n{query}");
        }
    }
}
