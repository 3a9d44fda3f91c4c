use domain::id::NodeId;
use domain::node::NodeRepository;
use domain::time::Timestamp;
use testkit::nodes::MemoryNodes;
use uuid::Uuid;

use super::*;

/// The clock of an entry's writer may be wrong by any time, and so may this machine's: neither
/// removes an entry that another node may not have read.
#[tokio::test]
async fn entries_are_stored_for_an_hour_whatever_the_clocks_say() {
    let log = Arc::<MemoryNodes>::default();
    let write = async || {
        log.record_event_loss(NodeId::new(Uuid::nil()), Timestamp::from_micros(0)).await.unwrap();
    };
    let count = async || log.changes_after(ChangePosition(0), READ_LIMIT).await.unwrap().len();
    let (begun, minute) = (Instant::now(), Duration::from_secs(60));
    let mut seen = VecDeque::new();
    write().await;
    for passed in 0..60 {
        forget_old(&*log, &mut seen, begun + passed * minute).await.unwrap();
    }
    write().await;
    assert_eq!(count().await, 2);
    log.be_away(true);
    forget_old(&*log, &mut seen, begun + RETENTION).await.unwrap_err();
    log.be_away(false);
    forget_old(&*log, &mut seen, begun + RETENTION).await.unwrap();
    assert_eq!(count().await, 1, "an hour has passed since the first one was seen");
    forget_old(&*log, &mut seen, begun + 2 * RETENTION).await.unwrap();
    assert_eq!(count().await, 0);
}
