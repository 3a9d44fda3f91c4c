//! A human's own record.

use domain::account::User;
use domain::id::UserId;
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;

/// The calling user.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ProfileView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<UserId>,
    handle: &'a str,
    email: &'a str,
    first_name: &'a str,
    last_name: &'a str,
    role: &'static str,
    /// Always false: only agents are in the directory.
    listed_in_directory: bool,
    /// Always false: passwords are optional.
    local_credential_required: bool,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    #[schema(value_type = super::Instant)]
    updated_at: Shown<Timestamp>,
}

impl<'a> ProfileView<'a> {
    /// Shows `user` to themselves.
    pub fn new(user: &'a User) -> Self {
        Self {
            id: Shown(user.id),
            handle: user.handle.as_str(),
            email: &user.email,
            first_name: &user.name.first,
            last_name: &user.name.last,
            role: user.role.as_str(),
            listed_in_directory: false,
            local_credential_required: false,
            inserted_at: Shown(user.created_at),
            updated_at: Shown(user.updated_at),
        }
    }
}
