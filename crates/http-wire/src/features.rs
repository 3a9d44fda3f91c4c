//! The features of a server that clients ask about before they offer them to a model.

use std::collections::BTreeMap;

use domain::services::Services;

use crate::public_url::PublicUrl;

/// What a server serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features {
    /// Whether rooms have boards.
    pub boards: bool,
    /// Whether rooms have files.
    pub files: bool,
    /// Whether agents can have webhooks.
    pub webhooks: bool,
    /// Whether agents can be listed for A2A.
    pub a2a: bool,
    /// Whether the documentation is at `/docs/`.
    pub docs: bool,
    /// Where agents have pictures, if the address is known.
    pub pictures: Option<&'static PublicUrl>,
}

impl Default for Features {
    /// Those of a server with the default settings.
    fn default() -> Self {
        Self { boards: true, files: true, webhooks: true, a2a: true, docs: false, pictures: None }
    }
}

impl Features {
    /// Those that `services` serve, without documentation and pictures; the A2A server is no service.
    pub fn of(services: &Services) -> Self {
        Self {
            boards: services.boards.is_on(),
            files: services.files.is_on(),
            webhooks: services.webhooks.is_on(),
            a2a: true,
            docs: false,
            pictures: None,
        }
    }

    /// The flags by name. One that is false says that the server does not serve the feature; a missing one would say that
    /// it is too old to know it.
    pub(crate) fn flags(self) -> BTreeMap<&'static str, bool> {
        BTreeMap::from([("ff_file_transfer", self.files), ("ff_room_tasks", self.boards)])
    }
}
