//! All organizations, their plans, and giving them others.

use actix_web::{HttpResponse, web};
use domain::login::Password;
use domain::plan::{PlanName, PlanService};
use http_wire::auth::OperatorAuth;
use http_wire::envelope::{Data, List};
use http_wire::error::ApiError;
use http_wire::openapi::schema::line;
use http_wire::page::CursorQuery;
use http_wire::path::OrganizationPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::view::{OrganizationInUseView, PlanInUseView};

use super::cursors;
use crate::confirm::{Confirmation, current_password};

pub(crate) async fn list_organizations(
    OperatorAuth(operator): OperatorAuth,
    StrictQuery(query): StrictQuery<CursorQuery>,
    plans: web::Data<PlanService>,
) -> Result<HttpResponse, ApiError> {
    let window = query.window(cursors("organizations", operator))?;
    let page = plans.page(operator, window.request.clone()).await?;
    Ok(List::ok(page.rows.iter().map(OrganizationInUseView::new), window.metadata(&page)))
}

/// Lists all at once: there are as many as are configured.
pub(crate) async fn list_plans(
    OperatorAuth(operator): OperatorAuth,
    _: StrictQuery<NoQuery>,
    plans: web::Data<PlanService>,
) -> Result<HttpResponse, ApiError> {
    Ok(Data::ok(plans.list_by(operator).await?.iter().map(PlanInUseView::new).collect::<Vec<_>>()))
}

/// The plan, and the caller's password if a confirmation is required.
pub(crate) struct AssignPlanBody {
    plan: PlanName,
    current: Option<Password>,
}

impl FromBody for AssignPlanBody {
    const WRAPPER: Option<&'static str> = Some("organization");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let plan = body.text("plan", line(40), |name| PlanName::new(&name));
        let current = current_password(body);
        Ok(Self { plan: plan?, current: current? })
    }
}

pub(crate) async fn assign_plan(
    OperatorAuth(operator): OperatorAuth,
    confirmation: Confirmation,
    path: OrganizationPath,
    StrictJson { body, form }: StrictJson<AssignPlanBody>,
    plans: web::Data<PlanService>,
) -> Result<HttpResponse, ApiError> {
    let confirmed = confirmation.check(body.current, "/organization/current_password").await;
    confirmed.map_err(|error| form.explain(error))?;
    let assigned = plans.assign_by(operator, path.organization, body.plan).await;
    assigned.map_err(|error| form.explain(error))?;
    Ok(HttpResponse::NoContent().finish())
}
