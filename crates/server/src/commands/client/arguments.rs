//! The arguments of `parlance client`.

use std::time::Duration;

use ::client::Address;
use clap::{Args, Subcommand};
use domain::time::Timestamp;

use crate::cli::{ListArguments, TableArguments};

/// The exit statuses, for the help of a command that scripts call.
const STATUSES: &str = "Exit status: 0 answered, 1 other failure, 2 wrong use, 3 the agent failed, 4 no answer in time, \
    5 the agent cannot be asked now, 6 refused by the server, 7 server unreachable.";

/// What to do as a user of a server.
#[derive(Subcommand, Debug)]
pub enum ClientCommand {
    /// Check your API key with a server, and store both as a profile.
    ///
    /// The key is taken from `PARLANCE_KEY`, or else from standard input; a terminal does not show it.
    #[command(after_help = "Examples:\n  parlance client login\n  \
        parlance client login https://chat.example.org --profile work\n  \
        parlance key create --user admin --name laptop --json | jq -r .api_key | parlance client login")]
    Login(LoginArguments),
    /// Remove a profile. Its key stays valid until it is revoked.
    #[command(after_help = "Example:\n  parlance client logout --profile work")]
    Logout(ProfileArguments),
    /// List the profiles.
    #[command(after_help = "Examples:\n  parlance client profiles\n  parlance client profiles --json")]
    Profiles(ListArguments),
    /// List your rooms, most recently changed first.
    #[command(after_help = "Examples:\n  parlance client rooms\n  \
        parlance client rooms --json | jq -r '.rooms[] | select(.unread > 0) | .title'")]
    Rooms(RoomsArguments),
    /// Ask an agent, and print its answer.
    ///
    /// Everything but the answer goes to standard error.
    #[command(after_help = format!("Examples:\n  parlance client ask @ann/echo 'Are you there?'\n  \
        parlance client ask @ann/echo --room 'Release plan' --wait 30m 'Is it done?' > answer.txt\n  \
        git diff | parlance client ask @ann/reviewer -\n\n{STATUSES}"))]
    Ask(AskArguments),
    /// Print messages as they are sent, in one room or in all of yours.
    ///
    /// Times are UTC. After a broken connection, it continues where it stopped.
    #[command(after_help = "Examples:\n  parlance client tail 'Release plan'\n  \
        parlance client tail --since 2h --texts\n  parlance client tail --json | jq -r .text")]
    Tail(TailArguments),
    /// Read a room, and write to it line by line.
    ///
    /// @ and a handle mention a participant, and the tab key completes it. Agents get only messages that mention them.
    /// Ctrl+D leaves. Without a terminal, each line of standard input is sent.
    #[command(after_help = "Examples:\n  parlance client chat 'Release plan'\n  \
        echo '@ann/echo deploy, please' | parlance client chat 'Release plan'")]
    Chat(ChatArguments),
    /// See your rooms, their messages, and your agents' work on a full screen.
    ///
    /// The keys are shown with ?. Times are UTC. It needs a terminal. After a broken connection, it continues where it
    /// stopped.
    #[command(
        after_help = "Examples:\n  parlance client screen\n  parlance client screen 'Release plan' --texts"
    )]
    Screen(ScreenArguments),
}

/// The profile to use.
#[derive(Args, Debug)]
pub struct ProfileArguments {
    /// Profile, instead of that in `PARLANCE_PROFILE` [default: default].
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
}

/// Where to log in.
#[derive(Args, Debug)]
pub struct LoginArguments {
    /// Address of the server [default: `PARLANCE_URL`, or `http://127.0.0.1:4000`].
    pub url: Option<Address>,
    #[command(flatten)]
    pub profile: ProfileArguments,
}

/// The rooms to list.
#[derive(Args, Debug)]
pub struct RoomsArguments {
    /// Maximum number of rooms.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    #[command(flatten)]
    pub print: TableArguments,
    #[command(flatten)]
    pub profile: ProfileArguments,
}

/// The question.
#[derive(Args, Debug)]
pub struct AskArguments {
    /// Handle of the agent, such as @ann/echo.
    pub agent: String,
    /// Text of the question; - reads it from standard input.
    pub question: String,
    /// Room, by title or id; the agent must be in it [default: a new one].
    #[arg(long)]
    pub room: Option<String>,
    /// How long to wait for the answer, such as 90s, 5m, or 1h.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    pub wait: Duration,
    /// Print the outcome as JSON, whatever it is.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub profile: ProfileArguments,
}

/// The messages to print.
#[derive(Args, Debug)]
pub struct TailArguments {
    /// Room, by title or id [default: all rooms].
    pub room: Option<String>,
    /// Begin with messages after this time: 2026-11-30T09:00:00Z, or a duration ago such as 2h.
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Since>,
    /// Begin with the last messages of the room, at most 100 [default: 10].
    #[arg(short = 'n', long, value_name = "NUMBER", conflicts_with = "since", requires = "room")]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
    pub lines: Option<u8>,
    /// Print only texts, not what agents record of their work.
    #[arg(long)]
    pub texts: bool,
    /// Print each message as JSON on a line.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub profile: ProfileArguments,
}

/// The room to write to.
#[derive(Args, Debug)]
pub struct ChatArguments {
    /// Room, by title or id.
    pub room: String,
    /// Show only texts, not what agents record of their work.
    #[arg(long)]
    pub texts: bool,
    #[command(flatten)]
    pub profile: ProfileArguments,
}

/// What to show.
#[derive(Args, Debug)]
pub struct ScreenArguments {
    /// Room to open, by title or id.
    pub room: Option<String>,
    /// Show only texts, not what agents record of their work.
    #[arg(long)]
    pub texts: bool,
    #[command(flatten)]
    pub profile: ProfileArguments,
}

/// A time, or how long ago it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Since {
    /// A time.
    At(Timestamp),
    /// Before now.
    Ago(Duration),
}

/// Reads a time, or how long ago it is.
fn since(text: &str) -> Result<Since, String> {
    let at = Timestamp::parse(text).map(Since::At);
    at.map_or_else(|| duration(text).map(Since::Ago), Ok).map_err(|_| {
        "must be a time such as 2026-11-30T09:00:00Z, or a duration such as 90s, 5m, 2h, or 7d".to_owned()
    })
}

/// Reads a duration: a number with its unit.
fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 60 * 60), ('d', 24 * 60 * 60)];
    let seconds = UNITS.iter().find_map(|(unit, seconds)| {
        let number =
            text.strip_suffix(*unit).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        // A year is long enough to wait, and far from any overflow.
        number?.parse::<u64>().ok()?.checked_mul(*seconds).filter(|seconds| *seconds <= 366 * 24 * 60 * 60)
    });
    seconds.map(Duration::from_secs).ok_or_else(|| "must be a duration such as 90s, 5m, 2h, or 7d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        for (text, seconds) in [("0s", 0), ("90s", 90), ("5m", 300), ("2h", 7200), ("366d", 31_622_400)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        for text in
            ["", "5", "m", "-5m", "+5m", "5 m", "1.5h", "5M", "5ms", "367d", "99999999999999999999s", "é"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_absolute_or_ago() {
        let at = Timestamp::parse("2026-11-30T09:00:00Z").unwrap();
        assert_eq!(since("2026-11-30T09:00:00Z"), Ok(Since::At(at)));
        assert_eq!(since("2h"), Ok(Since::Ago(Duration::from_secs(7200))));
        assert!(since("yesterday").unwrap_err().contains("2026-11-30T09:00:00Z"));
    }
}
