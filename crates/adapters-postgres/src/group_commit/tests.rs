use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use diesel::sql_types::{Array, Bool, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use futures_util::future::join_all;
use testkit::postgres::{Database, server};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

use super::*;
use crate::open::connector;
use crate::statement::statement;
use crate::{PostgresConfig, PostgresStore};

/// Decides a change with long patience after a commit in doubt of `before`; rolls back.
pub(crate) async fn decide_again<W: BatchWork>(
    store: &PostgresStore,
    work: &W,
    change: &W::Change,
    before: &mut W::Decided,
) -> Option<W::Decided> {
    let (connection, changes) = (store.pool.acquire().await.unwrap(), std::slice::from_ref(change));
    let decided = work.decide_on(connection.db(), changes, LockWait::Long, Some(before)).await.unwrap();
    execute(connection.db(), "ROLLBACK").await.unwrap();
    connection.release();
    decided
}

/// Decides and writes a change, and ends the transaction with `end`.
pub(crate) async fn write_once<W: BatchWork>(
    store: &PostgresStore,
    work: &W,
    change: &W::Change,
    end: &'static str,
) -> W::Decided {
    let (connection, changes) = (store.pool.acquire().await.unwrap(), std::slice::from_ref(change));
    let decided = work.decide_on(connection.db(), changes, LockWait::Brief, None).await.unwrap();
    let mut decided = decided.unwrap();
    assert!(decided.outcomes().iter().all(Result::is_ok));
    work.write_on(connection.db(), changes, &mut decided).await.unwrap();
    execute(connection.db(), end).await.unwrap();
    connection.release();
    decided
}

/// What happens to a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Fine,
    Refused,
    /// It violates a constraint.
    Broken,
    Panic,
    Deferred,
    /// The connection is lost before the first commit.
    LostBefore,
    /// The connection is lost after the first commit.
    LostAfter,
    /// As before, and the outcome cannot be queried.
    LostForGood,
}

struct Change {
    id: Uuid,
    lane: Uuid,
    what: What,
}

/// Inserts the ids of changes; the row of a lane is locked.
#[derive(Default)]
struct Ids {
    was_lost: AtomicBool,
    sizes: Sizes,
}

/// The sizes of the batches, each time that they were decided.
type Sizes = Arc<Mutex<Vec<usize>>>;

#[derive(Default)]
struct DecidedIds {
    outcomes: Vec<Result<Uuid, ()>>,
    deferred: Vec<usize>,
}

impl Decided<Uuid, ()> for DecidedIds {
    fn outcomes(&self) -> &[Result<Uuid, ()>] {
        &self.outcomes
    }

    fn into_outcomes(self) -> Vec<Result<Uuid, ()>> {
        self.outcomes
    }

    fn deferred(&self) -> &[usize] {
        &self.deferred
    }
}

impl BatchWork for Ids {
    type Change = Change;
    type Stored = Uuid;
    type Refused = ();
    type Decided = DecidedIds;

    const NAME: &'static str = "ids";
    const KIND: measure::Work = measure::Work::Change;

    fn lane(change: &Change) -> Uuid {
        change.lane
    }

    async fn decide_on(
        &self,
        mut db: &Db,
        changes: &[Change],
        lock_wait: LockWait,
        in_doubt: Option<&mut DecidedIds>,
    ) -> Result<Option<DecidedIds>, Fault> {
        self.sizes.lock().unwrap().push(changes.len());
        execute(db, lock_wait.begin()).await?;
        let lanes = changes.iter().map(|change| change.lane).collect::<Vec<_>>();
        statement::<SqlUuid>("SELECT id FROM lanes WHERE id = ANY(?) ORDER BY id FOR NO KEY UPDATE")
            .bind::<Array<SqlUuid>, _>(lanes)
            .load::<Uuid>(&mut db)
            .await?;
        if let Some(before) = in_doubt {
            if changes.iter().any(|change| change.what == What::LostForGood) {
                return Err(Fault::Slow);
            }
            let ids = before.outcomes.iter().flatten().copied().collect::<Vec<_>>();
            let stored = statement::<Bool>("SELECT EXISTS (SELECT 1 FROM ids WHERE id = ANY(?))");
            if stored.bind::<Array<SqlUuid>, _>(ids).get_result(&mut db).await? {
                return Ok(None);
            }
        }
        let mut decided = DecidedIds::default();
        for (index, change) in changes.iter().enumerate() {
            match change.what {
                What::Refused => decided.outcomes.push(Err(())),
                What::Deferred if lock_wait == LockWait::Brief => decided.deferred.push(index),
                _ => decided.outcomes.push(Ok(change.id)),
            }
        }
        Ok(Some(decided))
    }

    async fn write_on(&self, mut db: &Db, changes: &[Change], decided: &mut DecidedIds) -> Result<(), Fault> {
        assert_eq!(changes.len(), decided.outcomes.len());
        let mut ids = decided.outcomes.iter().flatten().copied().collect::<Vec<_>>();
        if let Some(broken) = changes.iter().find(|change| change.what == What::Broken) {
            ids.push(broken.id);
        }
        assert!(changes.iter().all(|change| change.what != What::Panic), "on purpose");
        statement::<()>("INSERT INTO ids (id) SELECT unnest(?)")
            .bind::<Array<SqlUuid>, _>(ids)
            .execute(&mut db)
            .await?;
        let lost = [What::LostBefore, What::LostAfter, What::LostForGood];
        if let Some(change) = changes.iter().find(|change| lost.contains(&change.what))
            && !self.was_lost.swap(true, std::sync::atomic::Ordering::Relaxed)
        {
            if change.what != What::LostBefore {
                execute(db, "COMMIT").await?;
            }
            let mut end = "SELECT pg_terminate_backend(pg_backend_pid())";
            while !execute(db, end).await.is_err_and(|fault| fault.remedy() == Remedy::Again) {
                end = "SELECT 1";
            }
        }
        Ok(())
    }

    async fn locked_on(&self, mut db: &Db, _: &[Change]) -> Result<HashSet<Uuid>, Fault> {
        let locked = statement::<SqlUuid>(
            "SELECT id FROM lanes WHERE id NOT IN (SELECT id FROM lanes FOR NO KEY UPDATE SKIP LOCKED)",
        );
        Ok(locked.load::<Uuid>(&mut db).await?.into_iter().collect())
    }
}

const LANES: [Uuid; 2] = [Uuid::from_u128(1), Uuid::from_u128(2)];

struct Scene {
    commits: Arc<GroupCommit<Ids>>,
    order: Arc<CommitOrder>,
    sizes: Sizes,
    running: watch::Sender<()>,
    published: Arc<Mutex<Vec<Uuid>>>,
    /// A connection in addition to the pool's.
    client: Client,
    _database: Database,
}

type Written = Result<Result<Uuid, ()>, StoreError>;

impl Scene {
    async fn new() -> Self {
        let database = server().database();
        let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        let tables = "CREATE TABLE ids (id uuid PRIMARY KEY); CREATE TABLE lanes (id uuid PRIMARY KEY)";
        let lanes = LANES.map(|lane| format!("; INSERT INTO lanes VALUES ('{lane}')")).concat();
        client.batch_execute(&format!("{tables}{lanes}")).await.unwrap();
        let wait = Duration::from_millis(500);
        let config =
            PostgresConfig { connections: 4, acquire_timeout: wait, ..PostgresConfig::at(&database.url()) };
        let pool = Pool::new(Arc::new(connector(&config).unwrap()), config.connections, wait);
        let (order, work) = (Arc::<CommitOrder>::default(), Ids::default());
        let (sizes, running) = (work.sizes.clone(), watch::Sender::new(()));
        let commits = Arc::new(GroupCommit::start(work, pool, order.clone(), running.subscribe()));
        Self { commits, order, sizes, running, published: Arc::default(), client, _database: database }
    }

    fn write(&self, number: u128, lane: Uuid, what: What) -> JoinHandle<Written> {
        let (commits, published) = (self.commits.clone(), self.published.clone());
        let change = Change { id: Uuid::from_u128(number), lane, what };
        let on_commit = OnCommit::new(move |id: &Uuid| published.lock().unwrap().push(*id));
        tokio::spawn(async move { commits.write(change, on_commit).await })
    }

    /// Writes changes of one lane, numbered from 1.
    async fn write_all(&self, all: &[What]) -> Vec<Written> {
        let writes = (1..).zip(all).map(|(number, what)| self.write(number, LANES[0], *what));
        let writes = writes.collect::<Vec<_>>();
        join_all(writes).await.into_iter().map(Result::unwrap).collect()
    }

    async fn stored(&self) -> Vec<Uuid> {
        let rows = self.client.query("SELECT id::text FROM ids ORDER BY id", &[]).await.unwrap();
        rows.iter().map(|row| row.get::<_, &str>(0).parse().unwrap()).collect()
    }

    fn published(&self) -> Vec<Uuid> {
        self.published.lock().unwrap().clone()
    }
}

fn ids(numbers: impl IntoIterator<Item = u128>) -> Vec<Uuid> {
    numbers.into_iter().map(Uuid::from_u128).collect()
}

/// Every change is stored and published once, however the first commit ended.
async fn is_written_once(what: What) {
    let scene = Scene::new().await;
    for written in scene.write_all(&[what, What::Fine, What::Fine]).await {
        written.unwrap().unwrap();
    }
    assert_eq!(scene.stored().await, ids(1..=3));
    assert_eq!(scene.published(), ids(1..=3));
    assert_eq!(*scene.order.commits_in_doubt().borrow(), 0);
}

#[tokio::test]
async fn changes_share_transactions_and_are_published_in_order() {
    let scene = Scene::new().await;
    let written = scene.write_all(&[What::Fine; 300]).await;
    let written = written.into_iter().map(|one| one.unwrap().unwrap()).collect::<Vec<_>>();
    assert_eq!(written, ids(1..=300));
    assert_eq!(scene.stored().await, written);
    assert_eq!(scene.published(), written);
    let sizes = scene.sizes.lock().unwrap();
    assert!(sizes.len() < 10 && sizes.iter().all(|size| *size <= batch::MAX_BATCH), "{sizes:?}");
}

#[tokio::test]
async fn a_refused_change_is_answered_and_not_published() {
    let scene = Scene::new().await;
    let written = scene.write_all(&[What::Fine, What::Refused, What::Fine]).await;
    let refused = written.into_iter().map(|one| one.unwrap().is_err()).collect::<Vec<_>>();
    assert_eq!(refused, [false, true, false]);
    assert_eq!(scene.published(), ids([1, 3]));
}

#[tokio::test]
async fn a_change_that_fails_does_not_fail_the_others() {
    for cause in [What::Broken, What::Panic] {
        let scene = Scene::new().await;
        let written = scene.write_all(&[What::Fine, cause, What::Fine]).await;
        assert!(matches!(written[1], Err(StoreError::Broken(_))), "{written:?}");
        assert_eq!(scene.stored().await, ids([1, 3]));
        assert_eq!(scene.published(), ids([1, 3]));
        // The task still runs.
        scene.write(4, LANES[0], What::Fine).await.unwrap().unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_batch_whose_connection_was_lost_before_the_commit_is_written_again() {
    is_written_once(What::LostBefore).await;
}

#[tokio::test]
async fn a_batch_whose_connection_was_lost_after_the_commit_is_published() {
    is_written_once(What::LostAfter).await;
}

#[tokio::test]
async fn an_outcome_that_stays_unknown_is_recorded_in_doubt() {
    let scene = Scene::new().await;
    let written = scene.write_all(&[What::LostForGood]).await.remove(0);
    assert!(matches!(written, Err(StoreError::Unavailable(_))), "{written:?}");
    assert_eq!(*scene.order.commits_in_doubt().borrow(), 1);
    assert!(scene.published().is_empty());
}

/// An error that the database or a pooler may also send after the commit.
#[tokio::test]
async fn an_unclear_answer_to_a_commit_is_recorded_in_doubt() {
    let scene = Scene::new().await;
    let fail = "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION USING ERRCODE = '57P01', MESSAGE = 'terminating connection'; END $$; \
         CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON ids DEFERRABLE INITIALLY DEFERRED \
         FOR EACH ROW EXECUTE FUNCTION fail()";
    scene.client.batch_execute(fail).await.unwrap();
    let written = scene.write_all(&[What::Fine]).await.remove(0);
    assert!(matches!(written, Err(StoreError::Unavailable(_))), "{written:?}");
    assert_eq!(*scene.order.commits_in_doubt().borrow(), 1);
}

#[tokio::test]
async fn a_locked_row_delays_only_its_own_changes() {
    let scene = Scene::new().await;
    let lock = format!("BEGIN; SELECT 1 FROM lanes WHERE id = '{}' FOR UPDATE", LANES[0]);
    scene.client.batch_execute(&lock).await.unwrap();
    let mut waiting = vec![scene.write(1, LANES[0], What::Fine), scene.write(2, LANES[0], What::Fine)];
    scene.write(10, LANES[1], What::Fine).await.unwrap().unwrap().unwrap();
    waiting.push(scene.write(3, LANES[0], What::Fine));
    scene.write(11, LANES[1], What::Fine).await.unwrap().unwrap().unwrap();
    assert!(waiting.iter().all(|one| !one.is_finished()));
    scene.client.batch_execute("COMMIT").await.unwrap();
    for one in waiting {
        one.await.unwrap().unwrap().unwrap();
    }
    assert_eq!(scene.published(), ids([10, 11, 1, 2, 3]));
}

/// The tasks of the queue and of its lanes end once everything is written.
#[tokio::test]
async fn changes_queued_before_the_close_are_written() {
    let scene = Scene::new().await;
    let lock = format!("BEGIN; SELECT 1 FROM lanes WHERE id = '{}' FOR UPDATE", LANES[0]);
    scene.client.batch_execute(&lock).await.unwrap();
    let waiting = [scene.write(1, LANES[0], What::Fine), scene.write(2, LANES[1], What::Fine)];
    tokio::task::yield_now().await;
    scene.commits.close();
    let refused = scene.write(3, LANES[1], What::Fine).await.unwrap();
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert_eq!(scene.running.receiver_count(), 1, "the task waits for the row");
    scene.client.batch_execute("COMMIT").await.unwrap();
    scene.running.closed().await;
    for one in waiting {
        one.await.unwrap().unwrap().unwrap();
    }
    assert_eq!(scene.stored().await, ids(1..=2));
}

#[tokio::test]
async fn a_deferred_change_is_written_in_a_transaction_of_its_own() {
    let scene = Scene::new().await;
    for written in scene.write_all(&[What::Fine, What::Deferred, What::Fine, What::Deferred]).await {
        written.unwrap().unwrap();
    }
    assert_eq!(scene.stored().await, ids(1..=4));
    assert_eq!(scene.published().len(), 4);
}
