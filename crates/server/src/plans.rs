//! The settings of plans: a table `[plans.NAME]` each.

use std::collections::BTreeMap;

use domain::plan::{DEFAULT_PLAN, Plan, PlanName};
use serde::Deserialize;

/// What a plan allows. A limit that is left out is none.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct PlanSettings {
    /// Agents of an organization.
    pub agents: Option<u32>,
    /// Active chats of an organization.
    pub chats: Option<u32>,
    /// Participants of a chat.
    pub participants: Option<u32>,
    /// Texts and events of a chat.
    pub messages: Option<u32>,
    /// Whether humans may call the interface of their own.
    pub human_interface: bool,
    /// Whether memories may be kept.
    pub memories: bool,
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self {
            agents: None,
            chats: None,
            participants: None,
            messages: None,
            human_interface: true,
            memories: true,
        }
    }
}

/// The plans that these settings mean; what is wrong with them goes to `faults`.
pub(crate) fn check(
    default: Option<String>,
    given: BTreeMap<String, PlanSettings>,
    faults: &mut Vec<String>,
) -> (PlanName, Vec<Plan>) {
    let mut plans = Vec::with_capacity(given.len());
    for (name, settings) in given {
        if name == DEFAULT_PLAN {
            faults.push(format!(
                "plans.{name}: this plan is always there and has no limits; take another name"
            ));
            continue;
        }
        match PlanName::new(&name) {
            Ok(name) => plans.push(plan(name, &settings)),
            Err(fault) => faults.push(format!("plans.{name}: a plan's name {fault}")),
        }
    }
    let default = default.unwrap_or_else(|| DEFAULT_PLAN.to_owned());
    let known = default == DEFAULT_PLAN || plans.iter().any(|plan| plan.name.as_str() == default);
    if !known {
        faults.push(format!("default_plan: there is no plan '{default}'"));
    }
    (PlanName::new(&default).unwrap_or_else(|_| PlanName::enterprise()), plans)
}

fn plan(name: PlanName, settings: &PlanSettings) -> Plan {
    Plan {
        name,
        agents: settings.agents,
        chats: settings.chats,
        participants: settings.participants,
        messages: settings.messages,
        human_interface: settings.human_interface,
        memories: settings.memories,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_checked_together() {
        let given = toml::from_str::<BTreeMap<String, PlanSettings>>(
            "[free]\nagents = 2\nmemories = false\n[Odd]\n[enterprise]\nchats = 1",
        );
        let mut faults = Vec::new();
        let (default, plans) = check(Some("gone".to_owned()), given.unwrap(), &mut faults);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert_eq!((default.as_str(), plans.len()), ("gone", 1));
        assert_eq!((plans[0].agents, plans[0].chats), (Some(2), None));
        assert!(plans[0].human_interface && !plans[0].memories);
        assert!(toml::from_str::<PlanSettings>("agent = 1").is_err());
        assert!(toml::from_str::<PlanSettings>("agents = -1").is_err());
    }
}
