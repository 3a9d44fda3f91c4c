//! A store as a whole: all of it is shown, and what is shown is held again by another store.

use domain::archive::{ArchiveRepository, Row, Snapshot, TABLES, Table, Value, WriteRefused, Written};
use domain::id::ParticipantId;
use domain::ports::Clock;

use crate::{Fixture, Stores, World};

/// All rows of every table, read so many at once.
pub async fn all_rows(archive: &dyn ArchiveRepository, at_once: usize) -> Vec<(&'static Table, Vec<Row>)> {
    rows_in(&mut *archive.snapshot().await.unwrap(), at_once).await
}

async fn rows_in(snapshot: &mut dyn Snapshot, at_once: usize) -> Vec<(&'static Table, Vec<Row>)> {
    let mut all = Vec::new();
    for table in &TABLES {
        let mut rows: Vec<Row> = Vec::new();
        loop {
            let after = rows.last().map(|row| table.key_of(row).to_vec());
            let page = snapshot.rows(table, after.as_deref(), at_once).await.unwrap();
            assert!(page.len() <= at_once);
            if page.is_empty() {
                break;
            }
            rows.extend(page);
        }
        assert_eq!(snapshot.count(table).await.unwrap(), rows.len() as u64, "{}", table.name);
        all.push((table, rows));
    }
    all
}

/// Writes all rows; gives how many were new.
async fn move_into(archive: &dyn ArchiveRepository, all: &[(&'static Table, Vec<Row>)]) -> usize {
    let mut new = 0;
    for (table, rows) in all {
        let written = archive.write(table, rows.clone()).await.unwrap().unwrap();
        assert_eq!(written.replaced, 0);
        new += written.new;
    }
    new
}

/// There and back: rows and what people read of them are the same in a store of another kind.
pub async fn exported_rows_are_imported_unchanged(world: World) {
    let fixture = Fixture::in_world(&world).await;
    let all = all_rows(&*world.stores.archive, 1000).await;
    for (table, rows) in &all {
        assert!(!rows.is_empty(), "nothing of {} is made, so nothing is shown of it", table.name);
        for (place, column) in table.columns.iter().enumerate() {
            let emptied = rows.iter().any(|row| row[place] == Value::Null);
            assert!(column.is_optional || !emptied, "{}.{}", table.name, column.name);
        }
    }
    assert_eq!(all_rows(&*world.stores.archive, 2).await, all, "however many are read at once");

    let elsewhere = World::on(Stores::in_memory());
    elsewhere.clock.set(world.clock.now());
    elsewhere.stores.archive.begin_import(world.clock.now()).await.unwrap();
    move_into(&*elsewhere.stores.archive, &all).await;
    assert_eq!(all_rows(&*elsewhere.stores.archive, 1000).await, all);
    let sealed = world.audit.verify(None).await.unwrap();
    assert!(sealed.checked > 10 && sealed.fault_count == 0, "{sealed:?}");
    let moved = elsewhere.audit.verify(sealed.state.head).await.unwrap();
    assert_eq!(moved, sealed, "the chain is moved as well");
    assert_eq!(fixture.seen_in(&elsewhere).await, fixture.seen_in(&world).await);
}

/// Rows of another kind of store can be imported, and imported again.
pub async fn rows_of_another_store_are_imported_unchanged(world: World) {
    let elsewhere = World::on(Stores::in_memory());
    let fixture = Fixture::in_world(&elsewhere).await;
    let all = all_rows(&*elsewhere.stores.archive, 1000).await;
    let number = all.iter().map(|(_, rows)| rows.len()).sum::<usize>();
    // The one plan that every store has goes, as the archive's own may limit otherwise.
    world.stores.archive.begin_import(world.clock.now()).await.unwrap();
    assert_eq!(move_into(&*world.stores.archive, &all).await, number);
    assert_eq!(move_into(&*world.stores.archive, &all).await, 0);
    assert_eq!(all_rows(&*world.stores.archive, 3).await, all);
    world.clock.set(elsewhere.clock.now());
    assert_eq!(fixture.seen_in(&world).await, fixture.seen_in(&elsewhere).await);
}

/// A snapshot does not see later writes, and does not block them.
pub async fn a_snapshot_stays_as_it_was(world: World) {
    let ann = world.user("ann").await;
    let chat = world.chat(ann.caller, &[]).await;
    world.send(ann.caller, chat, "before", &[]).await;
    let before = all_rows(&*world.stores.archive, 1000).await;
    let mut snapshot = world.stores.archive.snapshot().await.unwrap();
    world.send(ann.caller, chat, "after", &[]).await;
    world.user("ben").await;
    assert_eq!(rows_in(&mut *snapshot, 1).await, before);
    drop(snapshot);
    assert_ne!(all_rows(&*world.stores.archive, 1000).await, before);
}

/// A row that exists with other content is refused by its key, an invalid one by its rule, and nothing is
/// written.
pub async fn rows_are_never_changed(world: World) {
    let ann = world.user("ann").await;
    let ben = world.user("ben").await;
    let archive = world.stores.archive.clone();
    let users = Table::named("users").unwrap();
    let place = |name: &str| users.columns.iter().position(|column| column.name == name).unwrap();
    let all = all_rows(&*archive, 1000).await;
    let rows = all.iter().find(|(table, _)| table.name == "users").map(|(_, rows)| rows.clone()).unwrap();
    let of = |id| rows.iter().find(|row| row[0] == Value::Id(id)).unwrap().clone();
    let with = |mut row: Row, name: &str, value: Value| {
        row[place(name)] = value;
        row
    };
    let fresh = |name: &str| {
        let id = uuid::Uuid::from_u128(name.bytes().map(u128::from).sum());
        let row = with(of(ann.id.uuid()), "id", Value::Id(id));
        let row = with(row, "email", Value::Text(format!("{name}@example.org")));
        with(row, "handle", Value::Text(name.to_owned()))
    };
    let changed = with(of(ben.id.uuid()), "first_name", Value::Text("Eve".to_owned()));
    let refused = archive.write(users, vec![fresh("cai"), of(ann.id.uuid()), changed]).await.unwrap();
    let key = vec![Value::Id(ben.id.uuid())];
    assert_eq!(refused, Err(WriteRefused::Differs { table: "users", key }));

    let taken = with(fresh("cai"), "email", Value::Text("ANN@example.org".to_owned()));
    let nowhere = with(fresh("cai"), "organization_id", Value::Id(uuid::Uuid::from_u128(2)));
    for row in [taken, nowhere] {
        let refused = archive.write(users, vec![of(ben.id.uuid()), fresh("dan"), row]).await.unwrap();
        assert!(matches!(refused, Err(WriteRefused::Breaks { table: "users", .. })), "{refused:?}");
    }
    assert_eq!(all_rows(&*archive, 1000).await, all);

    let written = archive.write(users, vec![of(ann.id.uuid()), fresh("cai")]).await.unwrap();
    assert_eq!(written, Ok(Written { new: 1, replaced: 0 }));
    assert_eq!(archive.write(users, Vec::new()).await.unwrap(), Ok(Written::default()));
}

/// Records are found by the mentions of their messages, so an archive whose rows contradict that is refused.
pub async fn rows_agree_on_who_is_mentioned(world: World) {
    let ann = world.user("ann").await;
    let (bot, other) = (world.agent(&ann, "Bot").await, world.agent(&ann, "Other").await);
    let chat = world.chat(ann.caller, &[bot.id.into(), other.id.into()]).await;
    world.send(ann.caller, chat, "hello", &[ParticipantId::Agent(bot.id)]).await;
    let archive = world.stores.archive.clone();
    let all = all_rows(&*archive, 1000).await;
    let only = |name: &str| {
        let (table, rows) = all.iter().find(|(table, _)| table.name == name).unwrap();
        (*table, rows[0].clone())
    };
    let with = |(table, mut row): (&'static Table, Row), name: &str, value: Value| {
        row[table.columns.iter().position(|column| column.name == name).unwrap()] = value;
        (table, row)
    };
    let another = || {
        let message = with(only("messages"), "id", Value::Id(uuid::Uuid::from_u128(2)));
        with(message, "sequence", Value::Integer(2))
    };
    let mentions = another().1.into_iter().find_map(|value| match value {
        Value::Text(text) if text.starts_with('[') => Some(text),
        _ => None,
    });
    let mention = mentions.unwrap().trim_matches(['[', ']']).to_owned();
    let twice = with(another(), "mentions", Value::Text(format!("[{mention},{mention}]")));
    let unreadable = with(another(), "mentions", Value::Text("[{}]".to_owned()));
    let unmentioned = with(only("deliveries"), "agent_id", Value::Id(other.id.uuid()));
    for (table, row) in [twice, unreadable, unmentioned.clone()] {
        let refused = archive.write(table, vec![row]).await.unwrap();
        assert!(
            matches!(refused, Err(WriteRefused::Breaks { table: of, .. }) if of == table.name),
            "{refused:?}"
        );
    }
    assert_eq!(all_rows(&*archive, 1000).await, all);

    let (table, message) = another();
    assert!(archive.write(table, vec![message]).await.unwrap().is_ok());
    // Work on a message that does not mention the agent, and a delivery whose message is being erased.
    let unaddressed = with(unmentioned.clone(), "addressed", Value::Flag(false));
    let erased = with(unmentioned, "sequence", Value::Integer(3));
    for (table, row) in [unaddressed, erased] {
        assert_eq!(archive.write(table, vec![row]).await.unwrap(), Ok(Written { new: 1, replaced: 0 }));
    }
}

/// An import is marked once, until the mark is removed; the mark is not in the archive. When an import begins,
/// the store's own plan is removed, so that the archive's takes its place.
pub async fn an_import_is_marked_until_it_has_ended(world: World) {
    let archive = &world.stores.archive;
    let mut before = all_rows(&**archive, 100).await;
    for (table, rows) in &mut before {
        if table.name == "plans" {
            rows.clear();
        }
    }
    assert_eq!(archive.unfinished_import().await.unwrap(), None);
    let begun = world.clock.now();
    archive.begin_import(begun).await.unwrap();
    world.clock.advance(std::time::Duration::from_secs(60));
    archive.begin_import(world.clock.now()).await.unwrap();
    assert_eq!(archive.unfinished_import().await.unwrap(), Some(begun), "the first one stays");
    assert_eq!(all_rows(&**archive, 100).await, before);
    archive.end_import().await.unwrap();
    archive.end_import().await.unwrap();
    assert_eq!(archive.unfinished_import().await.unwrap(), None);
}
