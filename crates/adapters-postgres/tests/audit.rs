//! Tampering with the audit log in the database is refused and detected.

mod common;

use domain::audit::{AuditEntry, AuditService, ChainFault};
use domain::time::Timestamp;
use tokio_postgres::NoTls;

/// The database refuses to change what is sealed; if somebody removes its triggers, the chain shows it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tampering_on_postgresql_is_refused_and_found() {
    let (stores, database) = common::store().await;
    let entries = (0..9).map(|second| AuditEntry::store_exported(Timestamp::from_micros(second))).collect();
    stores.audit.append_audit(entries).await.unwrap();
    assert_eq!(stores.audit.seal_audit(100).await.unwrap(), 9);
    let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    for text in [
        "UPDATE audit SET detail = 'x' WHERE number = 3",
        "UPDATE audit SET digest = NULL WHERE number = 3",
        "UPDATE audit SET number = 99 WHERE number = 3",
        "DELETE FROM audit WHERE number = 3",
        "TRUNCATE audit",
        "UPDATE audit_chain SET digest = decode(repeat('00', 32), 'hex')",
        "DELETE FROM audit_chain",
        "TRUNCATE audit_chain",
    ] {
        let refused = client.batch_execute(text).await.unwrap_err();
        let message = refused.as_db_error().unwrap().message();
        assert_eq!(message, "the audit log is only added to", "{text}");
    }
    let service = AuditService::new(stores.audit.clone());
    assert_eq!(service.verify(None).await.unwrap().faults, []);
    for text in [
        "DROP TRIGGER audit_is_not_changed ON audit",
        "UPDATE audit SET detail = 'x' WHERE number = 3",
        "DELETE FROM audit WHERE number IN (6, 7, 9)",
    ] {
        client.batch_execute(text).await.unwrap();
    }
    let faults = service.verify(None).await.unwrap().faults;
    let missing = |from, to| ChainFault::Missing { from, to };
    assert!(matches!(faults[0], ChainFault::Altered { number: 3, .. }), "{faults:?}");
    assert_eq!(faults[1..], [missing(6, 7), missing(9, 9)]);
}
