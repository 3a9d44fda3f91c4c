//! Registering: somebody makes an account of their own, with a password.

use super::log_in::LoggedIn;
use super::password::{HasherBusy, Password};
use super::service::LoginService;
use crate::account::{CreateUser, CreateUserRefused, Membership, NewUser, PersonName, UserHandle, UserRole};
use crate::organization::InvitationRefused;
use crate::store::StoreError;
use crate::words::words;

words! {
    /// Who may register; the operator decides.
    #[derive(Default)]
    Registration {
        /// Nobody.
        #[default]
        Closed = "closed",
        /// Whoever was invited into an organization.
        Invitation = "invitation",
        /// Everybody; who was not invited gets an organization of their own.
        Open = "open",
    }
}

/// Who wants an account; every part already checked. It holds secrets, so it is never shown.
#[derive(Clone)]
pub struct Register {
    /// The wished handle.
    pub handle: UserHandle,
    /// From [`crate::account::parse_email`].
    pub email: String,
    /// From [`crate::account::parse_person_name`].
    pub name: PersonName,
    /// To log in with.
    pub password: Password,
    /// The text of an invitation, if there is one.
    pub invitation: Option<String>,
}

/// Why nobody was registered.
#[derive(Debug, thiserror::Error)]
pub enum RegisterUserError {
    /// Nobody may register here.
    #[error("registration is closed")]
    Closed,
    /// Only with an invitation.
    #[error("registration requires an invitation")]
    NotInvited,
    /// The invitation does not let them in.
    #[error(transparent)]
    Invitation(#[from] InvitationRefused),
    /// Another user has the handle.
    #[error("the handle is already taken")]
    HandleTaken,
    /// Another user has the address.
    #[error("the e-mail address is already taken")]
    EmailTaken,
    /// The plan that new organizations get is not there.
    #[error("there is no such plan")]
    NoSuchPlan,
    /// The account is there, and was changed in the same moment.
    #[error("the password was changed meanwhile")]
    Overtaken,
    /// More passwords wait to be looked at than may.
    #[error(transparent)]
    Busy(#[from] HasherBusy),
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LoginService {
    /// Makes an account, where its invitation leads to or with an organization of its own, and opens a session.
    /// Nothing is hashed for whoever may not register or shows an invitation that is no good, and who does not
    /// learns nothing of other accounts.
    pub async fn register(&self, command: Register) -> Result<LoggedIn, RegisterUserError> {
        let invitation = command.invitation.as_deref().map(|token| self.mint.digest(token.trim()));
        let membership = match (self.registration, invitation) {
            (Registration::Closed, _) => return Err(RegisterUserError::Closed),
            (Registration::Invitation, None) => return Err(RegisterUserError::NotInvited),
            (Registration::Open, None) => Membership::Own,
            (_, Some(token)) => {
                let found = self.logins.find_invitation(token).await?;
                found.ok_or(InvitationRefused::Unknown)?.check(&command.email, self.clock.now())?;
                Membership::Invited(token)
            }
        };
        let password = self.hasher.hash(command.password).await?;
        let Register { handle, email, name, .. } = command;
        let wanted = CreateUser { handle, email, name, membership, plan: self.plan.clone() };
        let mut new = NewUser::compose(wanted, UserRole::User, &*self.ids, self.clock.now());
        new.by = new.user.id.into();
        new.password = Some(password);
        match self.accounts.create_user(new).await? {
            Ok(user) => self.begin(user.id, user.created_at, None).await?.ok_or(RegisterUserError::Overtaken),
            Err(CreateUserRefused::HandleTaken) => Err(RegisterUserError::HandleTaken),
            Err(CreateUserRefused::EmailTaken) => Err(RegisterUserError::EmailTaken),
            Err(CreateUserRefused::NoSuchPlan) => Err(RegisterUserError::NoSuchPlan),
            Err(CreateUserRefused::Invitation(refused)) => Err(refused.into()),
        }
    }
}
