//! `parlance client rooms`

use ::client::text::on_one_line;
use domain::time::Timestamp;
use serde_json::json;

use crate::commands::client::Client;
use crate::commands::client::arguments::RoomsArguments;
use crate::failure::Failure;
use crate::output::{List, Rows};

/// Lists the rooms of the user.
pub(super) async fn list(arguments: RoomsArguments) -> Result<(), Failure> {
    let mut client = Client::new(arguments.profile)?;
    let list = List {
        name: Some("rooms"),
        headings: &["ID", "TITLE", "UNREAD", "LAST MESSAGE"],
        empty: "You are in no rooms. To start one, ask an agent: `parlance client ask --help`.",
    };
    let mut rooms = Vec::new();
    let mut cursor = None::<String>;
    let limit = usize::try_from(arguments.limit).unwrap_or(usize::MAX);
    loop {
        let page = client.call(async |session| session.rooms(cursor.as_deref(), true).await).await?;
        rooms.extend(page.rows);
        cursor = page.next;
        if cursor.is_none() || rooms.len() >= limit {
            break;
        }
    }
    let mut rows = Rows::begin(list, &arguments.print)?;
    for room in rooms.iter().take(limit) {
        let (id, title) = (on_one_line(&room.id), on_one_line(&room.title));
        let unread = room.unread();
        let sent_at = room.last_message_at.as_deref().and_then(Timestamp::parse);
        let json = json!({
            "id": id, "title": title, "unread": unread, "last_message_at": sent_at.map(|at| at.to_string()),
        });
        rows.row(
            || json,
            |times| vec![id.clone(), title.clone(), unread.to_string(), times.or_hyphen(sent_at)],
        )?;
    }
    rows.end()
}
