//! Two owners, each with agents and a room.

use crate::rest::Api;
use crate::server::Server;

/// U1 owns A1 and A2, U2 owns A3; R1 holds U1, A1 and A2, R2 holds U2 and A3.
pub struct Cast {
    /// Owner of A1 and A2.
    pub u1: Api,
    /// Owner of A3.
    pub u2: Api,
    /// In R1.
    pub a1: Api,
    /// In R1.
    pub a2: Api,
    /// In R2.
    pub a3: Api,
    /// The room of U1.
    pub r1: String,
    /// The room of U2.
    pub r2: String,
}

impl Cast {
    /// Creates the users, agents, and rooms.
    pub async fn on(server: &Server) -> Self {
        let (u1, u2) = (server.user("ann"), server.user("ben"));
        let (a1, a2) = (u1.register(server, "One").await, u1.register(server, "Two").await);
        let a3 = u2.register(server, "Three").await;
        let (r1, r2) = (u1.create_chat().await, u2.create_chat().await);
        for (owner, room, agent) in [(&u1, &r1, &a1), (&u1, &r1, &a2), (&u2, &r2, &a3)] {
            assert_eq!(owner.add(room, &agent.id).await.status, 201);
        }
        Self { u1, u2, a1, a2, a3, r1, r2 }
    }
}
