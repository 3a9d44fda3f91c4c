//! What a store does for push notifications, for tests that look at its statements.

use domain::id::Sequence;
use domain::push::{Known, NewPush, PushCredential, PushLease, PushName, PushStep, PushTarget, PushTask};

use crate::{TestUser, World};

/// Makes a configuration for a task of a user, sends it, and removes it; `after` is called after each operation with its name.
pub async fn walk(world: &World, ann: &TestUser, task: PushTask, mut after: impl AsyncFnMut(&'static str)) {
    let (pushes, caller) = (&world.pushes, ann.caller.into());
    let name = || PushName::new("one").unwrap();
    let url = pushes.url("https://a.example/").unwrap().unwrap();
    let new = NewPush { name: name(), target: PushTarget { url, token: None, authentication: None } };
    let config = pushes.set(caller, PushCredential::default(), task, new).await.unwrap();
    after("make").await;
    assert_eq!(pushes.list(caller, task).await.unwrap(), std::slice::from_ref(&config));
    after("list").await;
    assert!(pushes.has_room(caller).await.unwrap());
    after("count those of a user").await;
    assert_eq!(pushes.due().await.unwrap().len(), 1);
    after("find what is due").await;
    let taken = pushes.take(config.id).await.unwrap().unwrap();
    after("take").await;
    let lease = PushLease { config: taken.id, attempt: taken.attempts };
    let known = Known { sequence: Sequence::new(1), state: "submitted".to_owned() };
    pushes.step(lease, PushStep::Sent { known, is_final: None }).await.unwrap().unwrap();
    after("record what was sent").await;
    pushes.wake([task.chat]).await.unwrap();
    after("wake").await;
    assert!(pushes.remove(caller, task, name()).await.unwrap());
    after("remove").await;
}
