//! The plans of organizations, and the lifetime of contact requests.

use domain::plan::{DEFAULT_PLAN, Plan, PlanName};

use super::key::{Form, Key};
use super::parse;
use super::values::Values;

/// How plans are set, for the reference.
pub(super) const INTRODUCTION: &str = "\
`enterprise` is always there: everything is allowed, and nothing is limited but bytes, by `plan_bytes`. Others are \
tables `[plans.NAME]`; what is left out of one is no limit, or allowed. See *Plans* in [operations.md](operations.md).";

/// One setting in the table of a plan.
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) default: &'static str,
    pub(super) what: &'static str,
}

const fn line(name: &'static str, default: &'static str, what: &'static str) -> Line {
    Line { name, default, what }
}

/// The settings that the table of a plan may have.
pub(super) const LINES: [Line; 7] = [
    line("agents", "no limit", "Agents of all users of an organization, except deleted ones."),
    line("chats", "no limit", "Active chats that the organization's users and agents have created."),
    line("participants", "no limit", "Participants of one chat."),
    line("messages", "no limit", "Texts and events of one chat."),
    line("bytes", "`plan_bytes`", "Bytes of all messages and memories of an organization; 0 means no limit."),
    line("human_interface", "`true`", "Whether humans may use their API (`/api/v1/me`)."),
    line("memories", "`true`", "Whether memories may be kept."),
];

/// The names of all settings in the table that contains the setting `name`.
pub(super) fn lines_like(name: &str) -> Vec<String> {
    let table = name.starts_with("plans.").then(|| name.rsplit_once('.')).flatten();
    table.map_or_else(Vec::new, |(table, _)| {
        LINES.iter().map(|line| format!("{table}.{}", line.name)).collect()
    })
}

/// Days until an unanswered contact request expires.
pub(super) fn contact_request_days(values: &mut Values) -> u32 {
    values.section("Contacts and plans");
    let key = Key::number(
        "contact_request_days",
        "DAYS",
        "30",
        "Days until an unanswered contact request expires; 0 means never.",
    );
    values.read(key, parse::number(0, u32::MAX))
}

/// Reads the default plan and all plans: those of the file, and the built-in one.
pub(super) fn read(values: &mut Values) -> (PlanName, Vec<Plan>) {
    let key = Key::text(
        "default_plan",
        "PLAN",
        DEFAULT_PLAN,
        "Plan of new organizations for which none is given. See *Plans* in [operations.md](operations.md).",
    );
    let default = values.read(key, parse::text);
    let key = Key::number(
        "plan_bytes",
        "BYTES",
        "107374182400",
        "Bytes of messages and memories that an organization may keep if its plan does not set `bytes`; 0 means no limit.",
    );
    let bytes = unless_zero(values.read(key, parse::number(0, u64::MAX)));
    let mut plans = vec![Plan { bytes, ..Plan::enterprise() }];
    for name in values.plan_names() {
        let plan = plan(values, &name, bytes);
        match PlanName::new(&name) {
            Ok(_) if name == DEFAULT_PLAN => {
                let problem = "this plan always exists, and only `plan_bytes` limits it; choose another name"
                    .to_owned();
                values.refuse(&format!("plans.{name}"), problem);
            }
            Ok(name) => plans.push(Plan { name, ..plan }),
            Err(fault) => values.refuse(&format!("plans.{name}"), format!("a plan's name {fault}")),
        }
    }
    if default != DEFAULT_PLAN && !plans.iter().any(|plan| plan.name.as_str() == default) {
        values.refuse("default_plan", format!("there is no plan '{default}'"));
    }
    (PlanName::new(&default).unwrap_or_else(|_| PlanName::enterprise()), plans)
}

/// Returns the limit; 0 means none.
const fn unless_zero(bytes: u64) -> Option<u64> {
    if bytes == 0 { None } else { Some(bytes) }
}

/// Reads the plan of one table; its name is set later.
fn plan(values: &mut Values, name: &str, bytes: Option<u64>) -> Plan {
    let path = |line: &str| format!("plans.{name}.{line}");
    let mut limit = |line| values.line(&path(line), Form::Number, parse::number(0, u32::MAX));
    let (agents, chats) = (limit("agents"), limit("chats"));
    let (participants, messages) = (limit("participants"), limit("messages"));
    let own_bytes = values.line(&path("bytes"), Form::Number, parse::number(0, u64::MAX));
    let mut allowed = |line| values.line(&path(line), Form::Switch, parse::switch).unwrap_or(true);
    Plan {
        name: PlanName::enterprise(),
        agents,
        chats,
        participants,
        messages,
        bytes: own_bytes.map_or(bytes, unless_zero),
        human_interface: allowed("human_interface"),
        memories: allowed("memories"),
    }
}

#[cfg(test)]
mod tests {
    use domain::plan::DEFAULT_BYTES;

    use super::super::with_file;

    #[test]
    fn plans_are_checked_together() {
        let file = "default_plan = 'gone'\n[plans.free]\nagents = 2\nmemories = false\n[plans.Odd]\n\
                    [plans.enterprise]\nchats = 1\n";
        let examined = with_file(&[], &[], file);
        let (config, faults) = (examined.config, examined.faults);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert_eq!((config.default_plan.as_str(), config.plans.len()), ("gone", 2));
        assert_eq!(config.plans[0].bytes, Some(DEFAULT_BYTES));
        let free = &config.plans[1];
        assert_eq!((free.name.as_str(), free.agents, free.chats), ("free", Some(2), None));
        assert!(free.human_interface && !free.memories);
        let file = "plan_bytes = 5\n[plans.a]\n[plans.b]\nbytes = 7\n[plans.c]\nbytes = 0\n";
        let bytes = with_file(&[], &[], file).config.plans.iter().map(|plan| plan.bytes).collect::<Vec<_>>();
        assert_eq!(bytes, [Some(5), Some(5), Some(7), None]);
        let examined = with_file(&[], &[], "[plans.free]\nagent = 1\nchats = -1\nmemories = 'no'\n");
        assert_eq!(examined.faults.len(), 3, "{:?}", examined.faults);
    }
}
