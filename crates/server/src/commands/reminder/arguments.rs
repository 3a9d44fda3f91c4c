//! The arguments of `parlance reminder`.

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::TableArguments;

/// What to do with messages that are sent later.
#[derive(Subcommand, Debug)]
pub enum ReminderCommand {
    /// List the messages that are sent later in the rooms and by the agents of a user, the next one first.
    #[command(after_help = "Examples:\n  parlance reminder list ann\n  \
        parlance reminder list ann --state ended --json | jq '.reminders[].end'")]
    List(ListRemindersArguments),
    /// Cancel a message that is sent later, as the user.
    #[command(after_help = "Example:\n  parlance reminder cancel ann 019ab1d0-5f6e-7c3a-9d8e-2f4b6a1c0e77")]
    Cancel(CancelReminderArguments),
}

/// The reminders to list.
#[derive(Args, Debug)]
pub struct ListRemindersArguments {
    /// Handle of the user.
    pub user: String,
    /// Only reminders in this state.
    #[arg(long, default_value = "scheduled")]
    pub state: ListedState,
    /// Maximum number of reminders.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    #[command(flatten)]
    pub print: TableArguments,
}

/// The states of a list.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum ListedState {
    /// What will be sent.
    Scheduled,
    /// What sends nothing any more, of the last 30 days.
    Ended,
    /// Both.
    All,
}

/// The reminder to cancel.
#[derive(Args, Debug)]
pub struct CancelReminderArguments {
    /// Handle of the user.
    pub user: String,
    /// Id of the reminder.
    pub id: String,
    #[command(flatten)]
    pub print: TableArguments,
}
