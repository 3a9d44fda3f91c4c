//! Secrets that the servers on one store share.

use domain::secret::Secret;

use crate::World;

/// Of many who ask at once all get what the first one brought, and each name has its own.
pub async fn a_secret_never_changes(world: World) {
    let asking = (0..8).map(|number| {
        let secrets = world.stores.secrets.clone();
        tokio::spawn(async move { secrets.secret("cursors", Secret([number; 32])).await.unwrap() })
    });
    let mut answers = Vec::new();
    for asked in asking.collect::<Vec<_>>() {
        answers.push(asked.await.unwrap());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let other = world.stores.secrets.secret("other", Secret([99; 32])).await.unwrap();
    assert_eq!(other, Secret([99; 32]));
    assert_eq!(world.stores.secrets.secret("cursors", other).await.unwrap(), answers[0]);
    assert_eq!(format!("{other:?}"), "Secret");
}
