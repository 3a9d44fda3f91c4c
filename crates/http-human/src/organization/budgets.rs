//! `GET` and `PATCH /organization/budgets`.

use actix_web::{HttpResponse, web};
use domain::budget::{Amount, Budget, BudgetService};
use domain::caller::UserCaller;
use domain::organization::Authority;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::BudgetsView;

/// The new amounts; at least one is required.
pub(crate) struct SetBudgetsBody(Vec<(Budget, Option<Amount>)>);

impl FromBody for SetBudgetsBody {
    const WRAPPER: Option<&'static str> = Some("budgets");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        body.describe_as_never_empty();
        let read = Budget::ALL.map(|budget| {
            let amount = body.clearable_number(budget.as_str(), 1..=Amount::MAX, Amount::new)?;
            Ok(amount.map(|amount| (budget, amount)))
        });
        let changes = read.into_iter().filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?;
        if changes.is_empty() {
            return Err(body.fault(Budget::TreeMessages.as_str(), "must name at least one budget to change"));
        }
        Ok(Self(changes))
    }
}

pub(crate) async fn show_budgets(
    UserAuth(caller): UserAuth,
    _: StrictQuery<NoQuery>,
    budgets: web::Data<BudgetService>,
) -> Result<HttpResponse, ApiError> {
    shown(&budgets, caller).await
}

pub(crate) async fn set_budgets(
    UserAuth(caller): UserAuth,
    StrictJson { body, .. }: StrictJson<SetBudgetsBody>,
    budgets: web::Data<BudgetService>,
) -> Result<HttpResponse, ApiError> {
    budgets.set(Authority::Admin(caller), body.0).await?;
    shown(&budgets, caller).await
}

async fn shown(budgets: &BudgetService, caller: UserCaller) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(BudgetsView::new(&budgets.show(caller.organization).await?)))
}
