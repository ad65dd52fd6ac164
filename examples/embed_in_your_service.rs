//! The core inside a program of your own on tokio: messages leave, receipts come back, webhooks are
//! delivered, until Ctrl-C stops it in order. Everything is kept in the file `sms.db`, so the next
//! start goes on where this one ended. This is what the reference server does, without its HTTP
//! API.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sms_core::prelude::*;
use sms_store_sqlite::SqliteStore;
use sms_webhooks::{HttpSender, Reach};
use sms_workers::{WorkerOptions, Workers};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stop = async { tokio::signal::ctrl_c().await.expect("a handler for Ctrl-C") };
    run(Path::new("sms.db"), stop).await
}

/// Serves from this file until `stop` resolves.
pub(crate) async fn run(
    file: &Path,
    stop: impl Future<Output = ()>,
) -> Result<(), Box<dyn std::error::Error>> {
    let webhooks = HttpSender::new(Reach::PublicOnly, Duration::from_secs(8))?;
    let sms = Sms::builder(SqliteStore::open(file)?).webhooks(Arc::new(webhooks)).build();
    let mut workers = Workers::start(&sms, WorkerOptions::new());

    // The first start makes the account and its number; later ones find them.
    let operator = sms.operator();
    let known = operator.account_list(PageRequest::default()).await?.items.pop();
    let account = if let Some(account) = known {
        account
    } else {
        operator.number_create(NumberInput::shared("07700 900001")).await?;
        operator.account_create(NewAccountInput::active("Bistro", 100)).await?
    };
    let account = sms.account(account.id, Mode::Live);
    let sent = account.send(SendRequest::new("Hello").to("07700 900123")).await?;
    while account.message_get(sent.messages[0].id).await?.message.status != MessageStatus::Delivered
    {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    println!("delivered; press Ctrl-C to stop");

    let result = tokio::select! {
        () = stop => Ok(()),
        panicked = workers.failed() => Err(panicked.into()),
    };
    workers.stop(Duration::from_secs(9)).await?;
    result
}
