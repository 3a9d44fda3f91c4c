//! The dependencies of a socket.

use std::sync::Arc;

use domain::account::{AccountService, TokenService};
use domain::activity::ActivityService;
use domain::chat::ChatService;

use crate::hub::Hub;

/// The dependencies of a socket; registered as `web::Data`.
#[derive(Clone)]
pub struct SocketContext {
    /// Subscriptions and presence.
    pub hub: Arc<Hub>,
    /// Authenticates keys.
    pub accounts: Arc<AccountService>,
    /// Authenticates tokens.
    pub tokens: Arc<TokenService>,
    /// Decides the access to chats.
    pub chats: Arc<ChatService>,
    /// Reads the activity of a chat for the snapshot.
    pub activity: Arc<ActivityService>,
}
