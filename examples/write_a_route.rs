//! A route of your own. A type that submits messages to a network implements `Route`. This one
//! prints each message and reports its receipt through the sink, as a real network would later. It
//! refuses messages that are longer than its paper is wide.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use sms_core::prelude::*;
use sms_core::receipt::{Receipt, ReceiptStatus};
use sms_core::route::{
    HandOver, HandOvers, OutboundMessage, Route, RouteKind, RouteName, RouteSink, all_at_once,
};
use sms_store_memory::MemoryStore;

#[derive(Debug)]
struct Printer {
    name: RouteName,
    printed: Mutex<Vec<MessageId>>,
}

#[async_trait]
impl Route for Printer {
    fn name(&self) -> &RouteName {
        &self.name
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        all_at_once(async move {
            messages
                .iter()
                .map(|text| {
                    if text.segments.get() > 1 {
                        // The message fails, and its credits are refunded.
                        let detail = Some("the paper is too narrow".to_owned());
                        return HandOver::Refused { error: ErrorCode::RejectedByNetwork, detail };
                    }
                    println!("to {}: {}", text.to, text.body.as_str());
                    self.printed.lock().expect("the lock is not poisoned").push(text.message);
                    HandOver::Taken { simulated: Vec::new() }
                })
                .collect()
        })
    }

    /// A real route keeps its connection here and reports what arrives, until it is dropped.
    async fn run(&self, sink: Arc<dyn RouteSink>) {
        let printed = std::mem::take(&mut *self.printed.lock().expect("the lock is not poisoned"));
        for message in printed {
            let receipt = Receipt::new(message, ReceiptStatus::Delivered);
            if let Err(error) = sink.receipt(receipt).await {
                eprintln!("the receipt was not stored: {error}");
            }
        }
    }
}

fn main() -> Result<(), Error> {
    futures_executor::block_on(async {
        let route =
            Arc::new(Printer { name: RouteName::new("printer"), printed: Mutex::default() });
        let sms = Sms::builder(MemoryStore::new()).route(route.clone()).build();
        let account = sms.operator().account_create(NewAccountInput::active("Bistro", 100)).await?;
        sms.operator().number_create(NumberInput::shared("07700 900001")).await?;
        let account = sms.account(account.id, Mode::Live);

        let sent = account.send(SendRequest::new("Hello").to("07700 900123")).await?;
        sms.dispatch_due(100).await?;
        route.run(sms.sink()).await;

        let found = account.message_get(sent.messages[0].id).await?;
        println!("{}", found.message.status);
        Ok(())
    })
}
