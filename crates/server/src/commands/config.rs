//! `parlance config`: the effective settings, their origins, and their faults.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::config::{Config, Examined, Fault, Flags, Origin, ServerFlags, Setting, example_file, reference};
use crate::failure::Failure;
use crate::output::unprinted;

/// What to do with the configuration.
#[derive(Subcommand, Debug)]
pub enum ConfigCommand {
    /// List all invalid settings. Exits with a non-zero status if there are any.
    #[command(after_help = "Example:\n  parlance config check --config /etc/parlance/parlance.toml")]
    Check(ExamineArguments),
    /// Print every setting with its value and its origin. Passwords are hidden.
    #[command(after_help = "Example:\n  parlance config show --json | jq '.settings.listen'")]
    Show(ExamineArguments),
    /// Print a reference of all settings, as Markdown.
    #[command(alias = "describe", after_help = "Example:\n  parlance config reference | less")]
    Reference,
    /// Print a configuration file with every setting as a comment.
    #[command(after_help = "Example:\n  parlance config example > parlance.toml")]
    Example,
}

/// How to print, and the settings to look at.
#[derive(Args, Debug)]
pub struct ExamineArguments {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub settings: ServerFlags,
}

/// The width at which settings wrap, in columns.
const WIDTH: usize = 80;

/// Runs one of the commands.
pub(crate) fn run(flags: Flags, command: ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Check(arguments) => {
            check(&Config::examine(flags.and(arguments.settings.0)).with_files(), arguments.json)
        }
        ConfigCommand::Show(arguments) => {
            show(&Config::examine(flags.and(arguments.settings.0)), arguments.json)
        }
        ConfigCommand::Reference => print(&reference()),
        ConfigCommand::Example => print(&example_file()),
    }
}

/// Reports all faults at once; fails if there is one.
fn check(examined: &Examined, as_json: bool) -> Result<(), Failure> {
    let faults = &examined.faults;
    let text = if as_json {
        let text = json!({ "ok": faults.is_empty(), "faults": faults.iter().map(fault).collect::<Vec<_>>() });
        format!("{text}\n")
    } else if faults.is_empty() {
        let set = examined.settings.iter().filter(|setting| setting.origin != Origin::Default).count();
        format!("The configuration is valid. {set} settings differ from their defaults.\n")
    } else {
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n"
    };
    print(&text)?;
    fail_on(faults)
}

/// Prints every setting, with its origin unless it is the default; fails if there is a fault.
fn show(examined: &Examined, as_json: bool) -> Result<(), Failure> {
    let settings = examined.settings.iter().filter(|setting| is_shown(setting)).collect::<Vec<_>>();
    let plans = &examined.config.plans;
    let mut text = String::new();
    if as_json {
        let faults = examined.faults.iter().map(fault).collect::<Vec<_>>();
        let settings = settings.into_iter().map(|setting| (setting.key.name.to_owned(), value(setting)));
        let settings = settings.collect::<serde_json::Map<_, _>>();
        let plans = plans.iter().map(|plan| plan.name.as_str()).collect::<Vec<_>>();
        text = json!({ "settings": settings, "plans": plans, "faults": faults }).to_string();
        text.push('\n');
    } else {
        let name_width = settings.iter().map(|setting| setting.key.name.len()).max().unwrap_or(0);
        for setting in settings {
            let default = || format!("({})", setting.key.default);
            let value = setting.shown.clone().unwrap_or_else(default);
            let value = match &setting.origin {
                Origin::Default => value,
                origin => format!("{value} (from {origin})"),
            };
            text.push_str(&in_columns(setting.key.name, name_width, &value));
        }
        for plan in plans {
            let _ = writeln!(text, "plans.{}", plan.name.as_str());
        }
    }
    print(&text)?;
    fail_on(&examined.faults)
}

/// A name and its value, which wraps in its column at [`WIDTH`]. Words are never broken.
fn in_columns(name: &str, name_width: usize, value: &str) -> String {
    let mut line = format!("{name:name_width$} ");
    let mut text = String::new();
    for (index, word) in value.split(' ').enumerate() {
        if index > 0 && line.width() + 1 + word.width() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = " ".repeat(name_width + 1);
        }
        line.push(' ');
        line.push_str(word);
    }
    text + &line + "\n"
}

/// A setting for tests is only shown if it is set.
fn is_shown(setting: &Setting) -> bool {
    !setting.key.for_tests || setting.origin != Origin::Default
}

fn value(setting: &Setting) -> Value {
    json!({ "value": setting.shown, "from": from(&setting.origin), "place": setting.origin.to_string() })
}

fn fault(fault: &Fault) -> Value {
    let Fault { key, problem, origin } = fault;
    json!({ "setting": key, "problem": problem, "from": from(origin), "place": origin.to_string() })
}

fn from(origin: &Origin) -> &'static str {
    match origin {
        Origin::Default => "default",
        Origin::File(..) => "file",
        Origin::Variable(_) => "variable",
        Origin::Flag(_) => "flag",
    }
}

fn fail_on(faults: &[Fault]) -> Result<(), Failure> {
    let what = match faults.len() {
        0 => return Ok(()),
        1 => "1 invalid setting. Fix it",
        number => &format!("{number} invalid settings. Fix them"),
    };
    Err(Failure::plain(format!("{what}, then run `parlance config check` again."))
        .next("`parlance config reference` describes all settings"))
}

fn print(text: &str) -> Result<(), Failure> {
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(unprinted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_continue_in_their_column() {
        assert_eq!(in_columns("log", 6, "info"), "log     info\n");
        let value = format!("({} (from parlance.toml, line 3)", "word ".repeat(14).trim_end());
        let text = in_columns("log", 6, &value);
        assert!(text.lines().all(|line| line.len() <= WIDTH) && text.lines().count() == 2, "{text}");
        assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("        ")), "{text}");
        let url = "x".repeat(100);
        assert_eq!(in_columns("log", 6, &url), format!("log     {url}\n"));
    }
}
