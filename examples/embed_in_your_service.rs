//! The core inside a program of your own on tokio: messages leave, receipts come back, webhooks are
//! delivered, until Ctrl-C stops it in order. This is what the reference server does, without its
//! HTTP API.

use std::sync::Arc;
use std::time::Duration;

use sms_core::prelude::*;
use sms_store_memory::MemoryStore;
use sms_webhooks::{HttpSender, Reach};
use sms_workers::{WorkerOptions, Workers};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(async { tokio::signal::ctrl_c().await.expect("a handler for Ctrl-C") }).await
}

/// Serves until `stop` resolves.
pub(crate) async fn run(stop: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
    let webhooks = HttpSender::new(Reach::PublicOnly, Duration::from_secs(8))?;
    let sms = Sms::builder(MemoryStore::new()).webhooks(Arc::new(webhooks)).build();
    let mut workers = Workers::start(&sms, WorkerOptions::new());

    let account = sms.operator().account_create(NewAccountInput::active("Bistro", 100)).await?;
    sms.operator().number_create(NumberInput::shared("07700 900001")).await?;
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
