//! Texts that are sent later are found along indexes: what is due, and what somebody sees.

use domain::message::SendHeaders;
use domain::ports::Clock;
use domain::reminder::{ReminderFilter, ReminderRepository, ReminderState};
use testkit::contract::reminders::note;

use super::*;

#[tokio::test]
async fn reminders_are_found_along_indexes() {
    let mut heard = Overheard::open();
    let (ann, bot, chat, _) = at_work(&heard).await;
    let command = note(&heard.world, &bot);
    let headers = SendHeaders::default();
    let reminder = heard.world.reminders.schedule(bot.caller, chat, command, headers).await.unwrap();
    let steps = heard.steps();
    for wanted in ["reminders_of_sender (sender_id=?", "reminders_of_room (chat_id=?"] {
        assert!(steps.iter().any(|(step, _)| step.contains(wanted)), "{wanted}: {steps:#?}");
    }
    // The open attempts of the sender, of which few are examined, are those of any text.
    let made_up = ["SCAN examined", "SCAN CONSTANT ROW", "SCAN (subquery"];
    let is_made_up = |step: &str| made_up.iter().any(|start| step.starts_with(start)) || is_list(step);
    let scans = |step: &str| step.starts_with("SCAN") && !is_made_up(step);
    assert!(!steps.iter().any(|(step, _)| scans(step)), "{steps:#?}");
    let store = heard.store.clone();
    for (viewer, indexes) in [
        (ParticipantId::User(ann.id), &["reminders_of_room (chat_id=?"][..]),
        (ParticipantId::Agent(bot.id), &["reminders_of_sender (sender_id=?"]),
    ] {
        for state in [None, Some(ReminderState::Scheduled), Some(ReminderState::Ended)] {
            for chat in [None, Some(chat)] {
                let page = PageRequest { slice: Slice::After { after: None, limit: 10 }, count: false };
                store.list_reminders(viewer, ReminderFilter { state, chat }, page).await.unwrap();
                let steps = heard.steps();
                for (step, query) in &steps {
                    // The rows of one page, or of none.
                    let is_page = step.starts_with("SCAN mine") || query.ends_with("WHERE (1=0)");
                    assert!(!step.starts_with("SCAN") || is_page, "{state:?}: {step}\n{query}");
                }
                for wanted in indexes {
                    assert!(steps.iter().any(|(step, _)| step.contains(wanted)), "{wanted}: {steps:#?}");
                }
            }
        }
        store.find_reminder(viewer, reminder.id).await.unwrap().unwrap();
        heard.expect_no_table_scans("a reminder");
    }
    heard.world.clock.advance(Duration::from_secs(3600));
    let now = heard.world.clock.now();
    let due = store.due_reminders(now, None, 100).await.unwrap();
    heard.expect("what is due", &["reminders_due"]);
    assert_eq!(due.len(), 1);
    assert_eq!(heard.world.reminders.send_due(&mut None).await.unwrap().sent, 1);
    heard.expect_no_table_scans("to send one");
    store.forget_reminders(now, 100).await.unwrap();
    heard.expect("to forget", &["reminders_ended"]);
}
