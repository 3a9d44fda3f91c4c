//! Registering: a user creates an own account, with a password.

use super::federation::PasswordsOff;
use super::log_in::LoggedIn;
use super::password::{HasherBusy, Password};
use super::port::{SessionKind, SessionProof};
use super::second_factor::SecondProof;
use super::service::LoginService;
use crate::account::{
    CreateUser, CreateUserRefused, InitialOrganization, NewUser, PersonName, UserHandle, UserRole,
};
use crate::organization::InvitationRefused;
use crate::store::StoreError;
use crate::words::words;

words! {
    /// Who may register, as the operator decides.
    #[derive(Default)]
    Registration {
        /// No registration.
        #[default]
        Closed = "closed",
        /// Registration with an invitation to an organization.
        Invitation = "invitation",
        /// Registration for all; without an invitation a user gets an own organization.
        Open = "open",
    }
}

/// A registration; every part is already checked. It holds secrets, so it is never shown.
#[derive(Clone)]
pub struct Register {
    /// The requested handle.
    pub handle: UserHandle,
    /// From [`crate::account::parse_email`].
    pub email: String,
    /// From [`crate::account::parse_person_name`].
    pub name: PersonName,
    /// The password.
    pub password: Password,
    /// The text of an invitation, if there is one.
    pub invitation: Option<String>,
    /// The client.
    pub kind: SessionKind,
}

/// The reason why a registration failed.
#[derive(Debug, thiserror::Error)]
pub enum RegisterUserError {
    /// Registration is closed.
    #[error("registration is closed")]
    Closed,
    /// Nobody can log in with a password.
    #[error(transparent)]
    PasswordsOff(#[from] PasswordsOff),
    /// An invitation is required.
    #[error("registration requires an invitation")]
    NotInvited,
    /// The invitation cannot be accepted.
    #[error(transparent)]
    Invitation(#[from] InvitationRefused),
    /// Another user has the handle.
    #[error("the handle is already taken")]
    HandleTaken,
    /// Another user has the address.
    #[error("the email address is already taken")]
    EmailTaken,
    /// The plan of new organizations does not exist.
    #[error("there is no such plan")]
    NoSuchPlan,
    /// The account was created, but changed at the same moment.
    #[error("the password was changed meanwhile")]
    Overtaken,
    /// Too many passwords are being checked.
    #[error(transparent)]
    Busy(#[from] HasherBusy),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LoginService {
    /// Creates an account, in the organization of its invitation or in an own one, and opens a
    /// session. Nothing is hashed if registration is refused or the invitation is invalid, and such
    /// a client learns nothing of other accounts.
    pub async fn register(&self, command: Register) -> Result<LoggedIn, RegisterUserError> {
        self.check_passwords()?;
        let invitation = command.invitation.as_deref().map(|token| self.mint.digest(token.trim()));
        let initial_organization = match (self.registration, invitation) {
            (Registration::Closed, _) => return Err(RegisterUserError::Closed),
            (Registration::Invitation, None) => return Err(RegisterUserError::NotInvited),
            (Registration::Open, None) => InitialOrganization::Own,
            (_, Some(token)) => {
                let found = self.logins.find_invitation(token).await?;
                found.ok_or(InvitationRefused::Unknown)?.check(&command.email, self.clock.now())?;
                InitialOrganization::Invited(token)
            }
        };
        let password = self.hasher.hash(command.password).await?;
        let Register { handle, email, name, kind, .. } = command;
        let wanted = CreateUser { handle, email, name, initial_organization, plan: self.plan.clone() };
        let mut new = NewUser::compose(wanted, UserRole::User, &*self.ids, self.clock.now());
        new.by = new.user.id.into();
        new.password = Some(password);
        match self.users.create_user(new).await? {
            Ok(user) => {
                let proof = SessionProof::Password(user.created_at, SecondProof::None);
                let open = self.begin(user.id, proof, kind, None).await?;
                open.ok_or(RegisterUserError::Overtaken)
            }
            Err(CreateUserRefused::HandleTaken) => Err(RegisterUserError::HandleTaken),
            Err(CreateUserRefused::EmailTaken | CreateUserRefused::IdentityTaken) => {
                Err(RegisterUserError::EmailTaken)
            }
            Err(CreateUserRefused::NoSuchPlan) => Err(RegisterUserError::NoSuchPlan),
            Err(CreateUserRefused::Invitation(refused)) => Err(refused.into()),
        }
    }
}
