//! One transaction for a whole batch: commits, announcements, and answers when a change, its
//! announcement, or the commit fails.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Waker};

use diesel::prelude::*;
use tokio::task::unconstrained;

use super::*;

type Answer<T, R> = Result<Result<T, R>, StoreError>;
type Waiting<'a, T, R> = Pin<Box<dyn Future<Output = Answer<T, R>> + 'a>>;

/// The announcements, in order.
#[derive(Clone, Default)]
struct Published(Arc<Mutex<Vec<i32>>>);

impl Published {
    fn note(&self) -> impl FnOnce(&i32) + Send + 'static {
        let published = self.0.clone();
        move |number| published.lock().unwrap().push(*number)
    }

    fn take(&self) -> Vec<i32> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn writer() -> Writer {
    let mut connection = SqliteConnection::establish(":memory:").unwrap();
    let schema = "PRAGMA foreign_keys = ON; \
                  CREATE TABLE things (id INTEGER PRIMARY KEY, weight BLOB); \
                  CREATE TABLE parts (of INTEGER REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED);";
    connection.batch_execute(schema).unwrap();
    Writer::start(connection).unwrap()
}

/// Passes a change to the writer at once, so that changes queue in the order of these calls.
fn queue<'a, T, R>(change: impl Future<Output = Answer<T, R>> + 'a) -> Waiting<'a, T, R> {
    let mut change: Waiting<'a, T, R> = Box::pin(unconstrained(change));
    assert!(change.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    change
}

/// Keeps the writer busy, so that changes queued until the gate opens become one batch.
fn hold(writer: &Writer) -> (Waiting<'_, (), Infallible>, Sender<()>) {
    let (begun, has_begun) = channel();
    let (gate, opened) = channel();
    let work = move |_: &mut SqliteConnection| {
        begun.send(()).unwrap();
        opened.recv().unwrap();
        Ok(Ok(()))
    };
    let held = queue(writer.change(work, |()| ()));
    has_begun.recv().unwrap();
    (held, gate)
}

fn insert(number: i32) -> impl FnOnce(&mut SqliteConnection) -> Result<Result<i32, i32>, Fault> + Send {
    move |connection| {
        connection.batch_execute(&format!("INSERT INTO things (id) VALUES ({number})"))?;
        Ok(Ok(number))
    }
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = diesel::sql_types::Integer)]
    id: i32,
}

async fn stored(writer: &Writer) -> Vec<i32> {
    let work = |connection: &mut SqliteConnection| {
        let rows = diesel::sql_query("SELECT id FROM things ORDER BY id").load::<Number>(connection)?;
        Ok(Ok::<_, Infallible>(rows.into_iter().map(|row| row.id).collect()))
    };
    let Ok(rows) = writer.change(work, |_| ()).await.unwrap();
    rows
}

#[tokio::test]
async fn of_a_batch_only_what_failed_is_rolled_back() {
    let (writer, published) = (writer(), Published::default());
    let (held, gate) = hold(&writer);
    let first = queue(writer.change(insert(1), published.note()));
    let refused = queue(writer.change(
        |connection| {
            insert(2)(connection)?.unwrap();
            Ok(Err::<i32, _>(2))
        },
        published.note(),
    ));
    let faulty = queue(writer.change(
        |connection| {
            insert(3)(connection)?.unwrap();
            insert(3)(connection)
        },
        published.note(),
    ));
    let panicking = queue(writer.change(
        |connection| -> Result<Result<i32, i32>, Fault> {
            insert(4)(connection)?.unwrap();
            panic!("a defect")
        },
        published.note(),
    ));
    let last = queue(writer.change(insert(5), published.note()));
    gate.send(()).unwrap();

    held.await.unwrap().unwrap();
    assert_eq!(first.await.unwrap(), Ok(1));
    assert_eq!(refused.await.unwrap(), Err(2));
    assert!(matches!(faulty.await, Err(StoreError::Broken(_))), "a key twice is a defect");
    assert!(matches!(panicking.await, Err(StoreError::Broken(_))));
    assert_eq!(last.await.unwrap(), Ok(5));
    assert_eq!(published.take(), [1, 5], "told in the order of the changes, and nothing else");
    assert_eq!(stored(&writer).await, [1, 5]);
}

/// Statements that make a whole batch fail: at the commit itself, and before it, as on a full disk,
/// where SQLite rolls the transaction back.
const SPOILERS: [&str; 2] = ["INSERT INTO parts VALUES (404)", "ROLLBACK"];

#[tokio::test]
async fn a_batch_that_is_not_committed_is_answered_and_not_told() {
    for spoiler in SPOILERS {
        let (writer, published) = (writer(), Published::default());
        let (held, gate) = hold(&writer);
        let good = queue(writer.change(insert(1), published.note()));
        let refused = queue(writer.change(|_| Ok(Err::<i32, _>(2)), published.note()));
        let bad = queue(writer.change(
            move |connection| {
                connection.batch_execute(spoiler)?;
                Ok(Ok::<_, i32>(3))
            },
            published.note(),
        ));
        let behind = queue(writer.change(insert(4), published.note()));
        gate.send(()).unwrap();

        held.await.unwrap().unwrap();
        for answer in [good.await, refused.await, bad.await, behind.await] {
            assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{spoiler}: {answer:?}");
        }
        assert_eq!(published.take(), [0; 0], "{spoiler}");
        assert_eq!(writer.change(insert(5), published.note()).await.unwrap(), Ok(5), "{spoiler}: it goes on");
        assert_eq!(published.take(), [5]);
        assert_eq!(stored(&writer).await, [5], "{spoiler}");
    }
}

#[tokio::test]
async fn a_panic_in_what_is_told_harms_nobody() {
    let writer = writer();
    assert_eq!(writer.change(insert(1), |_| panic!("a deaf listener")).await.unwrap(), Ok(1));
    assert_eq!(writer.change(insert(2), |_| ()).await.unwrap(), Ok(2));
    assert_eq!(stored(&writer).await, [1, 2]);
}

#[tokio::test]
async fn what_is_told_is_told_before_the_answer_even_if_nobody_waits() {
    let (writer, published) = (writer(), Published::default());
    let (held, gate) = hold(&writer);
    drop(queue(writer.change(insert(1), published.note())));
    let waiting = queue(writer.change(insert(2), published.note()));
    gate.send(()).unwrap();
    held.await.unwrap().unwrap();
    assert_eq!(waiting.await.unwrap(), Ok(2));
    assert_eq!(published.take(), [1, 2]);
    assert_eq!(stored(&writer).await, [1, 2]);
}

#[tokio::test]
async fn a_full_store_is_unavailable_and_heals() {
    let (writer, published) = (writer(), Published::default());
    let pragma = |text: &'static str| {
        writer.change(move |connection| Ok(Ok::<_, Infallible>(connection.batch_execute(text)?)), |()| ())
    };
    pragma("PRAGMA max_page_count = 16").await.unwrap().unwrap();
    let heavy = |number: i32| {
        move |connection: &mut SqliteConnection| {
            let text = format!("INSERT INTO things VALUES ({number}, zeroblob(20000))");
            connection.batch_execute(&text)?;
            Ok(Ok::<_, i32>(number))
        }
    };
    let mut kept = Vec::new();
    let full = loop {
        let number = i32::try_from(kept.len()).unwrap();
        assert!(number < 16, "the store never gets full");
        match writer.change(heavy(number), published.note()).await {
            Ok(Ok(number)) => kept.push(number),
            other => break other,
        }
    };
    let Err(StoreError::Unavailable(cause)) = full else { panic!("{full:?}") };
    assert!(cause.to_string().contains("full"), "the cause is named: {cause}");
    assert!(!kept.is_empty());
    assert_eq!(published.take(), kept);
    assert_eq!(stored(&writer).await, kept, "what was accepted can be read");

    pragma("PRAGMA max_page_count = 4096").await.unwrap().unwrap();
    assert_eq!(writer.change(heavy(100), published.note()).await.unwrap(), Ok(100), "space is back");
    assert_eq!(published.take(), [100]);
}

#[tokio::test]
async fn closing_finishes_what_has_queued_and_refuses_the_rest() {
    let (writer, published) = (writer(), Published::default());
    let (held, gate) = hold(&writer);
    let queued = queue(writer.change(insert(1), published.note()));
    gate.send(()).unwrap();
    writer.close();
    held.await.unwrap().unwrap();
    assert_eq!(queued.await.unwrap(), Ok(1));
    let late = writer.change(insert(2), published.note()).await;
    assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
    assert_eq!(published.take(), [1]);
    writer.close();
}

/// A change that finds the queue full waits, and comes after those that are queued.
#[tokio::test]
async fn a_full_queue_lets_changes_wait() {
    let (writer, published) = (writer(), Published::default());
    let (held, gate) = hold(&writer);
    let change = |number: i32| writer.change(move |_| Ok(Ok::<_, Infallible>(number)), published.note());
    let count = i32::try_from(MAX_QUEUED).unwrap() + 2;
    let all = (0..count).map(|number| queue(change(number))).collect::<Vec<_>>();
    assert_eq!(writer.capacity.available_permits(), 0);
    gate.send(()).unwrap();
    held.await.unwrap().unwrap();
    for (number, change) in (0..).zip(all) {
        assert_eq!(change.await.unwrap(), Ok(number));
    }
    assert_eq!(published.take(), (0..count).collect::<Vec<_>>());
}

/// A closed writer lets no change wait, whether it was queued or not.
#[tokio::test]
async fn a_close_refuses_changes_that_wait_for_room() {
    let (writer, published) = (writer(), Published::default());
    let (held, gate) = hold(&writer);
    let all = (0..MAX_QUEUED).map(|_| queue(writer.change(|_| Ok(Ok::<_, Infallible>(1)), published.note())));
    let mut all = all.collect::<Vec<_>>();
    let late = all.pop().unwrap();
    gate.send(()).unwrap();
    writer.close();
    held.await.unwrap().unwrap();
    assert!(matches!(late.await, Err(StoreError::Unavailable(_))));
    for change in all {
        change.await.unwrap().unwrap();
    }
}
