//! SQL of the harness itself, from wherever a test stands: inside a runtime, outside of one, in a `Drop`.

use tokio_postgres::{Client, Config, NoTls};

/// Runs the work on a connection of its own, on a thread of its own with its own runtime.
pub(super) fn with_client<T: Send>(
    config: &Config,
    work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error> + Send,
) -> Result<T, String> {
    let thread = || {
        runtime().block_on(async {
            let (client, connection) = config.connect(NoTls).await?;
            let connection = tokio::spawn(connection);
            let result = work(&client).await;
            drop(client);
            // Closed for the server as well when this returns, so that no test meets it.
            connection.await.expect("the connection does not panic").ok();
            result
        })
    };
    let result = std::thread::scope(|scope| scope.spawn(thread).join()).expect("SQL does not panic");
    result.map_err(|error| chain(&error))
}

/// Runs statements one by one, none of them in a transaction.
pub(super) fn execute(config: &Config, statements: &[String]) -> Result<(), String> {
    with_client(config, async |client: &Client| {
        for statement in statements {
            client.batch_execute(statement).await?;
        }
        Ok(())
    })
}

pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made")
}

/// The driver's error with what the database said.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
