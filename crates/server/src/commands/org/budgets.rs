//! `parlance org budgets` and `set-budget`

use domain::budget::{Amount, Budget};
use domain::organization::Authority;
use domain::plan::Organization;
use serde_json::{Map, Value, json};

use super::arguments::{BudgetsArguments, SetBudgetArguments};
use super::{Desk, named};
use crate::failure::Failure;
use crate::wiring;

pub(super) async fn show(desk: &Desk, arguments: &BudgetsArguments) -> Result<String, Failure> {
    let organization = named(&desk.organizations, &desk.store, &arguments.name).await?;
    rendered(desk, &organization, arguments.json).await
}

pub(super) async fn set(desk: &Desk, arguments: &SetBudgetArguments) -> Result<String, Failure> {
    let SetBudgetArguments { name, budget, amount: wished, json } = arguments;
    let amount = match wished.trim() {
        "none" => None,
        number => {
            let amount = number.parse().ok().and_then(Amount::new).ok_or_else(|| {
                let most = Amount::MAX;
                Failure::plain(format!("'{number}' is neither a number from 1 to {most} nor `none`"))
                    .next("see `parlance org set-budget --help`")
            });
            Some(amount?)
        }
    };
    let changes = Budget::parse(budget).map(|budget| (budget, amount)).into_iter().collect();
    let organization = named(&desk.organizations, &desk.store, name).await?;
    let budgets = wiring::budgets(desk.store.clone());
    let set = budgets.set(Authority::Operator(organization.id), changes).await;
    set.map_err(|cause| Failure::new("the budget was not changed", cause))?;
    rendered(desk, &organization, *json).await
}

async fn rendered(desk: &Desk, organization: &Organization, as_json: bool) -> Result<String, Failure> {
    let shown = wiring::budgets(desk.store.clone()).show(organization.id).await;
    let shown = shown.map_err(|cause| Failure::new("cannot read the budgets", cause))?;
    let amounts = shown.budgets.iter().map(|(budget, amount)| (budget.as_str(), amount.map(Amount::get)));
    if as_json {
        let budgets = amounts.map(|(budget, amount)| (budget.to_owned(), json!(amount)));
        let budgets = budgets.collect::<Map<String, Value>>();
        let used = json!({"messages": shown.messages, "tokens": shown.tokens});
        return Ok(json!({"budgets": budgets, "used_today": used}).to_string());
    }
    let lines = amounts.filter_map(|(budget, amount)| Some(format!("  {budget}: {}\n", amount?)));
    let lines = lines.collect::<String>();
    let budgets = if lines.is_empty() { "  No budgets.\n" } else { &lines };
    let used = format!("Used today: {} messages, {} tokens", shown.messages, shown.tokens);
    Ok(format!("{}:\n{budgets}{used}", organization.name))
}
