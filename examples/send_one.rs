//! The shortest program that sends a message: it creates an account and a number, sends, and
//! prints the message's timeline. The network is simulated; nothing leaves this machine.

use std::sync::Arc;
use std::time::Duration;

use sms_core::clock::ManualClock;
use sms_core::prelude::*;
use sms_store_memory::MemoryStore;

fn main() -> Result<(), Error> {
    futures_executor::block_on(async {
        // The program moves this clock itself, so that it need not wait for the receipt.
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000)));
        let sms = Sms::builder(MemoryStore::new()).clock(clock.clone()).build();
        let account = sms.operator().account_create(NewAccountInput::active("Bistro", 100)).await?;
        sms.operator().number_create(NumberInput::shared("07700 900001")).await?;
        let account = sms.account(account.id, Mode::Live);

        let request = SendRequest::new("Your table is ready").to("07700 900123");
        let sent = account.send(request).await?;
        println!(
            "{} message(s) accepted, balance: {} credit(s)",
            sent.messages.len(),
            sent.balance
        );

        // A server calls these in loops. A small program or a test calls them itself.
        sms.dispatch_due(100).await?;
        clock.advance(Duration::from_secs(2));
        sms.simulate_due(100).await?;

        let found = account.message_get(sent.messages[0].id).await?;
        for line in found.timeline {
            println!("{}  {}", line.at, line.status);
        }
        Ok(())
    })
}
