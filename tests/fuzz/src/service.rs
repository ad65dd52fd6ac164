//! A whole service over the memory store, for laws about more than one rule.

use std::sync::Arc;

use sms_core::account::Mode;
use sms_core::clock::ManualClock;
use sms_core::link::LinkBase;
use sms_core::prelude::*;
use sms_core::random::SeededRandom;
use sms_core::service::AccountHandle;
use sms_core::time::Timestamp;
use sms_store_memory::MemoryStore;

/// 2026-11-21T07:07:10.123Z
const START_MILLIS: i64 = 1_795_244_830_123;

/// Where short URLs lead from, so long as the service is a target's.
pub(crate) const PUBLIC_URL: &str = "https://sms.example.com";

/// A service without any account, whose clock stands.
pub(crate) async fn empty() -> Sms {
    let clock = ManualClock::at(Timestamp::from_millis(START_MILLIS));
    let sms = Sms::builder(Arc::new(MemoryStore::new()))
        .clock(Arc::new(clock))
        .random(Arc::new(SeededRandom::new(7)))
        .link_base(LinkBase::new(PUBLIC_URL).expect("it is a base"))
        .build();
    let shared = NumberInput::shared("07700 900000");
    sms.operator().number_create(shared).await.expect("a first number");
    sms
}

/// One that may send, with so many credits.
pub(crate) async fn account(sms: &Sms, credits: u32) -> AccountHandle {
    let input = NewAccountInput::active("Bistro", credits);
    let account = sms.operator().account_create(input).await.expect("an account");
    sms.account(account.id, Mode::Live)
}
