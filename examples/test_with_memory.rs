//! How to test a program that sends messages: an in-memory store, a clock that the test moves, and
//! numbers with a known outcome. `cargo test -p sms-examples --examples` runs the tests below.

use std::sync::Arc;

use sms_core::prelude::*;

/// What your program might do: remind a customer once, even if it is called again.
async fn remind(sms: &Sms, account: AccountId, booking: u32) -> Result<Sent, Error> {
    let key: IdempotencyKey = format!("reminder-{booking}").parse()?;
    let request = SendRequest::new(format!("Booking {booking} is tomorrow"))
        .to("07700 900902")
        .client_ref(format!("booking-{booking}"))
        .idempotency_key(key);
    sms.account(account, Mode::Live).send(request).await
}

fn main() -> Result<(), Error> {
    futures_executor::block_on(async {
        let sms = Sms::builder(Arc::new(sms_store_memory::MemoryStore::new())).build();
        let account = sms.operator().account_create(NewAccountInput::active("Bistro", 100)).await?;
        sms.operator().number_create(NumberInput::shared("07700 900001")).await?;
        let sent = remind(&sms, account.id, 42).await?;
        println!("sent in {}", sent.batch);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sms_core::clock::ManualClock;
    use sms_core::random::SeededRandom;
    use sms_store_memory::MemoryStore;

    use super::*;

    #[test]
    fn a_reminder_goes_out_once_and_its_failure_is_seen() {
        futures_executor::block_on(async {
            let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000)));
            let sms = Sms::builder(MemoryStore::new())
                .clock(clock.clone())
                .random(Arc::new(SeededRandom::new(7)))
                .build();
            let input = NewAccountInput::active("Bistro", 100);
            let account = sms.operator().account_create(input).await.unwrap().id;
            let number = NumberInput::shared("07700 900001");
            sms.operator().number_create(number).await.unwrap();

            let first = remind(&sms, account, 42).await.unwrap();
            let again = remind(&sms, account, 42).await.unwrap();
            assert_eq!(again.replay, Replay::Repeated);
            assert_eq!(again.messages, first.messages);

            // The simulator never delivers to 07700 900902: see sms_core::route::simulator.
            sms.dispatch_due(10).await.unwrap();
            clock.advance(Duration::from_secs(2));
            sms.simulate_due(10).await.unwrap();

            let account = sms.account(account, Mode::Live);
            let message = account.message_get(first.messages[0].id).await.unwrap().message;
            assert_eq!(message.status, MessageStatus::Undelivered);
            assert_eq!(message.error, Some(ErrorCode::UnknownSubscriber));
        });
    }
}
