//! The core inside a program of your own on tokio: workers as tasks, webhooks over HTTP, and a
//! graceful end. This is what the reference server does, without its HTTP API.

use std::sync::Arc;
use std::time::Duration;

use sms_core::prelude::*;
use sms_store_memory::MemoryStore;
use sms_webhooks::courier::Courier;
use sms_webhooks::{HttpSender, Reach};
use tokio::sync::watch;
use tokio::time::sleep;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let webhooks = HttpSender::new(Reach::PublicOnly, Duration::from_secs(8))?;
    let sms = Sms::builder(Arc::new(MemoryStore::new())).webhooks(Arc::new(webhooks)).build();
    let (stop, stopping) = watch::channel(());
    let texts = tokio::spawn(hand_over_texts(sms.clone(), stopping.clone()));
    let webhooks = tokio::spawn(deliver_webhooks(sms.clone(), stopping));

    let account = sms.operator().account_create(NewAccountInput::active("Bistro", 100)).await?;
    sms.operator().number_create(NumberInput::shared("07700 900001")).await?;
    let account = sms.account(account.id, Mode::Live);
    let sent = account.send(SendRequest::new("Hello").to("07700 900123")).await?;

    let id = sent.messages[0].id;
    while account.message_get(id).await?.0.status != MessageStatus::Delivered {
        sleep(Duration::from_millis(100)).await;
    }
    println!("delivered");

    drop(stop);
    texts.await?;
    webhooks.await?;
    Ok(())
}

/// Hands due texts to routes and brings back what the simulated network owes, until told to stop.
async fn hand_over_texts(sms: Sms, mut stopping: watch::Receiver<()>) {
    loop {
        if let Err(error) = sms.dispatch_due(500).await {
            eprintln!("texts were not handed over, trying again: {error}");
        }
        if let Err(error) = sms.simulate_due(500).await {
            eprintln!("the simulated network stuttered: {error}");
        }
        tokio::select! {
            () = sleep(Duration::from_millis(200)) => {}
            _ = stopping.changed() => return,
        }
    }
}

/// Delivers events, many side by side, until told to stop; then waits for those under way.
async fn deliver_webhooks(sms: Sms, mut stopping: watch::Receiver<()>) {
    let mut courier = Courier::new(sms);
    loop {
        if let Err(error) = courier.fill().await {
            eprintln!("deliveries were not claimed, trying again: {error}");
        }
        tokio::select! {
            _ = courier.next_done() => {}
            () = sleep(Duration::from_millis(200)) => {}
            _ = stopping.changed() => break,
        }
    }
    while courier.under_way() > 0 {
        let _ = courier.next_done().await;
    }
}
