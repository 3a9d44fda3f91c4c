//! Organizations, members, and invitations.

use domain::audit::ListAuditError;
use domain::budget::SetBudgetsError;
use domain::organization::{
    AcceptError, EnterError, InvitationRefused, InviteError, LastAdmin, LeaveError, ListInvitationsError,
    MAX_INVITATION_LIFETIME, MAX_INVITATIONS, NotAdmin, PauseError, RenameError, RevokeInvitationError,
    SetRoleError,
};
use domain::plan::{AssignError, AssignRefused};

use super::unauthorized;
use crate::error::{ApiError, ErrorCode};

impl From<NotAdmin> for ApiError {
    fn from(_: NotAdmin) -> Self {
        Self::new(ErrorCode::Forbidden, "Only an admin of the organization may do this. Ask one of them.")
    }
}

impl From<ListAuditError> for ApiError {
    fn from(error: ListAuditError) -> Self {
        match error {
            ListAuditError::NotAdmin(refused) => refused.into(),
            ListAuditError::Store(error) => error.into(),
        }
    }
}

impl From<LastAdmin> for ApiError {
    fn from(_: LastAdmin) -> Self {
        let message = "The organization would be left without an admin. Make another member an admin first.";
        Self::new(ErrorCode::Conflict, message)
    }
}

impl From<RenameError> for ApiError {
    fn from(error: RenameError) -> Self {
        match error {
            RenameError::NotAdmin(error) => error.into(),
            RenameError::NameTaken => {
                Self::validation().with_detail("/organization/name", "has already been taken")
            }
            RenameError::Store(error) => error.into(),
        }
    }
}

impl From<AssignError> for ApiError {
    fn from(error: AssignError) -> Self {
        match error {
            AssignError::Refused(AssignRefused::NoSuchOrganization) => Self::new(
                ErrorCode::NotFound,
                "There is no organization with this id. GET /api/v1/operator/organizations lists all.",
            ),
            AssignError::Refused(AssignRefused::NoSuchPlan) => {
                Self::validation().with_detail("/organization/plan", "must be the name of a plan")
            }
            AssignError::Store(error) => error.into(),
        }
    }
}

impl From<PauseError> for ApiError {
    fn from(error: PauseError) -> Self {
        match error {
            PauseError::NotAdmin(error) => error.into(),
            PauseError::Store(error) => error.into(),
        }
    }
}

impl From<SetBudgetsError> for ApiError {
    fn from(error: SetBudgetsError) -> Self {
        match error {
            SetBudgetsError::NotAdmin(error) => error.into(),
            SetBudgetsError::Store(error) => error.into(),
        }
    }
}

impl From<SetRoleError> for ApiError {
    fn from(error: SetRoleError) -> Self {
        match error {
            SetRoleError::NotAdmin(error) => error.into(),
            SetRoleError::MemberNotFound => member_not_found(),
            SetRoleError::LastAdmin(error) => error.into(),
            SetRoleError::Store(error) => error.into(),
        }
    }
}

impl From<LeaveError> for ApiError {
    fn from(error: LeaveError) -> Self {
        match error {
            LeaveError::NotAdmin(error) => error.into(),
            LeaveError::MemberNotFound => member_not_found(),
            LeaveError::LastAdmin(error) => error.into(),
            LeaveError::Alone => Self::new(
                ErrorCode::Conflict,
                "You cannot leave your own organization as its only member. Accept an invitation to join another.",
            ),
            LeaveError::Store(error) => error.into(),
        }
    }
}

impl From<InviteError> for ApiError {
    fn from(error: InviteError) -> Self {
        let wrong = |what: String| Self::validation().with_detail("/invitation/expires_at", what);
        match error {
            InviteError::NotAdmin(error) => error.into(),
            InviteError::ExpiryPast => wrong("must lie in the future".to_owned()),
            InviteError::ExpiryTooLate => {
                wrong(format!("must lie within {} days", MAX_INVITATION_LIFETIME.as_secs() / 86_400))
            }
            InviteError::TooMany => Self::new(
                ErrorCode::Conflict,
                format!(
                    "{MAX_INVITATIONS} invitations are already open. Revoke one that is no longer needed."
                ),
            ),
            InviteError::Store(error) => error.into(),
        }
    }
}

impl From<ListInvitationsError> for ApiError {
    fn from(error: ListInvitationsError) -> Self {
        match error {
            ListInvitationsError::NotAdmin(error) => error.into(),
            ListInvitationsError::Store(error) => error.into(),
        }
    }
}

impl From<RevokeInvitationError> for ApiError {
    fn from(error: RevokeInvitationError) -> Self {
        match error {
            RevokeInvitationError::NotAdmin(error) => error.into(),
            RevokeInvitationError::NotFound => Self::new(
                ErrorCode::NotFound,
                "No open invitation has this id. List the invitations to find it.",
            ),
            RevokeInvitationError::Store(error) => error.into(),
        }
    }
}

impl From<AcceptError> for ApiError {
    fn from(error: AcceptError) -> Self {
        match error {
            AcceptError::Invitation(InvitationRefused::Unknown) => Self::new(
                ErrorCode::NotFound,
                "No invitation has this token. Check that you sent the whole token, or ask for another invitation.",
            ),
            AcceptError::Invitation(refused) => {
                Self::validation().with_detail("/invitation/token", refused.to_string())
            }
            AcceptError::Enter(EnterError::UserGone) => unauthorized(),
            AcceptError::Enter(EnterError::AlreadyThere) => Self::new(
                ErrorCode::Conflict,
                "You are already in this organization. There is nothing to accept.",
            ),
            AcceptError::Enter(EnterError::LastAdmin(error)) => error.into(),
            AcceptError::Enter(EnterError::Limit(reached)) => reached.into(),
            AcceptError::Enter(EnterError::Store(error)) => error.into(),
        }
    }
}

fn member_not_found() -> ApiError {
    ApiError::new(
        ErrorCode::NotFound,
        "Your organization has no member with this id. List its members to find it.",
    )
}
